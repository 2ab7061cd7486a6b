//! The accounts and sessions of one client: a session lives until it is ended, and an ended one never comes back.
//!
//! Must never forget a token: the ended ones are what is asked for after a crash.

/// What may be said of something whose request was not answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Is {
    Yes,
    No,
    Unclear,
}

impl Is {
    /// What was seen is what it is from now on.
    pub(super) fn see(&mut self, seen: bool, what: &str) -> Result<(), String> {
        let seen = if seen { Self::Yes } else { Self::No };
        if *self != Self::Unclear && *self != seen {
            return Err(format!("{what}: should be {self:?}, is {seen:?}"));
        }
        *self = seen;
        Ok(())
    }
}

#[derive(Clone, Debug)]
pub(super) struct Token {
    pub(super) text: String,
    pub(super) live: Is,
}

#[derive(Clone, Debug)]
pub(super) struct Account {
    pub(super) email: String,
    pub(super) exists: Is,
    pub(super) tokens: Vec<Token>,
}

/// Older tokens are asked for no more.
const MOST: usize = 24;

impl Account {
    pub(super) fn new(email: String) -> Self {
        Self {
            email,
            exists: Is::No,
            tokens: Vec::new(),
        }
    }

    /// A session began.
    pub(super) fn begins(&mut self, token: &str) {
        if self.tokens.len() >= MOST {
            self.tokens.remove(0);
        }
        self.tokens.push(Token {
            text: token.to_owned(),
            live: Is::Yes,
        });
    }

    /// All of its sessions ended, or may have.
    pub(super) fn all(&mut self, live: Is) {
        for token in &mut self.tokens {
            if token.live != Is::No {
                token.live = live;
            }
        }
    }
}
