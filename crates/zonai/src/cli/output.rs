//! What commands print: results on standard output, errors on standard error.
//!
//! Must never colour what no terminal reads, and never fail because the reader has gone (`zonai … | head`).

use std::io::{self, IsTerminal, Write};

use serde::Serialize;
use zonai_data::error::with_causes;
use zonai_policy::Diagnostic;

use crate::Error;

/// Whether a stream is a terminal that wants colours (<https://no-color.org>).
pub(super) fn colored(stream: &impl IsTerminal) -> bool {
    stream.is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// A line on standard output.
pub(super) fn line(text: impl std::fmt::Display) {
    // A closed pipe is the reader's decision, not a failure of the command.
    let _ = writeln!(io::stdout().lock(), "{text}");
}

/// A value as JSON on standard output.
pub(super) fn json(value: &impl Serialize) {
    match serde_json::to_string_pretty(value) {
        Ok(text) => line(text),
        Err(error) => note(format_args!("cannot be written as JSON: {error}")),
    }
}

/// A line on standard error.
pub(super) fn note(text: impl std::fmt::Display) {
    let _ = writeln!(io::stderr().lock(), "{text}");
}

/// Columns under headings; what is last in a line is not filled up, so that nothing wraps for blanks.
pub(super) fn table<const N: usize>(
    headings: [&str; N],
    rows: impl IntoIterator<Item = [String; N]>,
) {
    let mut table = comfy_table::Table::new();
    table
        .load_style(comfy_table::presets::NOTHING)
        .force_no_tty()
        .set_header(headings)
        .add_rows(rows);
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    line(table.trim_fmt());
}

/// One fault: on a terminal with its line and a mark, elsewhere on one line.
pub(super) fn fault<W: Write + IsTerminal>(mut to: W, fault: &Diagnostic) {
    let _ = if to.is_terminal() {
        writeln!(to, "{}", fault.render(colored(&to)))
    } else {
        writeln!(to, "{fault}")
    };
}

/// An error with its causes on standard error.
pub(super) fn error(error: &Error) {
    if let Error::Faults(faults) = error {
        for each in faults {
            fault(io::stderr(), each);
        }
        note(count(faults.len()));
        return;
    }
    let text = with_causes(error);
    let (bold, off) = if colored(&io::stderr()) {
        ("\u{1b}[1;31m", "\u{1b}[0m")
    } else {
        ("", "")
    };
    note(format_args!("{bold}error:{off} {text}"));
}

/// `1 fault`, `3 faults`.
pub(super) fn count(faults: usize) -> String {
    format!("{faults} {}", if faults == 1 { "fault" } else { "faults" })
}
