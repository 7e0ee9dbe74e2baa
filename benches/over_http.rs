//! A server over HTTP in a process of its own, and clients that count their calls.

use std::io::{self, BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use mcp_registry::{Http, Registry, Server};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// How long one figure is measured.
const TIME: Duration = Duration::from_millis(700);

pub(crate) fn runtime() -> io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()
}

/// Listens on a local port, and prints its address for the clients.
pub(crate) async fn listen() -> io::Result<TcpListener> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("{}", listener.local_addr()?);
    Ok(listener)
}

/// Serves the linked tools.
pub(crate) fn serve() -> io::Result<()> {
    runtime()?.block_on(async {
        let registry = Registry::linked().map_err(io::Error::other)?;
        Http::new(Server::new(registry)).serve_on(listen().await?).await.map_err(io::Error::other)
    })
}

/// A request as clients of a version send it.
pub(crate) fn request(version: &str, tool: &str) -> Vec<u8> {
    let meta = if version == "2026-07-28" {
        r#","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#
    } else {
        ""
    };
    let body = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"{tool}","arguments":{{"a":20,"b":22}}{meta}}}}}"#
    );
    let mut request = format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: {version}\r\n\
         Mcp-Method: tools/call\r\nMcp-Name: {tool}\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    request.push_str(&body);
    request.into_bytes()
}

/// A server process and its address.
pub(crate) struct Served {
    child: Child,
    address: String,
}

impl Served {
    /// Starts this program as a server.
    pub(crate) fn start(how: &str) -> io::Result<Self> {
        let mut child = Command::new(std::env::current_exe()?).arg(how).stdout(Stdio::piped()).spawn()?;
        let mut address = String::new();
        let output = child.stdout.take().ok_or_else(|| io::Error::other("there is no pipe"))?;
        BufReader::new(output).read_line(&mut address)?;
        Ok(Self { child, address: address.trim().to_owned() })
    }

    /// Calls per second over this many connections.
    pub(crate) async fn calls_a_second(&self, request: &[u8], connections: usize) -> io::Result<f64> {
        let started = Instant::now();
        let mut clients = tokio::task::JoinSet::new();
        for _ in 0..connections {
            clients.spawn(client(self.address.clone(), request.to_vec(), started + TIME));
        }
        let mut calls = 0;
        while let Some(made) = clients.join_next().await {
            calls += made.map_err(io::Error::other)??;
        }
        Ok(f64::from(calls) / started.elapsed().as_secs_f64())
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // It has ended already, or ends now.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// One connection: one call after another, until the time is over.
async fn client(address: String, request: Vec<u8>, until: Instant) -> io::Result<u32> {
    let mut stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    let (mut buffer, mut length, mut calls) = (vec![0; 4096], 0, 0);
    while Instant::now() < until {
        stream.write_all(&request).await?;
        let mut read = 0;
        // Every answer of a server is as long as its first one.
        while read == 0 || read < length {
            let bytes = stream.read(&mut buffer[read..]).await?;
            if bytes == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            read += bytes;
            if length == 0 {
                length = length_of(&buffer[..read])?;
            }
        }
        calls += 1;
    }
    Ok(calls)
}

/// The length of the first answer, if it is correct.
fn length_of(answer: &[u8]) -> io::Result<usize> {
    let text = String::from_utf8_lossy(answer);
    let wrong = || io::Error::other(format!("not an answer: {text}"));
    let (head, _) = text.split_once("\r\n\r\n").ok_or_else(wrong)?;
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).ok_or_else(wrong)?;
    let is_good = text.starts_with("HTTP/1.1 200") && (text.contains(r#""result":42"#) || text.contains("params"));
    let length: usize = length.parse().map_err(io::Error::other)?;
    if is_good { Ok(head.len() + 4 + length) } else { Err(wrong()) }
}
