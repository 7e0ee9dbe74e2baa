//! Taking exclusive handles of stdin and stdout.

#[cfg(unix)]
use std::fs::File;
use std::io;
#[cfg(unix)]
use std::os::fd::{AsFd as _, OwnedFd};

/// The real stdin and stdout, and another handle of stdout. The rest of the program gets an empty stdin, and prints to
/// stderr.
#[cfg(unix)]
pub(super) fn take_stdio() -> io::Result<(File, File, OwnedFd)> {
    let input = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    let output = File::from(io::stdout().as_fd().try_clone_to_owned()?);
    let stdout = output.as_fd().try_clone_to_owned()?;
    rustix::stdio::dup2_stdin(File::open("/dev/null")?)?;
    rustix::stdio::dup2_stdout(io::stderr().as_fd())?;
    Ok((input, output, stdout))
}

/// The real stdin and stdout, which the rest of the program uses too.
#[cfg(not(unix))]
pub(super) fn take_stdio() -> io::Result<(io::Stdin, io::Stdout, io::Stdout)> {
    Ok((io::stdin(), io::stdout(), io::stdout()))
}

/// Blocks until nobody can read stdout any more. False if the system does not report it; the next write fails then.
#[cfg(unix)]
pub(super) fn wait_until_closed(stdout: &OwnedFd) -> bool {
    use rustix::event::{PollFd, PollFlags, poll};

    loop {
        // Errors and hang-ups are reported without asking for them.
        let mut stdout = [PollFd::new(stdout, PollFlags::empty())];
        match poll(&mut stdout, None) {
            Err(rustix::io::Errno::INTR) => {}
            Err(_) => return false,
            Ok(_) => return stdout[0].revents().intersects(PollFlags::ERR | PollFlags::HUP),
        }
    }
}

/// False: the system does not report it; the next write fails then.
#[cfg(not(unix))]
pub(super) fn wait_until_closed(_: &io::Stdout) -> bool {
    false
}
