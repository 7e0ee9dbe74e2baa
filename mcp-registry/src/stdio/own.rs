//! Taking stdin and stdout from everybody else in the program.

use std::io::{self, Read, Write};

/// The real stdin and stdout. From here on, others find an empty stdin, and print to stderr.
#[cfg(unix)]
pub(super) fn stdio() -> io::Result<(impl Read + Send + 'static, impl Write + Send + 'static)> {
    use std::fs::File;
    use std::os::fd::AsFd;

    let input = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    let output = File::from(io::stdout().as_fd().try_clone_to_owned()?);
    rustix::stdio::dup2_stdin(File::open("/dev/null")?)?;
    rustix::stdio::dup2_stdout(io::stderr().as_fd())?;
    Ok((input, output))
}

/// The real stdin and stdout, which others have too.
#[cfg(not(unix))]
pub(super) fn stdio() -> io::Result<(impl Read + Send + 'static, impl Write + Send + 'static)> {
    Ok((io::stdin(), io::stdout()))
}
