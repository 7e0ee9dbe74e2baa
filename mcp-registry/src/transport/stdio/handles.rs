//! Taking exclusive handles of stdin and stdout.

use std::io::{self, Read, Write};

/// The real stdin and stdout, and the client that reads stdout. The rest of the program gets an empty stdin, and prints to
/// stderr.
#[cfg(unix)]
pub(super) fn take_stdio() -> io::Result<(impl Read + Send + 'static, impl Write + Send + 'static, StdoutReader)> {
    use std::fs::File;
    use std::os::fd::AsFd;

    let input = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    let output = File::from(io::stdout().as_fd().try_clone_to_owned()?);
    let reader = StdoutReader(output.as_fd().try_clone_to_owned()?);
    rustix::stdio::dup2_stdin(File::open("/dev/null")?)?;
    rustix::stdio::dup2_stdout(io::stderr().as_fd())?;
    Ok((input, output, reader))
}

/// The real stdin and stdout, which the rest of the program uses too.
#[cfg(not(unix))]
pub(super) fn take_stdio() -> io::Result<(impl Read + Send + 'static, impl Write + Send + 'static, StdoutReader)> {
    Ok((io::stdin(), io::stdout(), StdoutReader))
}

/// The client at the other end of stdout.
#[cfg(unix)]
pub(super) struct StdoutReader(std::os::fd::OwnedFd);

/// The client at the other end of stdout.
#[cfg(not(unix))]
pub(super) struct StdoutReader;

impl StdoutReader {
    /// Blocks until nobody can read stdout any more. False if the system does not report it; the next write fails then.
    #[cfg(unix)]
    pub(super) fn wait_until_closed(&self) -> bool {
        use rustix::event::{PollFd, PollFlags, poll};

        loop {
            // Errors and hang-ups are reported without asking for them.
            let mut stdout = [PollFd::new(&self.0, PollFlags::empty())];
            match poll(&mut stdout, None) {
                Err(rustix::io::Errno::INTR) => {}
                Err(_) => return false,
                Ok(_) => return stdout[0].revents().intersects(PollFlags::ERR | PollFlags::HUP),
            }
        }
    }

    /// False: the system does not report it; the next write fails then.
    #[cfg(not(unix))]
    #[allow(clippy::unused_self, reason = "it has a descriptor on Unix")]
    pub(super) fn wait_until_closed(&self) -> bool {
        false
    }
}
