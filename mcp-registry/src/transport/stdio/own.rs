//! Taking stdin and stdout from everybody else in the program.

use std::io::{self, Read, Write};

/// The real stdin and stdout, and the client that reads stdout. From here on, others find an empty stdin, and print to
/// stderr.
#[cfg(unix)]
pub(super) fn stdio() -> io::Result<(impl Read + Send + 'static, impl Write + Send + 'static, Reader)> {
    use std::fs::File;
    use std::os::fd::AsFd;

    let input = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    let output = File::from(io::stdout().as_fd().try_clone_to_owned()?);
    let reader = Reader(output.as_fd().try_clone_to_owned()?);
    rustix::stdio::dup2_stdin(File::open("/dev/null")?)?;
    rustix::stdio::dup2_stdout(io::stderr().as_fd())?;
    Ok((input, output, reader))
}

/// The real stdin and stdout, which others have too.
#[cfg(not(unix))]
pub(super) fn stdio() -> io::Result<(impl Read + Send + 'static, impl Write + Send + 'static, Reader)> {
    Ok((io::stdin(), io::stdout(), Reader))
}

/// The client at the other end of stdout.
#[cfg(unix)]
pub(super) struct Reader(std::os::fd::OwnedFd);

/// The client at the other end of stdout.
#[cfg(not(unix))]
pub(super) struct Reader;

impl Reader {
    /// Blocks until nobody is left who could read stdout. False where the system does not tell: then the next write does.
    #[cfg(unix)]
    pub(super) fn waits_until_gone(&self) -> bool {
        use rustix::event::{PollFd, PollFlags, poll};

        loop {
            // Nothing is asked for: errors and hang-ups are told in any case.
            let mut stdout = [PollFd::new(&self.0, PollFlags::empty())];
            match poll(&mut stdout, None) {
                Err(rustix::io::Errno::INTR) => {}
                Err(_) => return false,
                Ok(_) => return stdout[0].revents().intersects(PollFlags::ERR | PollFlags::HUP),
            }
        }
    }

    /// False: the system does not tell, but the next write does.
    #[cfg(not(unix))]
    #[allow(clippy::unused_self, reason = "it has something elsewhere")]
    pub(super) fn waits_until_gone(&self) -> bool {
        false
    }
}
