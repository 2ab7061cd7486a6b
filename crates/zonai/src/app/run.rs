//! From an [`App`] to a server that runs, and to its end.
//!
//! Must never let two servers have one data folder.

use super::App;
use crate::lock::DataLock;
use crate::{Error, Result};

impl App {
    /// Serves until SIGTERM or SIGINT.
    ///
    /// # Errors
    /// When the project cannot be served.
    pub fn serve(self) -> Result<()> {
        let resolved = self.resolve()?;
        let _lock = DataLock::acquire(&resolved.settings.paths.data)?;
        Err(Error::Server("not yet".into()))
    }
}
