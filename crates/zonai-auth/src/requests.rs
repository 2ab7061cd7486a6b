//! The bodies of the auth routes, read from JSON into types that cannot be wrong.
//!
//! Each fault is a 400 that names the field. A value is never in the text: it may be a password.

use serde_json::{Map, Value};

use crate::{Address, AuthError, Password};

/// A JSON object as it came.
pub type Body = Map<String, Value>;

/// The table that is meant where a body names none.
pub const DEFAULT_TABLE: &str = "users";

/// Body of `POST /auth/sign-in`, and of `type: signIn`.
#[derive(Clone, Debug)]
pub struct SignIn {
    /// The auth table.
    pub table: String,
    /// Whose account.
    pub address: Address,
    /// The password that is to fit.
    pub password: Password,
}

/// Body of `POST /auth/sign-up`, and of `type: signUp`.
#[derive(Clone, Debug)]
pub struct SignUp {
    /// The auth table.
    pub table: String,
    /// The account's address.
    pub address: Address,
    /// The password; none for tables without passwords.
    pub password: Option<Password>,
    /// Further columns of the row.
    pub object: Body,
}

/// Whom to mail: body of `POST /auth/reset-password`, `/auth/verify-email`, and of `type: sendOtp`, `sendMagicLink`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MailTo {
    /// The auth table.
    pub table: String,
    /// The account's address.
    pub address: Address,
}

/// Body of `POST /auth`.
#[derive(Clone, Debug)]
pub enum Authenticate {
    /// `signIn`, or `adminSignIn` on `POST /auth/admin`.
    SignIn(SignIn),
    /// `signUp`.
    SignUp(SignUp),
    /// `sendOtp`, or `adminSendOtp`.
    SendOtp(MailTo),
    /// `sendMagicLink`, or `adminSendMagicLink`.
    SendMagicLink(MailTo),
}

/// Body of `POST /auth/confirm`.
#[derive(Clone, Debug)]
pub enum Confirm {
    /// `verifyOtp {email, code, table?}`.
    VerifyOtp {
        /// Whose code.
        to: MailTo,
        /// Six digits.
        code: String,
    },
    /// `verifyMagicLink {secret}`.
    VerifyMagicLink {
        /// The last part of the link.
        secret: String,
    },
    /// `confirmResetPassword {token, newPassword}`.
    ConfirmResetPassword {
        /// The last part of the link.
        token: String,
        /// The password to set.
        new_password: Password,
    },
    /// `confirmVerifyEmail {token}`.
    ConfirmVerifyEmail {
        /// The last part of the link.
        token: String,
    },
}

impl SignIn {
    /// Reads the body of `POST /auth/sign-in`.
    ///
    /// # Errors
    /// 400 naming the field that is missing or wrong.
    pub fn parse(body: &Body) -> Result<Self, AuthError> {
        Self::parse_in(body, DEFAULT_TABLE)
    }

    fn parse_in(body: &Body, table: &str) -> Result<Self, AuthError> {
        let MailTo { table, address } = MailTo::parse_in(body, table)?;
        Ok(Self {
            table,
            address,
            password: Password::given(required(body, "password")?)?,
        })
    }
}

impl SignUp {
    /// Reads the body of `POST /auth/sign-up`.
    ///
    /// # Errors
    /// 400 naming the field that is missing or wrong.
    pub fn parse(body: &Body) -> Result<Self, AuthError> {
        let MailTo { table, address } = MailTo::parse(body)?;
        let password = optional(body, "password")?
            .map(Password::chosen)
            .transpose()?;
        let object = match body.get("object") {
            None | Some(Value::Null) => Body::new(),
            Some(Value::Object(object)) => object.clone(),
            Some(_) => return Err(AuthError::bad("`object` must be an object")),
        };
        Ok(Self {
            table,
            address,
            password,
            object,
        })
    }
}

impl MailTo {
    /// Reads the body of `POST /auth/reset-password` and `POST /auth/verify-email`.
    ///
    /// # Errors
    /// 400 naming the field that is missing or wrong.
    pub fn parse(body: &Body) -> Result<Self, AuthError> {
        Self::parse_in(body, DEFAULT_TABLE)
    }

    fn parse_in(body: &Body, table: &str) -> Result<Self, AuthError> {
        let table = optional(body, "table")?.unwrap_or(table).to_owned();
        Ok(Self {
            table,
            address: Address::parse(required(body, "email")?)?,
        })
    }
}

impl Authenticate {
    /// The auth table that is meant.
    #[must_use]
    pub fn table(&self) -> &str {
        match self {
            Self::SignIn(request) => &request.table,
            Self::SignUp(request) => &request.table,
            Self::SendOtp(to) | Self::SendMagicLink(to) => &to.table,
        }
    }

    /// Reads the body of `POST /auth`.
    ///
    /// # Errors
    /// 400 naming the field that is missing or wrong, or the types there are.
    pub fn parse(body: &Body) -> Result<Self, AuthError> {
        match required(body, "type")? {
            "signIn" => SignIn::parse(body).map(Self::SignIn),
            "signUp" => SignUp::parse(body).map(Self::SignUp),
            "sendOtp" => MailTo::parse(body).map(Self::SendOtp),
            "sendMagicLink" => MailTo::parse(body).map(Self::SendMagicLink),
            _ => Err(unknown_type("signIn, signUp, sendOtp or sendMagicLink")),
        }
    }

    /// Reads the body of `POST /auth/admin`; `table` is the project's table of admins.
    ///
    /// # Errors
    /// 400 naming the field that is missing or wrong, or the types there are.
    pub fn parse_admin(body: &Body, table: &str) -> Result<Self, AuthError> {
        match required(body, "type")? {
            "adminSignIn" => SignIn::parse_in(body, table).map(Self::SignIn),
            "adminSendOtp" => MailTo::parse_in(body, table).map(Self::SendOtp),
            "adminSendMagicLink" => MailTo::parse_in(body, table).map(Self::SendMagicLink),
            _ => Err(unknown_type(
                "adminSignIn, adminSendOtp or adminSendMagicLink",
            )),
        }
    }
}

impl Confirm {
    /// Reads the body of `POST /auth/confirm`.
    ///
    /// # Errors
    /// 400 naming the field that is missing or wrong, or the types there are.
    pub fn parse(body: &Body) -> Result<Self, AuthError> {
        let text = |name| required(body, name).map(|text| text.trim().to_owned());
        match required(body, "type")? {
            "verifyOtp" => {
                let code = text("code")?;
                if code.len() != 6 || !code.bytes().all(|byte| byte.is_ascii_digit()) {
                    return Err(AuthError::bad("`code` must be a string of 6 digits"));
                }
                Ok(Self::VerifyOtp {
                    to: MailTo::parse(body)?,
                    code,
                })
            }
            "verifyMagicLink" => Ok(Self::VerifyMagicLink {
                secret: text("secret")?,
            }),
            "confirmResetPassword" => Ok(Self::ConfirmResetPassword {
                token: text("token")?,
                new_password: Password::chosen(required(body, "newPassword")?)
                    .map_err(|error| rename(error, "password", "newPassword"))?,
            }),
            "confirmVerifyEmail" => Ok(Self::ConfirmVerifyEmail {
                token: text("token")?,
            }),
            _ => Err(unknown_type(
                "verifyOtp, verifyMagicLink, confirmResetPassword or confirmVerifyEmail",
            )),
        }
    }
}

fn unknown_type(known: &str) -> AuthError {
    AuthError::bad(format!("`type` must be {known}"))
}

fn rename(error: AuthError, from: &str, to: &str) -> AuthError {
    match error {
        AuthError::BadRequest(text) => {
            AuthError::BadRequest(text.replace(&format!("`{from}`"), &format!("`{to}`")))
        }
        other => other,
    }
}

fn required<'a>(body: &'a Body, name: &str) -> Result<&'a str, AuthError> {
    optional(body, name)?.ok_or_else(|| AuthError::bad(format!("`{name}` is missing")))
}

fn optional<'a>(body: &'a Body, name: &str) -> Result<Option<&'a str>, AuthError> {
    match body.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(AuthError::bad(format!("`{name}` must be a string"))),
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
    use serde_json::json;

    use super::*;

    fn body(value: Value) -> Body {
        value.as_object().unwrap().clone()
    }

    #[test]
    fn a_table_left_out_is_users_or_the_one_of_admins() {
        let sign_in = SignIn::parse(&body(json!({"email": " A@X.org", "password": "p"}))).unwrap();
        assert_eq!(
            (sign_in.table.as_str(), sign_in.address.as_str()),
            ("users", "a@x.org")
        );
        let admin = json!({"type": "adminSendOtp", "email": "a@x.org"});
        let Authenticate::SendOtp(to) = Authenticate::parse_admin(&body(admin), "staff").unwrap()
        else {
            panic!("another type")
        };
        assert_eq!(to.table, "staff");
    }

    #[test]
    fn each_fault_names_its_field_and_never_the_value() {
        let e = "a@x.org";
        let cases = [
            (json!({}), "`type` is missing"),
            (json!({"type": 1}), "`type` must be a string"),
            (
                json!({"type": "adminSignIn"}),
                "`type` must be signIn, signUp, sendOtp",
            ),
            (
                json!({"type": "signIn", "password": "p4ss"}),
                "`email` is missing",
            ),
            (
                json!({"type": "signIn", "email": e}),
                "`password` is missing",
            ),
            (
                json!({"type": "signIn", "email": [e], "password": "p4ss"}),
                "`email` must be a string",
            ),
            (
                json!({"type": "signIn", "email": e, "password": {"x": "p4ss"}}),
                "`password` must be a",
            ),
            (
                json!({"type": "signIn", "email": e, "password": "p4ss\0"}),
                "`password` must not contain",
            ),
            (
                json!({"type": "signUp", "email": e, "password": "p4ss"}),
                "`password` must have at least 8",
            ),
            (
                json!({"type": "signUp", "email": e, "object": "p4ss"}),
                "`object` must be an object",
            ),
            (
                json!({"type": "sendOtp", "email": "p4ss"}),
                "`email` is not an e-mail address",
            ),
            (
                json!({"type": "sendOtp", "email": e, "table": 3}),
                "`table` must be a string",
            ),
        ];
        for (value, expect) in cases {
            let error = Authenticate::parse(&body(value.clone()))
                .unwrap_err()
                .to_string();
            assert!(
                error.contains(expect) && !error.contains("p4ss"),
                "{value}: {error}"
            );
        }
    }

    #[test]
    fn confirmations_are_checked_before_anything_is_tried() {
        let cases = [
            (
                json!({"type": "verifyOtp", "email": "a@x.org", "code": 123456}),
                "`code` must be a string",
            ),
            (
                json!({"type": "verifyOtp", "email": "a@x.org", "code": "12345"}),
                "6 digits",
            ),
            (
                json!({"type": "verifyOtp", "email": "a@x.org", "code": "１23456"}),
                "6 digits",
            ),
            (json!({"type": "verifyMagicLink"}), "`secret` is missing"),
            (
                json!({"type": "confirmResetPassword", "token": "t"}),
                "`newPassword` is missing",
            ),
            (
                json!({"type": "confirmResetPassword", "token": "t", "newPassword": "short"}),
                "`newPassword` must have at least 8",
            ),
            (
                json!({"type": "confirmEverything"}),
                "`type` must be verifyOtp",
            ),
        ];
        for (value, expect) in cases {
            let error = Confirm::parse(&body(value.clone()))
                .unwrap_err()
                .to_string();
            assert!(error.contains(expect), "{value}: {error}");
        }
    }
}
