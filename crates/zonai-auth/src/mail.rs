//! Mails: what they say, how they are sent, and the queue between the two.
//!
//! Nothing in here may put a caller's text into a header unchecked, or an address into a log.

pub(crate) mod kind;
pub(crate) mod outbox;
pub mod settings;
mod smtp;
pub(crate) mod template;
pub mod templates;

pub use kind::MailKind;
pub use outbox::MailTransport;
