//! Where log lines go: standard error, as text or JSON.
//!
//! Must never be started by the library: a program that embeds [`App`](crate::App) has its own subscriber.

use std::io;

use tracing_subscriber::EnvFilter;
use tracing_subscriber::util::SubscriberInitExt as _;

use super::args::{LogArguments, LogFormat};
use super::output;
use crate::{Error, Result};

/// Starts the log of this process.
pub(super) fn start(arguments: &LogArguments) -> Result<()> {
    let filter = EnvFilter::try_new(&arguments.log).map_err(|error| {
        Error::Setting(format!(
            "--log (or ZONAI_LOG) `{}` is no filter: {error}",
            arguments.log
        ))
    })?;
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(io::stderr)
        .with_ansi(output::colored(&io::stderr()))
        .with_target(true);
    let started = match arguments.log_format {
        LogFormat::Text => builder.finish().try_init(),
        LogFormat::Json => builder
            .json()
            .flatten_event(true)
            .with_ansi(false)
            .finish()
            .try_init(),
    };
    // A second start in one process (a test) keeps the first subscriber.
    drop(started);
    Ok(())
}
