//! Loading the templates: for each kind of mail `<kind>.txt` and `<kind>.html`, or the built-in ones.
//!
//! Must never take a template that leaves its code or link out: the mail would be of no use, and nobody would see
//! why.

use std::path::{Path, PathBuf};

use super::kind::MailKind;
use super::template::{Pieces, PlaceholderError, Rendered, Template, Values};

/// The largest template in bytes.
const MAX_BYTES: u64 = 256 * 1024;

/// What all mails say.
#[derive(Clone, Debug)]
pub struct Templates(Vec<(MailKind, Template)>);

impl Templates {
    /// Reads the project's templates; what it has none for is built in. A missing folder is fine.
    ///
    /// A `.txt` may begin with a line `Subject: …`. A project's `.txt` without an `.html` makes a mail in
    /// plain text only.
    ///
    /// # Errors
    /// The first file that cannot be read, has a name of no mail, or holds a placeholder that cannot be
    /// filled in; and one that does not give its reader the code or the link.
    pub fn load(folder: Option<&Path>) -> Result<Self, TemplateError> {
        if let Some(folder) = folder {
            check_names(folder)?;
        }
        let load = |kind| Ok((kind, load_kind(folder, kind)?));
        MailKind::ALL
            .into_iter()
            .map(load)
            .collect::<Result<_, _>>()
            .map(Self)
    }

    pub(crate) fn render(&self, kind: MailKind, values: &Values<'_>) -> Option<Rendered> {
        let (_, template) = self.0.iter().find(|(other, _)| *other == kind)?;
        Some(template.render(values))
    }
}

/// Why the templates are refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TemplateError {
    /// The file or folder could not be read.
    #[error("{}: cannot be read: {source}", path.display())]
    Read {
        /// Which.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The file is larger than a mail should be.
    #[error("{}: a template may have at most {} KiB", .0.display(), MAX_BYTES / 1024)]
    Large(PathBuf),
    /// A file that no mail would use.
    #[error(
        "{}: no mail is called so; there are otp, magic_link, reset_password and verify_email, \
         each as .txt and .html", .0.display()
    )]
    Name(PathBuf),
    /// A placeholder that cannot be filled in.
    #[error("{}:{line}:{column}: {reason}", path.display())]
    Placeholder {
        /// In which file.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// Column, from 1.
        column: usize,
        /// What is wrong.
        reason: String,
    },
    /// A mail that would be of no use.
    #[error("{}: the mail must hold {needs}, else its reader cannot go on", path.display())]
    Useless {
        /// In which file.
        path: PathBuf,
        /// What must stand in it.
        needs: &'static str,
    },
}

const fn built_in(kind: MailKind) -> (&'static str, &'static str) {
    match kind {
        MailKind::Otp => (
            include_str!("built_in/otp.txt"),
            include_str!("built_in/otp.html"),
        ),
        MailKind::MagicLink => (
            include_str!("built_in/magic_link.txt"),
            include_str!("built_in/magic_link.html"),
        ),
        MailKind::ResetPassword => (
            include_str!("built_in/reset_password.txt"),
            include_str!("built_in/reset_password.html"),
        ),
        MailKind::VerifyEmail => (
            include_str!("built_in/verify_email.txt"),
            include_str!("built_in/verify_email.html"),
        ),
    }
}

fn check_names(folder: &Path) -> Result<(), TemplateError> {
    let fault = |source| TemplateError::Read {
        path: folder.to_owned(),
        source,
    };
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(fault(error)),
    };
    for entry in entries {
        let path = entry.map_err(fault)?.path();
        let is_template = path
            .extension()
            .is_some_and(|ext| ext == "txt" || ext == "html");
        let stem = path
            .file_stem()
            .and_then(|stem| stem.to_str())
            .unwrap_or_default();
        let known = MailKind::ALL.into_iter().any(|kind| kind.name() == stem);
        if is_template && !stem.starts_with('.') && !known {
            return Err(TemplateError::Name(path));
        }
    }
    Ok(())
}

fn load_kind(folder: Option<&Path>, kind: MailKind) -> Result<Template, TemplateError> {
    let own = |extension| match folder {
        Some(folder) => read(&folder.join(format!("{}.{extension}", kind.name()))),
        None => Ok(None),
    };
    let (text, html) = (own("txt")?, own("html")?);
    let built_in_file = || PathBuf::from(format!("built-in {}.txt", kind.name()));
    let (built_in_text, built_in_html) = built_in(kind);
    let html = match (html, &text) {
        (Some(own), _) => Some(own),
        (None, None) => Some((built_in_file(), built_in_html.to_owned())),
        (None, Some(_)) => None,
    };
    let default_subject = built_in_text.lines().next().unwrap_or_default();
    let (path, text) = text.unwrap_or_else(|| (built_in_file(), built_in_text.to_owned()));
    let (subject, text, line) = split_subject(&text, default_subject);
    let subject = parse(kind, &path, subject, 1)?;
    let text = parse(kind, &path, text, line)?;
    check_use(kind, &path, &text)?;
    let html = match html {
        None => None,
        Some((path, html)) => {
            let html = parse(kind, &path, &html, 1)?;
            check_use(kind, &path, &html)?;
            Some(html)
        }
    };
    Ok(Template::new(kind, subject, text, html))
}

fn check_use(kind: MailKind, path: &Path, pieces: &Pieces) -> Result<(), TemplateError> {
    if pieces.is_of_use() {
        return Ok(());
    }
    let needs = if kind == MailKind::Otp {
        "{{code}}"
    } else {
        "{{link}} or {{token}}"
    };
    Err(TemplateError::Useless {
        path: path.to_owned(),
        needs,
    })
}

fn parse(kind: MailKind, path: &Path, text: &str, line: usize) -> Result<Pieces, TemplateError> {
    Pieces::parse(kind, text, line).map_err(
        |PlaceholderError {
             at: (line, column),
             reason,
         }| {
            TemplateError::Placeholder {
                path: path.to_owned(),
                line,
                column,
                reason,
            }
        },
    )
}

fn read(path: &Path) -> Result<Option<(PathBuf, String)>, TemplateError> {
    let fault = |source| TemplateError::Read {
        path: path.to_owned(),
        source,
    };
    match std::fs::metadata(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(fault(error)),
        Ok(meta) if meta.len() > MAX_BYTES => return Err(TemplateError::Large(path.to_owned())),
        Ok(_) => {}
    }
    Ok(Some((
        path.to_owned(),
        std::fs::read_to_string(path).map_err(fault)?,
    )))
}

/// Subject, body, and the line on which the body begins.
fn split_subject<'a>(text: &'a str, default: &'a str) -> (&'a str, &'a str, usize) {
    let subject = |line: &'a str| line.strip_prefix("Subject:").map(str::trim);
    let default = subject(default).unwrap_or_default();
    let (first, rest) = text.split_once('\n').unwrap_or((text, ""));
    match subject(first) {
        None => (default, text, 1),
        Some(own) => {
            let body = rest.trim_start_matches(['\r', '\n']);
            let skipped = rest.len() - body.len();
            (own, body, 2 + rest[..skipped].matches('\n').count())
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

    fn values() -> Values<'static> {
        Values {
            app_name: "Shop",
            base_url: "https://x.org",
            email: "a@x.org",
            secret: "s1",
        }
    }

    #[test]
    fn every_mail_has_a_built_in_text_in_both_forms() {
        let templates = Templates::load(None).unwrap();
        for kind in MailKind::ALL {
            let mail = templates.render(kind, &values()).unwrap();
            assert!(mail.subject.contains("Shop"), "{}", mail.subject);
            assert!(
                mail.text.contains("s1") && !mail.text.contains("{{"),
                "{}",
                mail.text
            );
            assert!(!mail.text.contains("Subject:"));
            let html = mail.html.unwrap();
            assert!(html.contains("s1") && !html.contains("{{"), "{html}");
        }
    }

    #[test]
    fn a_project_replaces_what_it_likes() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(
            folder.path().join("otp.txt"),
            "Subject: {{code}}!\n\nTake {{code}}\n",
        )
        .unwrap();
        std::fs::write(folder.path().join("verify_email.html"), "<p>{{link}}</p>").unwrap();
        let templates = Templates::load(Some(folder.path())).unwrap();
        let otp = templates.render(MailKind::Otp, &values()).unwrap();
        let expect = (otp.subject.as_str(), otp.text.as_str(), otp.html);
        assert_eq!(expect, ("s1!", "Take s1\n", None));
        let verify = templates.render(MailKind::VerifyEmail, &values()).unwrap();
        assert_eq!(
            verify.html.unwrap(),
            "<p>https://x.org/verify-email?token=s1</p>"
        );
        assert!(verify.text.contains("24 hours"));
    }

    #[test]
    fn a_fault_names_its_file_and_place() {
        let cases = [
            (
                "otp.txt",
                "Subject: x\n\n\nTake {{cod}} or {{code}}",
                "otp.txt:4:6: `cod` is no value",
            ),
            (
                "otp.txt",
                "Subject: x\n\nNothing",
                "otp.txt: the mail must hold {{code}}",
            ),
            (
                "magic_link.html",
                "<p>hello",
                "magic_link.html: the mail must hold {{link}}",
            ),
            ("opt.txt", "{{code}}", "opt.txt: no mail is called so"),
        ];
        for (name, text, expect) in cases {
            let folder = tempfile::tempdir().unwrap();
            std::fs::write(folder.path().join(name), text).unwrap();
            let error = Templates::load(Some(folder.path()))
                .unwrap_err()
                .to_string();
            assert!(error.contains(expect), "{error}");
        }
    }

    #[test]
    fn a_missing_folder_is_fine() {
        assert!(Templates::load(Some(Path::new("/nowhere/at/all"))).is_ok());
    }
}
