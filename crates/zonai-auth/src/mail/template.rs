//! What the mails say: built-in texts, or the project's own from `emailTemplatesPath`.
//!
//! A template is parsed and checked when it is loaded, so that a misspelled placeholder stops the start
//! and not a mail. Values are escaped in HTML and never interpreted again.

use std::fmt::Write as _;

use super::kind::MailKind;

/// A placeholder that a template may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Field {
    AppName,
    BaseUrl,
    Email,
    Code,
    Link,
    Token,
    Minutes,
    Hours,
}

impl Field {
    const ALL: [Self; 8] = [
        Self::AppName,
        Self::BaseUrl,
        Self::Email,
        Self::Code,
        Self::Link,
        Self::Token,
        Self::Minutes,
        Self::Hours,
    ];

    const fn text(self) -> &'static str {
        match self {
            Self::AppName => "appName",
            Self::BaseUrl => "baseUrl",
            Self::Email => "email",
            Self::Code => "code",
            Self::Link => "link",
            Self::Token => "token",
            Self::Minutes => "minutes",
            Self::Hours => "hours",
        }
    }

    fn fits(self, kind: MailKind) -> bool {
        match self {
            Self::Code => kind == MailKind::Otp,
            Self::Link | Self::Token => kind != MailKind::Otp,
            // The others live ten minutes: zero hours.
            Self::Hours => kind == MailKind::VerifyEmail,
            _ => true,
        }
    }
}

/// What is filled in.
#[derive(Clone, Debug)]
pub(crate) struct Values<'a> {
    pub(crate) app_name: &'a str,
    pub(crate) base_url: &'a str,
    pub(crate) email: &'a str,
    /// The code, or the secret part of the link.
    pub(crate) secret: &'a str,
}

/// A mail that is ready to go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Rendered {
    pub(crate) subject: String,
    pub(crate) text: String,
    pub(crate) html: Option<String>,
}

/// The templates of one kind of mail.
#[derive(Clone, Debug)]
pub(crate) struct Template {
    kind: MailKind,
    subject: Pieces,
    text: Pieces,
    html: Option<Pieces>,
}

impl Template {
    pub(crate) fn new(kind: MailKind, subject: Pieces, text: Pieces, html: Option<Pieces>) -> Self {
        Self {
            kind,
            subject,
            text,
            html,
        }
    }

    pub(crate) fn render(&self, values: &Values<'_>) -> Rendered {
        let fill = |pieces: &Pieces, html| pieces.fill(|name| value(self.kind, name, values), html);
        let subject = fill(&self.subject, false);
        // One line, whatever was filled in: a header must not end early.
        let subject = subject
            .split(char::is_control)
            .collect::<Vec<_>>()
            .join(" ");
        Rendered {
            subject: subject.trim().to_owned(),
            text: fill(&self.text, false),
            html: self.html.as_ref().map(|html| fill(html, true)),
        }
    }
}

/// A parsed text.
#[derive(Clone, Debug)]
pub(crate) struct Pieces(Vec<Piece>);

#[derive(Clone, Debug)]
enum Piece {
    Text(String),
    Value(Field),
}

impl Pieces {
    /// Parses a text in which `{{name}}` stands for a value; `first_line` is where it stands in its file.
    ///
    /// # Errors
    /// The first placeholder that is unknown, of another kind of mail, or not closed.
    pub(crate) fn parse(
        kind: MailKind,
        text: &str,
        first_line: usize,
    ) -> Result<Self, PlaceholderError> {
        let mut pieces = Vec::new();
        let mut rest = text;
        while let Some(start) = rest.find("{{") {
            let at = text.len() - rest.len() + start;
            let fault = |reason| PlaceholderError {
                at: place(text, at, first_line),
                reason,
            };
            let after = &rest[start + 2..];
            let end = after
                .find("}}")
                .ok_or_else(|| fault("`{{` without `}}`".to_owned()))?;
            let name = find(kind, after[..end].trim()).map_err(fault)?;
            pieces.push(Piece::Text(rest[..start].to_owned()));
            pieces.push(Piece::Value(name));
            rest = &after[end + 2..];
        }
        pieces.push(Piece::Text(rest.to_owned()));
        Ok(Self(pieces))
    }

    /// Whether the text gives its reader what the mail is for.
    pub(crate) fn is_of_use(&self) -> bool {
        self.0.iter().any(|piece| {
            matches!(
                piece,
                Piece::Value(Field::Code | Field::Link | Field::Token)
            )
        })
    }

    fn fill(&self, value: impl Fn(Field) -> String, html: bool) -> String {
        let mut out = String::new();
        for piece in &self.0 {
            match piece {
                Piece::Text(text) => out.push_str(text),
                Piece::Value(name) if html => escape(&value(*name), &mut out),
                Piece::Value(name) => out.push_str(&value(*name)),
            }
        }
        out
    }
}

/// A placeholder that cannot be filled in.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct PlaceholderError {
    /// Line and column, from 1.
    pub(crate) at: (usize, usize),
    pub(crate) reason: String,
}

fn find(kind: MailKind, text: &str) -> Result<Field, String> {
    let known = || Field::ALL.into_iter().filter(|name| name.fits(kind));
    known().find(|name| name.text() == text).ok_or_else(|| {
        let mut names = String::new();
        for name in known() {
            let _infallible = write!(names, " {}", name.text());
        }
        format!("`{text}` is no value of this mail; there are:{names}")
    })
}

fn value(kind: MailKind, name: Field, values: &Values<'_>) -> String {
    let base = values.base_url.trim_end_matches('/');
    match name {
        Field::AppName => values.app_name.to_owned(),
        Field::BaseUrl => base.to_owned(),
        Field::Email => values.email.to_owned(),
        Field::Code | Field::Token => values.secret.to_owned(),
        Field::Link => format!("{base}{}{}", kind.page(), values.secret),
        Field::Minutes => (kind.lifetime().as_secs() / 60).to_string(),
        Field::Hours => (kind.lifetime().as_secs() / 3_600).to_string(),
    }
}

fn place(text: &str, at: usize, first_line: usize) -> (usize, usize) {
    let before = &text[..at];
    let line = before.matches('\n').count();
    let column = before
        .rsplit('\n')
        .next()
        .map_or(0, |last| last.chars().count());
    (line + first_line, column + 1)
}

fn escape(text: &str, out: &mut String) {
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        reason = "tests"
    )]
    use super::*;

    fn pieces(text: &str) -> Result<Pieces, PlaceholderError> {
        Pieces::parse(MailKind::MagicLink, text, 1)
    }

    fn values<'a>(app_name: &'a str) -> Values<'a> {
        Values {
            app_name,
            base_url: "https://x.org/",
            email: "o'neil@x.org",
            secret: "s-1",
        }
    }

    #[test]
    fn values_are_filled_in_and_escaped_in_html_only() {
        let template = Template::new(
            MailKind::MagicLink,
            pieces("Hello {{ appName }}").unwrap(),
            pieces("{{email}}: {{link}}").unwrap(),
            Some(pieces("<a href=\"{{link}}\">{{appName}} {{email}}</a>").unwrap()),
        );
        let rendered = template.render(&values("<b>&{{code}}"));
        assert_eq!(rendered.subject, "Hello <b>&{{code}}");
        assert_eq!(
            rendered.text,
            "o'neil@x.org: https://x.org/magic-link?secret=s-1"
        );
        let html = "<a href=\"https://x.org/magic-link?secret=s-1\">\
                    &lt;b&gt;&amp;{{code}} o&#39;neil@x.org</a>";
        assert_eq!(rendered.html.as_deref(), Some(html));
    }

    #[test]
    fn a_subject_is_one_line() {
        let subject = pieces("Hello {{appName}}").unwrap();
        let template = Template::new(MailKind::MagicLink, subject, pieces("").unwrap(), None);
        let rendered = template.render(&values("x\r\nBcc: all@x.org"));
        assert_eq!(rendered.subject, "Hello x  Bcc: all@x.org");
    }

    #[test]
    fn a_placeholder_that_cannot_be_filled_in_is_told_with_its_place() {
        let error = pieces("a\nbä {{lnik}}").unwrap_err();
        assert_eq!(error.at, (2, 4));
        assert!(
            error
                .reason
                .starts_with("`lnik` is no value of this mail; there are: appName")
        );
        assert!(!error.reason.contains("code"), "{}", error.reason);
        assert_eq!(pieces("{{code}}").unwrap_err().at, (1, 1));
        assert_eq!(pieces("x {{link").unwrap_err().at, (1, 3));
        assert!(!pieces("nothing").unwrap().is_of_use());
    }
}
