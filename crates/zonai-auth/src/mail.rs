//! Mails: how they are sent, what they say, and the queue between the two.
//!
//! Nothing in here may put a caller's text into a header unchecked, or an address into a log.

pub mod settings;
