//! How the accounts of a project sign in, from its settings and mail templates.

use zonai_auth::{AuthSettings, MailTransport, TableSetup, Templates};

use crate::settings::{AuthMethod, Settings};

/// How the accounts of each table sign in.
pub fn tables(settings: &Settings) -> Vec<TableSetup> {
    let tables = settings
        .app
        .tables
        .iter()
        .filter(|(_, table)| table.has_accounts())
        .map(|(name, table)| {
            let has = |method| table.auth.contains(&method);
            TableSetup {
                name: name.clone(),
                // A table of admins without `auth` signs in with passwords.
                password: has(AuthMethod::Password) || table.auth.is_empty(),
                otp: has(AuthMethod::Otp),
                magic_link: has(AuthMethod::MagicLink),
                admin: table.admin,
            }
        });
    tables.collect()
}

/// What accounts are told at start.
///
/// # Errors
/// When a mail template is no good.
pub fn settings(settings: &Settings) -> Result<AuthSettings, zonai_auth::TemplateError> {
    let mail = match &settings.app.mail {
        Some(mail) => Some(MailTransport::Smtp(mail.clone())),
        None => settings.app.dev_mail.then_some(MailTransport::Log),
    };
    let folder = settings
        .paths
        .email_templates
        .is_dir()
        .then_some(settings.paths.email_templates.as_path());
    Ok(AuthSettings {
        app_name: settings.app.name.clone(),
        base_url: settings.app.base_url.clone(),
        session: settings.app.jwt_expires_in,
        tables: tables(settings),
        mail,
        templates: Templates::load(folder)?,
    })
}
