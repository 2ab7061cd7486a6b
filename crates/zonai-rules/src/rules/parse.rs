//! From text to sqlparser's tree: one expression and nothing after it.
//!
//! `@user` is made one word before parsing, so that `@user.id` is a name with two parts and never a bound parameter.
//! Parameters, comments and statements are refused here.

use sqlparser::ast::Expr;
use sqlparser::dialect::SQLiteDialect;
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Location, Span, Token, TokenWithSpan, Tokenizer, Whitespace, Word};

use super::ExprFault;

/// The longest expression, in bytes.
const MAX_TEXT: usize = 4_096;
/// How deep parentheses may stand.
const MAX_DEPTH: usize = 40;

/// Reads one expression.
pub(super) fn parse(text: &str) -> Result<Expr, ExprFault> {
    let end = end_of(text);
    if text.len() > MAX_TEXT {
        return Err(ExprFault::point(
            Location::new(1, 1),
            format!("the expression is longer than {MAX_TEXT} bytes"),
        ));
    }
    if text.trim().is_empty() {
        return Err(ExprFault::point(
            Location::new(1, 1),
            "the expression is empty",
        ));
    }
    let dialect = SQLiteDialect {};
    let tokens = Tokenizer::new(&dialect, text)
        .tokenize_with_location()
        .map_err(|error| ExprFault::point(error.location, lower_first(&error.message)))?;
    let tokens = prepared(tokens)?;
    let mut parser = Parser::new(&dialect)
        .with_recursion_limit(MAX_DEPTH)
        .with_tokens_with_locations(tokens);
    let expr = parser.parse_expr().map_err(|error| located(&error, end))?;
    let next = parser.peek_token();
    if next.token != Token::EOF {
        return Err(ExprFault::at(
            next.span,
            format!("unexpected `{}` after the expression", next.token),
        ));
    }
    Ok(expr)
}

/// Joins `@` with its word, and takes names beside a `.` as names even where they are words of SQL.
fn prepared(tokens: Vec<TokenWithSpan>) -> Result<Vec<TokenWithSpan>, ExprFault> {
    let mut out: Vec<TokenWithSpan> = Vec::with_capacity(tokens.len());
    for mut token in tokens {
        match &token.token {
            Token::Placeholder(_) => {
                let help = "values of the caller are `@user.id`, `@user.<column>`, `@claims.<name>`, `@admin`";
                return Err(
                    ExprFault::at(token.span, "parameters have no place here").with_help(help)
                );
            }
            Token::Whitespace(
                Whitespace::SingleLineComment { .. } | Whitespace::MultiLineComment(_),
            ) => return Err(ExprFault::at(token.span, "SQL comments have no place here")),
            Token::SemiColon => {
                return Err(ExprFault::at(
                    token.span,
                    "unexpected `;`: one expression is expected",
                ));
            }
            Token::Word(word) if word.quote_style.is_none() => {
                let value = word.value.clone();
                match out.last().map(|before| &before.token) {
                    Some(Token::AtSign) => {
                        let at = out.pop().map_or(token.span, |before| before.span);
                        token = name(format!("@{value}"), at.union(&token.span));
                    }
                    Some(Token::Period) => token = name(value, token.span),
                    _ => {}
                }
            }
            Token::Period => {
                if let Some(before) = out.last_mut()
                    && let Token::Word(word) = &mut before.token
                {
                    word.keyword = Keyword::NoKeyword;
                }
            }
            _ => {}
        }
        out.push(token);
    }
    Ok(out)
}

fn name(value: String, span: Span) -> TokenWithSpan {
    let word = Word {
        value,
        quote_style: None,
        keyword: Keyword::NoKeyword,
    };
    TokenWithSpan {
        token: Token::Word(word),
        span,
    }
}

/// The parser says where only in its text, and not at all at the end.
fn located(error: &ParserError, end: Location) -> ExprFault {
    let text = match error {
        ParserError::TokenizerError(text) | ParserError::ParserError(text) => text.as_str(),
        ParserError::RecursionLimitExceeded => {
            return ExprFault::point(Location::new(1, 1), "nested too deep");
        }
    };
    let (message, place) = match text.rsplit_once(" at Line: ") {
        Some((message, place)) => (message, place.split_once(", Column: ")),
        None => (text, None),
    };
    let place = place
        .and_then(|(line, column)| Some(Location::new(line.parse().ok()?, column.parse().ok()?)));
    let message = lower_first(message)
        .replace("expected: ", "expected ")
        .replace("found: EOF", "found the end")
        .replace("found: ", "found ");
    ExprFault::point(place.unwrap_or(end), message)
}

fn lower_first(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| {
        first.to_lowercase().chain(chars).collect()
    })
}

/// One character after the last one that is not space.
fn end_of(text: &str) -> Location {
    let text = text.trim_end();
    let lines = text.lines().count().max(1) as u64;
    let last = text.lines().next_back().unwrap_or_default();
    Location::new(lines, last.chars().count() as u64 + 1)
}
