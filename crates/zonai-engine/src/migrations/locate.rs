//! Places in a file of SQL: from a byte to line and column, and from a statement's text to its first word.

/// Line and column, both from 1, columns in characters.
pub(super) fn line_and_column(text: &str, offset: usize) -> (usize, usize) {
    let mut offset = offset.min(text.len());
    while !text.is_char_boundary(offset) {
        offset -= 1;
    }
    let before = &text[..offset];
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    let line = before.matches('\n').count() + 1;
    (line, before[line_start..].chars().count() + 1)
}

/// How many bytes of white space, `;` and comments stand before the first word.
pub(super) fn skip_blank(sql: &str) -> usize {
    let mut rest = sql;
    loop {
        let trimmed = rest.trim_start_matches(|c: char| c.is_whitespace() || c == ';');
        let after = if trimmed.starts_with("--") {
            trimmed.find('\n').map_or("", |at| &trimmed[at..])
        } else if trimmed.starts_with("/*") {
            trimmed.find("*/").map_or("", |at| &trimmed[at + 2..])
        } else {
            return sql.len() - trimmed.len();
        };
        rest = after;
    }
}

/// The first word of a statement, in upper case.
pub(super) fn first_word(sql: &str) -> String {
    let start = &sql[skip_blank(sql)..];
    start
        .chars()
        .take_while(char::is_ascii_alphabetic)
        .collect::<String>()
        .to_ascii_uppercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_counted_from_one_in_characters() {
        let text = "ä;\n  select";
        assert_eq!(line_and_column(text, 0), (1, 1));
        assert_eq!(line_and_column(text, 2), (1, 2));
        assert_eq!(line_and_column(text, 6), (2, 3));
        assert_eq!(line_and_column(text, 999), (2, 9));
    }

    #[test]
    fn the_first_word_stands_behind_comments() {
        assert_eq!(first_word(" -- begin\n /* end */ ; commit;"), "COMMIT");
        assert_eq!(first_word("-- only"), "");
    }
}
