//! A fault as people read it in a terminal: message, place, the line with a mark, help.
//!
//! Must never let a long line or a strange character break the picture.

use std::fmt::Write as _;

use super::Diagnostic;

/// The most characters of a line that are shown; the mark is always within them.
const SHOWN: usize = 100;

struct Paint {
    error: &'static str,
    dim: &'static str,
    bold: &'static str,
    off: &'static str,
}

const PLAIN: Paint = Paint {
    error: "",
    dim: "",
    bold: "",
    off: "",
};
const COLORED: Paint = Paint {
    error: "\u{1b}[1;31m",
    dim: "\u{1b}[34m",
    bold: "\u{1b}[1m",
    off: "\u{1b}[0m",
};

pub(super) fn render(fault: &Diagnostic, color: bool) -> String {
    let Paint {
        error,
        dim,
        bold,
        off,
    } = if color { COLORED } else { PLAIN };
    let number = fault.line.to_string();
    let gutter = " ".repeat(number.len());
    let mut out = String::new();
    let _ = writeln!(out, "{error}error{off}{bold}: {}{off}", fault.message);
    let _ = writeln!(
        out,
        "{gutter}{dim}-->{off} {}:{}:{}",
        fault.path, fault.line, fault.column
    );
    if fault.source_line.is_empty() {
        if let Some(help) = &fault.help {
            let _ = writeln!(out, "{gutter} {dim}={off} {help}");
        }
        return out;
    }
    let (line, start) = cut(
        &fault.source_line,
        (fault.column as usize).saturating_sub(1),
    );
    let width = line.chars().count();
    let length = (fault.length.max(1) as usize).min(width.saturating_sub(start).max(1));
    let help = fault
        .help
        .as_deref()
        .map(|help| format!(" {help}"))
        .unwrap_or_default();
    let _ = writeln!(out, "{gutter} {dim}|{off}");
    let _ = writeln!(out, "{dim}{number} |{off} {line}");
    let _ = writeln!(
        out,
        "{gutter} {dim}|{off} {}{error}{}{help}{off}",
        " ".repeat(start),
        "^".repeat(length)
    );
    out
}

/// The part of a line around `column` (from 0), and the column within that part.
fn cut(line: &str, column: usize) -> (String, usize) {
    let total = line.chars().count();
    if total <= SHOWN {
        return (line.to_owned(), column.min(total));
    }
    let column = column.min(total);
    let from = column.saturating_sub(SHOWN / 2).min(total - SHOWN);
    let mut part: String = line.chars().skip(from).take(SHOWN).collect();
    if from + SHOWN < total {
        part.push('…');
    }
    if from > 0 {
        part.insert(0, '…');
    }
    (part, column - from + usize::from(from > 0))
}
