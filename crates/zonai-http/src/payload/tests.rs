//! Behaviour of the payload scanner.
