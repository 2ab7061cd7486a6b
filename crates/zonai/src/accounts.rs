//! Accounts without a server: for `zonai admin`, beside a running server or without one.
//!
//! Must never apply a schema file while a server runs.

use zonai_auth::Auth;
use zonai_clock::Clock;
use zonai_limit::Internal;
use zonai_server::offline::{self, Beside};

use crate::lock::{DataLock, LockError};
use crate::{App, Result, files};

/// The accounts of a project, open until closed.
pub(crate) struct Accounts {
    accounts: offline::Accounts,
    /// `None` where a server runs.
    _lock: Option<DataLock>,
}

impl Accounts {
    /// Opens the database of a project and the accounts in it.
    pub(crate) async fn open(app: &App) -> Result<Self> {
        let settings = app.resolved()?.settings;
        let (lock, beside) = match DataLock::acquire(&settings.paths.data) {
            Ok(lock) => (Some(lock), Beside::Nobody),
            Err(LockError::Held { .. }) => (None, Beside::Server),
            Err(other) => return Err(other.into()),
        };
        let opened = offline::Accounts::open(&settings, &Clock::system(), beside).await;
        let accounts = opened.map_err(|error| files::refused(app.draft(), error))?;
        Ok(Self {
            accounts,
            _lock: lock,
        })
    }

    pub(crate) fn auth(&self) -> &Auth {
        self.accounts.auth()
    }

    /// The token of work that has no request.
    pub(crate) fn pass(&self) -> &Internal {
        self.accounts.pass()
    }

    /// Ends everything that was started.
    pub(crate) async fn close(self) {
        self.accounts.close().await;
    }
}
