//! Policies written in Rust: the traits a program implements, one async method per operation.
//!
//! What is left out has the default policy. Must never be called under a lock.

use std::future::{Future, ready};
use std::pin::Pin;

use crate::{Operation, RateLimitPolicy};

type Policy = Option<RateLimitPolicy>;

macro_rules! default_policy {
    ($(#[$doc:meta])* $name:ident, $operation:ident) => {
        $(#[$doc])*
        fn $name(&self) -> impl Future<Output = Option<RateLimitPolicy>> + Send {
            ready(Some(Operation::$operation.default_policy()))
        }
    };
}

/// The limits of one table's `/db` traffic. `None` disables limiting for an operation, and counts nothing.
///
/// ```
/// use zonai_limit::{RateLimitPolicy, TableRateLimits};
///
/// struct TaskRateLimits;
///
/// impl TableRateLimits for TaskRateLimits {
///     const TABLE: &'static str = "tasks";
///
///     async fn create_policy(&self) -> Option<RateLimitPolicy> {
///         Some(RateLimitPolicy::per_minute(10))
///     }
/// }
/// ```
pub trait TableRateLimits: Send + Sync + 'static {
    /// The table. One that does not exist stops the start.
    const TABLE: &'static str;

    /// `true` where no method ever answers anything else than the first time: they are then asked once, and a
    /// decision costs as little as with a policy file. A method that is not ready at once is asked each time all the same.
    const CONSTANT: bool = false;

    default_policy!(
        /// `GET /db` and `GET /db/stream`.
        get_policy, Get
    );
    default_policy!(
        /// `GET /db/list` and `GET /db/stream/list`.
        limit_policy, List
    );
    default_policy!(
        /// `GET /db/count` and `GET /db/stream/count`.
        count_policy, Count
    );
    default_policy!(
        /// `POST /db` and `POST /db/many`.
        create_policy, Create
    );
    default_policy!(
        /// `PATCH /db` and `PATCH /db/many`.
        update_policy, Update
    );
    default_policy!(
        /// `DELETE /db` and `DELETE /db/many`.
        delete_policy, Delete
    );

    /// `PATCH /db/custom/:operation` and its `/many`. The name is one that is registered for the table, or `None`
    /// where names cannot be validated: then all custom operations of the table share one counter.
    fn custom_policy(
        &self,
        operation: Option<&str>,
    ) -> impl Future<Output = Option<RateLimitPolicy>> + Send {
        let _ = operation;
        ready(Some(Operation::Custom.default_policy()))
    }
}

/// The limits of one auth table's auth routes; its `/db` traffic has a [`TableRateLimits`] of its own, or the default.
pub trait AuthTableRateLimits: Send + Sync + 'static {
    /// The table, which must be an auth table.
    const TABLE: &'static str;

    /// As [`TableRateLimits::CONSTANT`].
    const CONSTANT: bool = false;

    default_policy!(
        /// Password sign-ins, and every sign-up: 100 a minute.
        sign_in_policy, SignIn
    );
    default_policy!(
        /// Sign-ups: 100 a minute.
        sign_up_policy, SignUp
    );
    default_policy!(
        /// Failed password sign-ins per client and account: 10 in 15 minutes. `None` disables it.
        failed_sign_in_policy, FailedSignIn
    );
    default_policy!(
        /// `POST /auth` with any body, beside the operation of the body: 100 a minute.
        authenticate_policy, Authenticate
    );
    default_policy!(
        /// One-time codes: 5 in 15 minutes.
        send_otp_policy, SendOtp
    );
    default_policy!(
        /// Sign-in links: 5 in 15 minutes.
        send_magic_link_policy, SendMagicLink
    );
    default_policy!(
        /// Password-reset mails: 5 an hour.
        send_reset_password_policy, SendResetPassword
    );
    default_policy!(
        /// Verification mails: 5 an hour.
        send_verify_email_policy, SendVerifyEmail
    );
}

/// A policy that is being asked for.
pub type PolicyFuture<'a> = Pin<Box<dyn Future<Output = Policy> + Send + 'a>>;

/// Either of the two traits, for values whose type is not known: what the registry holds.
pub trait DynRateLimits: Send + Sync + 'static {
    /// The table.
    fn table(&self) -> &'static str;
    /// The Rust type, for `limits list`.
    fn type_name(&self) -> &'static str;
    /// Whether the policies never change.
    fn is_constant(&self) -> bool;
    /// The policy of one operation; the default one for an operation of the other trait.
    fn policy<'a>(&'a self, operation: Operation, custom: Option<&'a str>) -> PolicyFuture<'a>;
}

/// Hides the type of a [`TableRateLimits`].
pub(crate) struct ErasedTable<T>(pub(crate) T);

impl<T: TableRateLimits> DynRateLimits for ErasedTable<T> {
    fn table(&self) -> &'static str {
        T::TABLE
    }

    fn type_name(&self) -> &'static str {
        std::any::type_name::<T>()
    }

    fn is_constant(&self) -> bool {
        T::CONSTANT
    }

    fn policy<'a>(&'a self, operation: Operation, custom: Option<&'a str>) -> PolicyFuture<'a> {
        match operation {
            Operation::Get => Box::pin(self.0.get_policy()),
            Operation::List => Box::pin(self.0.limit_policy()),
            Operation::Count => Box::pin(self.0.count_policy()),
            Operation::Create => Box::pin(self.0.create_policy()),
            Operation::Update => Box::pin(self.0.update_policy()),
            Operation::Delete => Box::pin(self.0.delete_policy()),
            Operation::Custom => Box::pin(self.0.custom_policy(custom)),
            other => Box::pin(ready(Some(other.default_policy()))),
        }
    }
}

/// Hides the type of an [`AuthTableRateLimits`].
pub(crate) struct ErasedAuth<T>(pub(crate) T);

impl<T: AuthTableRateLimits> DynRateLimits for ErasedAuth<T> {
    fn table(&self) -> &'static str {
        T::TABLE
    }

    fn type_name(&self) -> &'static str {
        std::any::type_name::<T>()
    }

    fn is_constant(&self) -> bool {
        T::CONSTANT
    }

    fn policy<'a>(&'a self, operation: Operation, _custom: Option<&'a str>) -> PolicyFuture<'a> {
        match operation {
            Operation::SignIn => Box::pin(self.0.sign_in_policy()),
            Operation::SignUp => Box::pin(self.0.sign_up_policy()),
            Operation::FailedSignIn => Box::pin(self.0.failed_sign_in_policy()),
            Operation::Authenticate => Box::pin(self.0.authenticate_policy()),
            Operation::SendOtp => Box::pin(self.0.send_otp_policy()),
            Operation::SendMagicLink => Box::pin(self.0.send_magic_link_policy()),
            Operation::SendResetPassword => Box::pin(self.0.send_reset_password_policy()),
            Operation::SendVerifyEmail => Box::pin(self.0.send_verify_email_policy()),
            other => Box::pin(ready(Some(other.default_policy()))),
        }
    }
}
