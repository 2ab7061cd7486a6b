//! A small mail server: speaks SMTP over TCP, keeps what it is given, and can be told to be difficult.

use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// One mail as it arrived.
#[derive(Clone, Debug)]
pub struct Arrived {
    /// The sender of the envelope.
    pub from: String,
    /// The recipients of the envelope.
    pub to: Vec<String>,
    /// What was said to sign in.
    pub signed_in: Option<String>,
    /// Head and body.
    pub data: String,
}

impl Arrived {
    /// The mail with its soft line breaks and encoded characters undone.
    #[must_use]
    pub fn text(&self) -> String {
        self.data.replace("=\r\n", "").replace("=3D", "=")
    }

    /// The value of a header.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<String> {
        let head = self.data.split("\r\n\r\n").next()?;
        let head = head.replace("\r\n ", " ");
        let prefix = format!("{name}: ");
        head.split("\r\n")
            .find_map(|line| line.strip_prefix(&prefix).map(str::to_owned))
    }

    /// The six digits of a code.
    #[must_use]
    pub fn code(&self) -> String {
        let text = self.text();
        let is_code =
            |line: &&str| line.len() == 6 && line.bytes().all(|byte| byte.is_ascii_digit());
        text.lines()
            .map(str::trim)
            .find(is_code)
            .expect("a code")
            .to_owned()
    }

    /// What follows `name=` in the first link.
    #[must_use]
    pub fn secret(&self, name: &str) -> String {
        let text = self.text();
        let (_, rest) = text.split_once(&format!("{name}=")).expect("a link");
        rest.chars()
            .take_while(|c| c.is_ascii_alphanumeric() || "-_".contains(*c))
            .collect()
    }
}

/// How the server takes mails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mood {
    /// All of them.
    Kind,
    /// Not now, so many times; then all.
    Late(usize),
    /// None, ever.
    Strict,
}

/// What was seen so far.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// The mails that were taken.
    pub mails: Vec<Arrived>,
    /// How often a mail was begun.
    pub senders_named: usize,
}

/// A running mail server; it ends when dropped.
pub struct MailServer {
    /// Where it listens on 127.0.0.1.
    pub port: u16,
    seen: watch::Receiver<Seen>,
    task: JoinHandle<()>,
}

impl MailServer {
    /// Starts on a free port.
    pub async fn start(mood: Mood) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (sender, seen) = watch::channel(Seen::default());
        let sender = Arc::new(sender);
        let task = tokio::spawn(async move {
            let mut sessions = tokio::task::JoinSet::new();
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                sessions.spawn(serve(stream, Arc::clone(&sender), mood));
            }
        });
        Self { port, seen, task }
    }

    /// Waits for the `count`th mail and gives all so far.
    pub async fn wait(&self, count: usize) -> Vec<Arrived> {
        self.wait_for(|seen| seen.mails.len() >= count).await.mails
    }

    /// Waits until what was seen is enough.
    pub async fn wait_for(&self, done: impl Fn(&Seen) -> bool) -> Seen {
        let mut seen = self.seen.clone();
        let wait = seen.wait_for(|seen| done(seen));
        tokio::time::timeout(Duration::from_secs(10), wait)
            .await
            .expect("no mail in time")
            .unwrap()
            .clone()
    }

    /// What was seen so far.
    #[must_use]
    pub fn seen(&self) -> Seen {
        self.seen.borrow().clone()
    }
}

impl Drop for MailServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(stream: TcpStream, seen: Arc<watch::Sender<Seen>>, mood: Mood) {
    let (read, mut write) = stream.into_split();
    let mut lines = BufReader::new(read).lines();
    let mut mail = Arrived {
        from: String::new(),
        to: Vec::new(),
        signed_in: None,
        data: String::new(),
    };
    write.write_all(b"220 test ESMTP\r\n").await.unwrap();
    while let Ok(Some(line)) = lines.next_line().await {
        let word = line
            .split_ascii_whitespace()
            .next()
            .unwrap_or_default()
            .to_ascii_uppercase();
        let answer = match word.as_str() {
            "EHLO" => "250-test\r\n250-8BITMIME\r\n250 AUTH PLAIN\r\n".to_owned(),
            "AUTH" => {
                mail.signed_in = line.split(' ').nth(2).map(str::to_owned);
                "235 welcome\r\n".to_owned()
            }
            "MAIL" => {
                mail.from = within_angles(&line);
                let mut times = 0;
                seen.send_modify(|seen| {
                    seen.senders_named += 1;
                    times = seen.senders_named;
                });
                match mood {
                    Mood::Late(late) if times <= late => "451 come again\r\n".to_owned(),
                    _ => "250 ok\r\n".to_owned(),
                }
            }
            "RCPT" if mood == Mood::Strict => "550 not here\r\n".to_owned(),
            "RCPT" => {
                mail.to.push(within_angles(&line));
                "250 ok\r\n".to_owned()
            }
            "DATA" => {
                write.write_all(b"354 go\r\n").await.unwrap();
                while let Ok(Some(line)) = lines.next_line().await {
                    if line == "." {
                        break;
                    }
                    mail.data.push_str(line.strip_prefix('.').unwrap_or(&line));
                    mail.data.push_str("\r\n");
                }
                seen.send_modify(|seen| seen.mails.push(mail.clone()));
                "250 taken\r\n".to_owned()
            }
            "QUIT" => "221 bye\r\n".to_owned(),
            _ => "250 ok\r\n".to_owned(),
        };
        if write.write_all(answer.as_bytes()).await.is_err() {
            return;
        }
    }
}

fn within_angles(line: &str) -> String {
    let (_, rest) = line.split_once('<').unwrap_or_default();
    rest.split('>').next().unwrap_or_default().to_owned()
}
