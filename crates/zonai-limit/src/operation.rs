//! What a request wants to do, in the words of the policies and of the refusal.
//!
//! Must never change a name: policies, refusals and stored counters have it.

/// One operation that has counters of its own.
///
/// The order is from narrow to wide: where two counters of one request reset at the same
/// moment, the refusal names the smaller one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Operation {
    /// `GET /db` and `GET /db/stream`.
    Get,
    /// `GET /db/list` and `GET /db/stream/list`.
    List,
    /// `GET /db/count` and `GET /db/stream/count`.
    Count,
    /// `POST /db` and `POST /db/many`.
    Create,
    /// `PATCH /db` and `PATCH /db/many`.
    Update,
    /// `DELETE /db` and `DELETE /db/many`.
    Delete,
    /// `PATCH /db/custom/:operation` and its `/many`.
    Custom,
    /// A failed password sign-in, per client and account.
    FailedSignIn,
    /// A one-time code is sent.
    SendOtp,
    /// A sign-in link is sent.
    SendMagicLink,
    /// A password-reset mail is sent.
    SendResetPassword,
    /// A verification mail is sent.
    SendVerifyEmail,
    /// An account is made.
    SignUp,
    /// A password sign-in.
    SignIn,
    /// Any `POST /auth`.
    Authenticate,
    /// `POST /auth/confirm`.
    Confirm,
    /// `POST /auth/refresh`.
    RefreshToken,
    /// `DELETE /auth`.
    Logout,
    /// `DELETE /auth/all`.
    LogoutAll,
    /// Anything for an admin on an auth route.
    AdminAuthenticate,
    /// `/metrics` and the cron routes.
    Admin,
    /// An open live query (a place, not a window).
    Stream,
    /// Whatever names no table and no route.
    Unknown,
}

impl Operation {
    /// Every operation, narrow to wide.
    pub const ALL: [Operation; 23] = [
        Self::Get,
        Self::List,
        Self::Count,
        Self::Create,
        Self::Update,
        Self::Delete,
        Self::Custom,
        Self::FailedSignIn,
        Self::SendOtp,
        Self::SendMagicLink,
        Self::SendResetPassword,
        Self::SendVerifyEmail,
        Self::SignUp,
        Self::SignIn,
        Self::Authenticate,
        Self::Confirm,
        Self::RefreshToken,
        Self::Logout,
        Self::LogoutAll,
        Self::AdminAuthenticate,
        Self::Admin,
        Self::Stream,
        Self::Unknown,
    ];

    /// The operations of a table's `limits`, in the order of the documentation.
    pub const TABLE: [Operation; 7] = [
        Self::Get,
        Self::List,
        Self::Count,
        Self::Create,
        Self::Update,
        Self::Delete,
        Self::Custom,
    ];

    /// The operations of an auth table's `auth`, in the order of the documentation.
    pub const AUTH: [Operation; 8] = [
        Self::SignIn,
        Self::SignUp,
        Self::FailedSignIn,
        Self::Authenticate,
        Self::SendOtp,
        Self::SendMagicLink,
        Self::SendResetPassword,
        Self::SendVerifyEmail,
    ];

    /// The name in policy files, in `_rate_limit` and in the refusal.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::List => "list",
            Self::Count => "count",
            Self::Create => "create",
            Self::Update => "update",
            Self::Delete => "delete",
            Self::Custom => "custom",
            Self::FailedSignIn => "failedSignIn",
            Self::SendOtp => "sendOtp",
            Self::SendMagicLink => "sendMagicLink",
            Self::SendResetPassword => "sendResetPassword",
            Self::SendVerifyEmail => "sendVerifyEmail",
            Self::SignUp => "signUp",
            Self::SignIn => "signIn",
            Self::Authenticate => "authenticate",
            Self::Confirm => "confirm",
            Self::RefreshToken => "refreshToken",
            Self::Logout => "logout",
            Self::LogoutAll => "logoutAll",
            Self::AdminAuthenticate => "adminAuthenticate",
            Self::Admin => "admin",
            Self::Stream => "stream",
            Self::Unknown => "unknown",
        }
    }

    /// The operation of that name, spelled exactly.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|operation| operation.name() == name)
    }

    /// Whether a count is committed to disk before the request goes on: every auth operation.
    #[must_use]
    pub const fn is_durable(self) -> bool {
        matches!(
            self,
            Self::FailedSignIn
                | Self::SendOtp
                | Self::SendMagicLink
                | Self::SendResetPassword
                | Self::SendVerifyEmail
                | Self::SignUp
                | Self::SignIn
                | Self::Authenticate
                | Self::Confirm
                | Self::RefreshToken
                | Self::Logout
                | Self::LogoutAll
                | Self::AdminAuthenticate
        )
    }

    /// What applies where no policy is configured (limits of the field: mails and guesses are dear).
    #[must_use]
    pub const fn default_policy(self) -> crate::RateLimitPolicy {
        use crate::RateLimitPolicy as P;
        const fn quarter_hour(max: u32) -> P {
            match P::new(max, std::time::Duration::from_secs(15 * 60)) {
                Ok(policy) => policy,
                Err(_) => P::DEFAULT,
            }
        }
        match self {
            Self::FailedSignIn | Self::AdminAuthenticate => quarter_hour(10),
            Self::SendOtp | Self::SendMagicLink => quarter_hour(5),
            Self::SendResetPassword | Self::SendVerifyEmail => P::per_hour(5),
            Self::Admin => P::per_minute(600),
            _ => P::DEFAULT,
        }
    }
}
