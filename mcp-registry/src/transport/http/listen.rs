//! Listening: how many connections may wait to be accepted, and how many may be open.

use std::io;
use std::net::SocketAddr;

use tokio::net::{TcpListener, TcpSocket};

/// How many connections may wait to be accepted. The system may allow fewer.
const BACKLOG: u32 = 1024;

/// Listens at the first address that can be had.
pub(super) fn bind(addresses: &[SocketAddr]) -> io::Result<TcpListener> {
    let mut failed = io::Error::new(io::ErrorKind::InvalidInput, "there is no address of that name");
    for address in addresses {
        match listen(*address) {
            Ok(listener) => return Ok(listener),
            Err(error) => failed = error,
        }
    }
    Err(failed)
}

fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    // Elsewhere it would let two programs have the same address.
    #[cfg(unix)]
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// How many connections may be open: those that are wanted, unless the process may not open as many files. A quarter of
/// these is left for what tools open.
pub(super) fn most(wanted: usize) -> usize {
    files().map_or(wanted, |files| wanted.min(files - files / 4)).max(1)
}

/// How many files the process may open.
#[cfg(unix)]
fn files() -> Option<usize> {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current?;
    usize::try_from(limit).ok()
}

#[cfg(not(unix))]
fn files() -> Option<usize> {
    None
}

#[cfg(test)]
mod tests {
    use std::net::{SocketAddr, TcpStream};
    use std::time::Duration;

    use super::{bind, most};

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn several_hundred_connections_may_wait_to_be_accepted() {
        let allowed = std::fs::read_to_string("/proc/sys/net/core/somaxconn").unwrap();
        if allowed.trim().parse::<u32>().unwrap() < 300 {
            return;
        }
        let listener = bind(&["127.0.0.1:0".parse().unwrap()]).unwrap();
        let address = listener.local_addr().unwrap();
        let connect = |_| TcpStream::connect_timeout(&address, Duration::from_secs(10)).unwrap();
        let connected: Vec<TcpStream> = (0..300).map(connect).collect();
        assert_eq!(connected.len(), 300);
    }

    #[tokio::test]
    async fn the_first_address_that_can_be_had_is_taken() {
        let taken = bind(&["127.0.0.1:0".parse().unwrap()]).unwrap().local_addr().unwrap();
        let held = std::net::TcpListener::bind(taken).unwrap();
        let other: SocketAddr = "127.0.0.1:0".parse().unwrap();
        assert_ne!(bind(&[taken, other]).unwrap().local_addr().unwrap(), taken);
        assert!(bind(&[taken]).is_err() && bind(&[]).is_err());
        drop(held);
    }

    #[test]
    fn connections_are_bounded_by_the_files_that_may_be_open() {
        assert_eq!((most(0), most(1)), (1, 1));
        assert!(cfg!(not(unix)) || most(usize::MAX) < usize::MAX);
    }
}
