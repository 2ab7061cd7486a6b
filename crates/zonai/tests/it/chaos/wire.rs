//! A connection that keeps many requests under way at once, and survives that its server does not.
//!
//! Must never ask for anything again by itself: a request that is sent twice is two requests.

use std::io::{self, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::Duration;

use socket2::{Domain, Socket, Type};
use zonai_clock::Clock;

use super::counter::Span;

/// No answer takes longer.
const PATIENCE: Duration = Duration::from_secs(20);

/// An answer.
#[derive(Clone, Debug)]
pub(super) struct Reply {
    pub(super) status: u16,
    head: String,
    pub(super) body: String,
}

impl Reply {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().skip(1).find_map(|line| {
            let (found, value) = line.split_once(':')?;
            found.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }

    pub(super) fn number(&self, name: &str) -> Option<u64> {
        self.header(name)?.parse().ok()
    }

    pub(super) fn json(&self) -> Result<serde_json::Value, String> {
        serde_json::from_str(&self.body).map_err(|error| format!("{error}: {}", self.body))
    }
}

/// What came of a request: when it was decided, and the answer, if there was one.
pub(super) struct Outcome {
    pub(super) at: Span,
    pub(super) reply: Option<Reply>,
}

/// The server's clock as the run knows it: the machine's, moved along by what the server's was moved.
#[derive(Clone, Debug)]
pub(super) struct Time {
    pub(super) clock: Clock,
    pub(super) ahead_ms: u64,
}

impl Time {
    pub(super) fn now(&self) -> u64 {
        self.clock.now().as_millis() + self.ahead_ms
    }
}

/// One connection from one address.
pub(super) struct Wire {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl Wire {
    pub(super) fn connect(own: Ipv4Addr, to: SocketAddr) -> io::Result<Self> {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
        // The port is chosen when it connects: many connections of one address do not run out of them.
        let _ = socket.set_reuse_address(true);
        socket.bind(&SocketAddr::new(own.into(), 0).into())?;
        socket.connect_timeout(&to.into(), PATIENCE)?;
        let stream = TcpStream::from(socket);
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        Ok(Self {
            stream,
            buffer: Vec::new(),
        })
    }

    /// Sends all of them at once and reads the answers in order. After the first that is missing all are.
    pub(super) fn exchange(&mut self, requests: &[u8], count: usize, time: &Time) -> Vec<Outcome> {
        // The server may decide on the second long before the first answer is read here.
        let from = time.now();
        let mut broken = self.stream.write_all(requests).is_err();
        let mut outcomes = Vec::with_capacity(count);
        for _ in 0..count {
            let reply = if broken { None } else { self.read().ok() };
            broken |= reply.is_none();
            let to = time.now();
            outcomes.push(Outcome {
                at: Span { from, to },
                reply,
            });
        }
        outcomes
    }

    fn read(&mut self) -> io::Result<Reply> {
        let end = loop {
            if let Some(end) = self.buffer.windows(4).position(|four| four == b"\r\n\r\n") {
                break end + 4;
            }
            self.more()?;
        };
        let head: Vec<u8> = self.buffer.drain(..end).collect();
        let head = String::from_utf8_lossy(&head).into_owned();
        let status = head.get(9..12).and_then(|digits| digits.parse().ok());
        let mut reply = Reply {
            status: status.ok_or_else(|| io::Error::other(head.clone()))?,
            head,
            body: String::new(),
        };
        let length = match reply.number("content-length") {
            Some(length) => usize::try_from(length).unwrap_or(usize::MAX),
            None if reply.status == 204 => 0,
            None => return Err(io::Error::other(format!("no length: {}", reply.head))),
        };
        while self.buffer.len() < length {
            self.more()?;
        }
        let body: Vec<u8> = self.buffer.drain(..length).collect();
        reply.body = String::from_utf8_lossy(&body).into_owned();
        Ok(reply)
    }

    fn more(&mut self) -> io::Result<()> {
        let mut piece = [0; 16_384];
        let read = self.stream.read(&mut piece)?;
        if read == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.buffer.extend_from_slice(&piece[..read]);
        Ok(())
    }
}

/// The bytes of a request.
pub(super) fn request(
    method: &str,
    target: &str,
    token: Option<&str>,
    body: Option<&serde_json::Value>,
) -> Vec<u8> {
    let mut head = format!("{method} {target} HTTP/1.1\r\nhost: chaos\r\n");
    if let Some(token) = token {
        head.push_str(&format!("authorization: Bearer {token}\r\n"));
    }
    let body = body.map(ToString::to_string).unwrap_or_default();
    if !body.is_empty() {
        head.push_str("content-type: application/json\r\n");
    }
    if !body.is_empty() || method != "GET" {
        head.push_str(&format!("content-length: {}\r\n", body.len()));
    }
    format!("{head}\r\n{body}").into_bytes()
}

/// A read with its payload in the query.
pub(super) fn read_of(path: &str, payload: &serde_json::Value, token: Option<&str>) -> Vec<u8> {
    let mut target = format!("{path}?body=");
    for byte in payload.to_string().bytes() {
        target.push_str(&format!("%{byte:02x}"));
    }
    request("GET", &target, token, None)
}
