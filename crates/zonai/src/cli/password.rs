//! A password from whoever runs the command: asked for on a terminal, the first line of standard input elsewhere.
//!
//! Must never show it, and never leave a terminal that does not show what is typed.

use std::io::{self, BufRead, IsTerminal, Write};

use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use zonai_auth::Password;

use crate::{Error, Result};

/// Asks for a new password; twice on a terminal.
pub(super) fn choose() -> Result<Password> {
    let text = if io::stdin().is_terminal() {
        let first = ask("Password: ")?;
        if first != ask("Again: ")? {
            return Err(Error::Setting("the two passwords are not equal".into()));
        }
        first
    } else {
        line()?
    };
    Password::chosen(text).map_err(|error| Error::Setting(error.to_string()))
}

fn ask(prompt: &str) -> Result<String> {
    let _ = write!(io::stderr(), "{prompt}");
    let silent = Silent::start();
    let text = line();
    drop(silent);
    let _ = writeln!(io::stderr());
    text
}

fn line() -> Result<String> {
    let mut text = String::new();
    let failed = |error: io::Error| Error::Server(format!("the password cannot be read: {error}"));
    io::stdin().lock().read_line(&mut text).map_err(failed)?;
    let text = text.trim_end_matches(['\n', '\r']);
    if text.is_empty() {
        return Err(Error::Setting("a password is needed: on a terminal it is asked for, elsewhere it is the first line of standard input".into()));
    }
    Ok(text.to_owned())
}

/// A terminal that does not show what is typed, until dropped.
struct Silent(Termios);

impl Silent {
    fn start() -> Option<Self> {
        let before = tcgetattr(io::stdin()).ok()?;
        let mut silent = before.clone();
        silent.local_modes.remove(LocalModes::ECHO);
        tcsetattr(io::stdin(), OptionalActions::Flush, &silent).ok()?;
        Some(Self(before))
    }
}

impl Drop for Silent {
    fn drop(&mut self) {
        let _ = tcsetattr(io::stdin(), OptionalActions::Flush, &self.0);
    }
}
