//! A small HTTP/1.1 client that shows answers byte by byte.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};

/// No answer takes longer; a test that waits for one fails.
const PATIENCE: Duration = Duration::from_secs(20);

/// Sends requests, each on a connection of its own unless [`Client::connect`] is used.
#[derive(Clone, Debug)]
pub struct Client {
    server: SocketAddr,
    own: IpAddr,
    headers: Vec<(String, String)>,
}

/// An answer.
#[derive(Clone, Debug)]
pub struct Reply {
    /// The status.
    pub status: u16,
    /// The headers in order, names as they came.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

impl Client {
    /// A client at 127.0.0.1.
    #[must_use]
    pub fn new(server: SocketAddr) -> Self {
        Self::from(server, Ipv4Addr::LOCALHOST.into())
    }

    /// A client at an address of this machine.
    #[must_use]
    pub fn from(server: SocketAddr, own: IpAddr) -> Self {
        Self {
            server,
            own,
            headers: Vec::new(),
        }
    }

    /// The same with a header in every request.
    #[must_use]
    pub fn with(&self, name: &str, value: &str) -> Self {
        let mut with = self.clone();
        with.headers.push((name.to_owned(), value.to_owned()));
        with
    }

    /// A connection to the server.
    pub async fn connect(&self) -> TcpStream {
        let socket = if self.own.is_ipv4() {
            TcpSocket::new_v4()
        } else {
            TcpSocket::new_v6()
        }
        .unwrap();
        socket.set_reuseaddr(true).unwrap();
        socket.bind(SocketAddr::new(self.own, 0)).unwrap();
        socket.connect(self.server).await.unwrap()
    }

    /// `GET path?body=…`.
    pub async fn get(&self, path: &str, body: &Value) -> Reply {
        self.send("GET", &target(path, body), None).await
    }

    /// A request with a JSON body.
    pub async fn json(&self, method: &str, path: &str, body: &Value) -> Reply {
        self.send(method, path, Some(body.to_string().as_bytes()))
            .await
    }

    /// A request.
    pub async fn send(&self, method: &str, target: &str, body: Option<&[u8]>) -> Reply {
        let mut stream = self.connect().await;
        stream
            .write_all(&self.request(method, target, body))
            .await
            .unwrap();
        read_reply(&mut stream, method == "HEAD").await
    }

    /// The bytes of a request.
    #[must_use]
    pub fn request(&self, method: &str, target: &str, body: Option<&[u8]>) -> Vec<u8> {
        let mut head = format!("{method} {target} HTTP/1.1\r\nhost: zonai.test\r\n");
        for (name, value) in &self.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        if let Some(body) = body {
            if !self
                .headers
                .iter()
                .any(|(name, _)| name.eq_ignore_ascii_case("content-type"))
            {
                head.push_str("content-type: application/json\r\n");
            }
            head.push_str(&format!("content-length: {}\r\n", body.len()));
        }
        head.push_str("\r\n");
        let mut bytes = head.into_bytes();
        bytes.extend_from_slice(body.unwrap_or_default());
        bytes
    }
}

impl Reply {
    /// A header's value.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self
            .headers
            .iter()
            .find(|(header, _)| header.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    /// The body as JSON.
    #[must_use]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&self.body)))
    }

    /// The body as text.
    #[must_use]
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    /// Status, headers and body as they would be read, without `date`.
    #[must_use]
    pub fn shown(&self) -> String {
        let headers: String = self
            .headers
            .iter()
            .filter(|(name, _)| name != "date")
            .map(|(name, value)| format!("{name}: {value}\n"))
            .collect();
        format!("{}\n{headers}\n{}", self.status, self.text())
    }
}

/// A path with a payload in its query.
#[must_use]
pub fn target(path: &str, body: &Value) -> String {
    format!(
        "{path}?body={}",
        utf8_percent_encode(&body.to_string(), NON_ALPHANUMERIC)
    )
}

/// Reads one answer; what follows it on the connection must not have come yet.
pub async fn read_reply(stream: &mut TcpStream, head_only: bool) -> Reply {
    tokio::time::timeout(PATIENCE, read(stream, head_only))
        .await
        .expect("no answer came")
}

async fn read(stream: &mut TcpStream, head_only: bool) -> Reply {
    let mut bytes = Vec::new();
    loop {
        let mut headers = [httparse::EMPTY_HEADER; 64];
        let mut response = httparse::Response::new(&mut headers);
        if let httparse::Status::Complete(length) = response.parse(&bytes).unwrap() {
            let status = response.code.unwrap();
            let headers: Vec<(String, String)> = response
                .headers
                .iter()
                .map(|header| {
                    (
                        header.name.to_owned(),
                        String::from_utf8_lossy(header.value).into_owned(),
                    )
                })
                .collect();
            if (100..200).contains(&status) {
                bytes.drain(..length);
                continue;
            }
            let mut reply = Reply {
                status,
                headers,
                body: bytes.split_off(length),
            };
            if !head_only {
                read_body(stream, &mut reply).await;
            }
            return reply;
        }
        let read = stream.read_buf(&mut bytes).await.unwrap();
        assert_ne!(
            read,
            0,
            "the connection ended in a head: {}",
            String::from_utf8_lossy(&bytes)
        );
    }
}

async fn read_body(stream: &mut TcpStream, reply: &mut Reply) {
    if let Some(length) = reply.header("content-length") {
        let length: usize = length.parse().unwrap();
        while reply.body.len() < length {
            let read = stream.read_buf(&mut reply.body).await.unwrap();
            assert_ne!(read, 0, "the connection ended in a body");
        }
        return;
    }
    if reply.header("transfer-encoding").is_none() {
        return;
    }
    while !reply.body.ends_with(b"0\r\n\r\n") {
        let read = stream.read_buf(&mut reply.body).await.unwrap();
        assert_ne!(read, 0, "the connection ended in a chunk");
    }
    let mut whole = Vec::new();
    let mut rest = reply.body.as_slice();
    while let Some(end) = rest.windows(2).position(|pair| pair == b"\r\n") {
        let length = usize::from_str_radix(std::str::from_utf8(&rest[..end]).unwrap(), 16).unwrap();
        whole.extend_from_slice(&rest[end + 2..end + 2 + length]);
        rest = &rest[end + 2 + length + 2..];
        if length == 0 {
            break;
        }
    }
    reply.body = whole;
}
