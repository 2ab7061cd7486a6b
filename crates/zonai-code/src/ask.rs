//! What is asked of a table, whoever asks: a route, or code of the program.

use zonai_limit::Operation;

/// One of the routes that answer once, on rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataOperation {
    /// `GET /db`.
    Get,
    /// `GET /db/list`.
    List,
    /// `GET /db/count`.
    Count,
    /// `POST /db`.
    Create,
    /// `POST /db/many`.
    CreateMany,
    /// `PATCH /db`.
    Update,
    /// `PATCH /db/many`.
    UpdateMany,
    /// `DELETE /db`.
    Delete,
    /// `DELETE /db/many`.
    DeleteMany,
}

impl DataOperation {
    /// The operation it counts as; a `/many` request is one request.
    #[must_use]
    pub const fn operation(self) -> Operation {
        match self {
            Self::Get => Operation::Get,
            Self::List => Operation::List,
            Self::Count => Operation::Count,
            Self::Create | Self::CreateMany => Operation::Create,
            Self::Update | Self::UpdateMany => Operation::Update,
            Self::Delete | Self::DeleteMany => Operation::Delete,
        }
    }
}

/// What is asked of a table.
#[derive(Clone, Copy, Debug)]
pub enum Ask<'a> {
    /// Rows.
    Data(DataOperation),
    /// A custom operation, from a file or in code.
    Custom {
        /// The name in the path.
        name: &'a str,
        /// Whether all rows are meant.
        many: bool,
    },
}
