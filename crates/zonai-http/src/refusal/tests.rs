//! The refusal, to the letter.
