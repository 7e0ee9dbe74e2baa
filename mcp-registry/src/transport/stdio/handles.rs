//! Takes exclusive handles to stdin and stdout.

#[cfg(unix)]
use std::fs::File;
use std::io;
#[cfg(unix)]
use std::os::fd::{AsFd as _, OwnedFd};

/// The real stdin and stdout, and a second handle to stdout. For all other code, stdin is empty, and stdout is
/// redirected to stderr.
#[cfg(unix)]
pub(super) fn take_stdio() -> io::Result<(File, File, OwnedFd)> {
    let input = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    let output = File::from(io::stdout().as_fd().try_clone_to_owned()?);
    let stdout = output.as_fd().try_clone_to_owned()?;
    rustix::stdio::dup2_stdin(File::open("/dev/null")?)?;
    rustix::stdio::dup2_stdout(io::stderr().as_fd())?;
    Ok((input, output, stdout))
}

/// The real stdin and stdout. Other code still has access to them.
#[cfg(not(unix))]
pub(super) fn take_stdio() -> io::Result<(io::Stdin, io::Stdout, io::Stdout)> {
    Ok((io::stdin(), io::stdout(), io::stdout()))
}

/// Blocks until the reader of stdout has closed it. Returns `false` if the system does not report that; then the next
/// write fails.
#[cfg(unix)]
pub(super) fn wait_until_closed(stdout: &OwnedFd) -> bool {
    use rustix::event::{PollFd, PollFlags, poll};

    loop {
        // Errors and hang-ups are always reported.
        let mut stdout = [PollFd::new(stdout, PollFlags::empty())];
        match poll(&mut stdout, None) {
            Err(rustix::io::Errno::INTR) => {}
            Err(_) => return false,
            Ok(_) => return stdout[0].revents().intersects(PollFlags::ERR | PollFlags::HUP),
        }
    }
}

/// Returns `false`, because the system does not report that; the next write fails.
#[cfg(not(unix))]
pub(super) fn wait_until_closed(_: &io::Stdout) -> bool {
    false
}
