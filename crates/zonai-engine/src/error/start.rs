//! Why a project's data cannot be served at all. For the operator, before the first request: these texts hold paths.

use crate::engine::OpenError;
use crate::migrations::MigrationError;
use crate::schema::SchemaError;

/// Why a database cannot be served.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The data file.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The schema files.
    #[error(transparent)]
    Migration(#[from] MigrationError),
    /// What the schema files made.
    #[error(transparent)]
    Schema(#[from] SchemaError),
}
