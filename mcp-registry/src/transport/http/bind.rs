//! Binds an address, and determines the limit of open connections.

use std::io;
use std::net::SocketAddr;

use tokio::net::{TcpListener, TcpSocket};

/// The number of connections that may wait to be accepted. The system may allow fewer.
const BACKLOG: u32 = 1024;

/// Binds the first address that is available.
pub(super) fn bind(addresses: &[SocketAddr]) -> io::Result<TcpListener> {
    let mut bound = Err(io::Error::new(io::ErrorKind::InvalidInput, "the name has no address"));
    for address in addresses {
        bound = bound.or_else(|_| bind_one(*address));
    }
    bound
}

fn bind_one(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    // On other systems, this would let two programs bind the same address.
    #[cfg(unix)]
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// The maximum number of open connections: `max`, but at most three quarters of the process's limit of open files,
/// which leaves some for tools.
pub(super) fn connection_limit(max: usize) -> usize {
    open_file_limit().map_or(max, |files| max.min(files - files / 4)).max(1)
}

#[cfg(unix)]
fn open_file_limit() -> Option<usize> {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current?;
    usize::try_from(limit).ok()
}

#[cfg(not(unix))]
fn open_file_limit() -> Option<usize> {
    None
}

#[cfg(test)]
mod tests {
    use std::net::{SocketAddr, TcpStream};
    use std::time::Duration;

    use super::{bind, connection_limit};

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
    async fn the_first_available_address_is_bound() {
        let taken = bind(&["127.0.0.1:0".parse().unwrap()]).unwrap().local_addr().unwrap();
        let held = std::net::TcpListener::bind(taken).unwrap();
        let other: SocketAddr = "127.0.0.1:0".parse().unwrap();
        assert_ne!(bind(&[taken, other]).unwrap().local_addr().unwrap(), taken);
        assert!(bind(&[taken]).is_err() && bind(&[]).is_err());
        drop(held);
    }

    #[test]
    fn the_limit_of_open_files_limits_connections() {
        assert_eq!((connection_limit(0), connection_limit(1)), (1, 1));
        assert!(cfg!(not(unix)) || connection_limit(usize::MAX) < usize::MAX);
    }
}
