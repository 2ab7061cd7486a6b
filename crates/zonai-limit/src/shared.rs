//! The buckets of routes that carry no table.

use crate::Operation;

/// A bucket that is no table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Shared {
    /// `POST /auth/confirm`.
    AuthConfirm,
    /// Refresh and log-out: routes whose only subject is the token in the header.
    AuthHeader,
    /// Anything for an admin on an auth route.
    AdminAuth,
    /// Whatever names no table, no route or no registered operation.
    Unknown,
    /// `/metrics` and the cron routes.
    Admin,
}

impl Shared {
    /// All of them.
    pub const ALL: [Shared; 5] = [
        Self::AuthConfirm,
        Self::AuthHeader,
        Self::AdminAuth,
        Self::Unknown,
        Self::Admin,
    ];

    /// The name that the refusal gives as `collection`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::AuthConfirm => "__auth_confirm__",
            Self::AuthHeader => "__auth_header__",
            Self::AdminAuth => "__admin_auth__",
            Self::Unknown => "__unknown__",
            Self::Admin => "__admin__",
        }
    }

    /// The operations counted in this bucket.
    #[must_use]
    pub const fn operations(self) -> &'static [Operation] {
        match self {
            Self::AuthConfirm => &[Operation::Confirm],
            Self::AuthHeader => &[
                Operation::RefreshToken,
                Operation::Logout,
                Operation::LogoutAll,
            ],
            Self::AdminAuth => &[Operation::AdminAuthenticate],
            Self::Unknown => &[Operation::Unknown],
            Self::Admin => &[Operation::Admin],
        }
    }

    /// The bucket in which a shared operation is counted.
    #[must_use]
    pub fn of(operation: Operation) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|shared| shared.operations().contains(&operation))
    }
}
