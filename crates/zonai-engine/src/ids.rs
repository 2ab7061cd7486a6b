//! Ids that the server makes: 15 lower-case hex digits, `_`, and the suffix of the table.

/// A new id from the system's randomness, such as `9f3c1e0a7b6d542_ta`: 60 random bits.
///
/// # Errors
/// When the operating system gives no randomness.
pub fn new_id(suffix: &str) -> Result<String, crate::DataError> {
    let mut bytes = [0_u8; 8];
    getrandom::fill(&mut bytes)
        .map_err(|cause| crate::DataError::internal("making an id", &cause))?;
    Ok(format!("{:015x}_{suffix}", u64::from_le_bytes(bytes) >> 4))
}

/// The suffix of a table that sets none: the first two letters of its name, in lower case.
#[must_use]
pub fn default_suffix(table: &str) -> String {
    let letters: String = table
        .chars()
        .filter(char::is_ascii_alphabetic)
        .take(2)
        .collect::<String>()
        .to_ascii_lowercase();
    if letters.is_empty() {
        "id".to_owned()
    } else {
        letters
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn ids_have_their_form_and_differ() {
        let (one, two) = (new_id("ta").unwrap(), new_id("ta").unwrap());
        assert_ne!(one, two);
        let (digits, suffix) = one.split_once('_').unwrap();
        assert_eq!((digits.len(), suffix), (15, "ta"));
        assert!(
            digits
                .chars()
                .all(|c| c.is_ascii_digit() || ('a'..='f').contains(&c))
        );
    }

    #[test]
    fn suffixes_come_from_the_letters_of_the_name() {
        for (table, suffix) in [
            ("tasks", "ta"),
            ("_rate_limit", "ra"),
            ("O2", "o"),
            ("42", "id"),
        ] {
            assert_eq!(default_suffix(table), suffix);
        }
    }
}
