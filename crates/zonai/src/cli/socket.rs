//! Asking the running server of a data folder: one JSON line there, one back, over its admin socket.
//!
//! Must never wait for ever but for a job that runs, and never take a server that does not answer for one that is not there.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use crate::lock::DataLock;
use crate::{Error, Result};

/// How long an answer may take.
const WITHIN: Duration = Duration::from_secs(15);
/// The longest answer.
const MAX_ANSWER: u64 = 64 << 20;

/// What the running server answers; `None` where none runs on this data folder.
pub(super) fn ask(data: &Path, request: &Value) -> Result<Option<Value>> {
    ask_within(data, request, Some(WITHIN))
}

/// The same for what takes as long as it takes: a job that runs.
pub(super) fn ask_patiently(data: &Path, request: &Value) -> Result<Option<Value>> {
    ask_within(data, request, None)
}

fn ask_within(data: &Path, request: &Value, patience: Option<Duration>) -> Result<Option<Value>> {
    let Some(holder) = DataLock::holder(data)? else {
        return Ok(None);
    };
    let path = zonai_server::admin::socket_path(data);
    let failed = |source| Error::Io {
        what: "talk to the running server over",
        path: path.clone(),
        source,
    };
    let mut stream = UnixStream::connect(&path).map_err(|source| {
        tracing::debug!(pid = holder.pid, "a server holds the data folder");
        failed(source)
    })?;
    stream.set_read_timeout(patience).map_err(failed)?;
    stream.set_write_timeout(Some(WITHIN)).map_err(failed)?;
    stream
        .write_all(format!("{request}\n").as_bytes())
        .map_err(failed)?;
    let mut line = String::new();
    BufReader::new(stream.take(MAX_ANSWER))
        .read_line(&mut line)
        .map_err(failed)?;
    let answer: Value = serde_json::from_str(&line).map_err(|_| {
        Error::Server(
            "the running server gave no answer that can be read; is it another version?".into(),
        )
    })?;
    match (
        answer.get("data"),
        answer.get("error").and_then(Value::as_str),
    ) {
        (Some(data), _) => Ok(Some(data.clone())),
        (None, Some(error)) => Err(Error::Setting(error.to_owned())),
        (None, None) => Err(Error::Server(
            "the running server gave an empty answer".into(),
        )),
    }
}
