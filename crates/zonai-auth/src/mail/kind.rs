//! The four mails there are.

use std::time::Duration;

/// What a mail is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MailKind {
    /// A code to sign in with.
    Otp,
    /// A link to sign in with.
    MagicLink,
    /// A link to set a new password with.
    ResetPassword,
    /// A link that shows that the address is the account's.
    VerifyEmail,
}

impl MailKind {
    /// All of them.
    pub const ALL: [Self; 4] = [
        Self::Otp,
        Self::MagicLink,
        Self::ResetPassword,
        Self::VerifyEmail,
    ];

    /// The name of its templates, and of its challenges in `_auth_challenges`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Otp => "otp",
            Self::MagicLink => "magic_link",
            Self::ResetPassword => "reset_password",
            Self::VerifyEmail => "verify_email",
        }
    }

    /// How long the code or link in it is good.
    #[must_use]
    pub const fn lifetime(self) -> Duration {
        match self {
            Self::Otp | Self::MagicLink | Self::ResetPassword => Duration::from_secs(10 * 60),
            Self::VerifyEmail => Duration::from_secs(24 * 3_600),
        }
    }

    /// The page of the application that the built-in link leads to, with the secret as last part.
    pub(crate) const fn page(self) -> &'static str {
        match self {
            Self::Otp => "",
            Self::MagicLink => "/magic-link?secret=",
            Self::ResetPassword => "/reset-password?token=",
            Self::VerifyEmail => "/verify-email?token=",
        }
    }
}
