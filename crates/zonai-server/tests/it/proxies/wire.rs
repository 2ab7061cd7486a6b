//! Bytes as they go over a connection of any kind.

use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// No answer and no end takes longer.
const PATIENCE: Duration = Duration::from_secs(20);

/// `GET /db/list` of `notes`, after which the server closes.
pub(super) fn list_notes(headers: &str) -> Vec<u8> {
    let path = "/db/list?body=%7B%22table%22%3A%22notes%22%7D";
    format!("GET {path} HTTP/1.1\r\nhost: zonai.test\r\nconnection: close\r\n{headers}\r\n")
        .into_bytes()
}

/// Sends, and reads until the server closes. An end without a word, or by a reset, is an empty answer.
pub(super) async fn exchange<S: AsyncRead + AsyncWrite + Unpin>(
    stream: &mut S,
    bytes: &[u8],
) -> String {
    let _ = stream.write_all(bytes).await;
    rest(stream).await
}

/// What the server says until it closes.
pub(super) async fn rest<S: AsyncRead + Unpin>(stream: &mut S) -> String {
    let mut answer = Vec::new();
    let ended = tokio::time::timeout(PATIENCE, stream.read_to_end(&mut answer)).await;
    let _ = ended.expect("the connection stays open");
    String::from_utf8_lossy(&answer).into_owned()
}

/// The status of an answer; 0 where there is none.
pub(super) fn status(answer: &str) -> u16 {
    answer
        .get(9..12)
        .and_then(|status| status.parse().ok())
        .unwrap_or(0)
}

/// The next HTTP/2 frame: its kind, flags and payload.
pub(super) async fn frame<S: AsyncRead + Unpin>(stream: &mut S) -> (u8, u8, Vec<u8>) {
    let read = async {
        let mut head = [0; 9];
        stream.read_exact(&mut head).await.unwrap();
        let [high, middle, low, kind, flags, ..] = head;
        let length = u32::from_be_bytes([0, high, middle, low]);
        let mut payload = vec![0; usize::try_from(length).unwrap()];
        stream.read_exact(&mut payload).await.unwrap();
        (kind, flags, payload)
    };
    tokio::time::timeout(PATIENCE, read)
        .await
        .expect("no frame came")
}
