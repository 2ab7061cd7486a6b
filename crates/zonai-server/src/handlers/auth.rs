//! The `/auth` routes.

use http::HeaderValue;
use serde_json::{Value, json};
use zonai_auth::requests::{Authenticate, Body, Confirm, MailTo, SignIn, SignUp};
use zonai_auth::{Address, AuthError, MailKind, Session};
use zonai_code::AccountEvent;
use zonai_data::Payload;
use zonai_limit::NotTaken;

use crate::accounts;
use crate::errors::{self, Fault};
use crate::reply::{self, Answer};
use crate::route::Auth as Route;
use crate::way::{self, Passed};

/// Why an account route does not answer with data.
enum Failed {
    Auth(AuthError),
    /// Already an answer: a refusal, or a fault of the registry.
    Answered(Box<Answer>),
}

impl From<AuthError> for Failed {
    fn from(error: AuthError) -> Self {
        Self::Auth(error)
    }
}

/// Answers an admitted request about accounts.
pub(super) async fn answer(passed: Passed<'_>, route: Route) -> Answer {
    let payload = match route {
        Route::Refresh | Route::Logout | Route::LogoutAll => Payload::default(),
        _ => match Payload::parse(passed.payload) {
            Ok(payload) => payload,
            Err(error) => return errors::data(&error.into()),
        },
    };
    match work(&passed, route, &payload).await {
        Ok(Done::Session(Some(session))) => session_answer(&session),
        Ok(Done::Session(None)) => reply::data(&Value::Null),
        Ok(Done::Nothing) => reply::no_content(),
        Err(Failed::Auth(error)) => errors::auth(&error),
        Err(Failed::Answered(answer)) => *answer,
    }
}

enum Done {
    Session(Option<Session>),
    Nothing,
}

async fn work(passed: &Passed<'_>, route: Route, payload: &Payload) -> Result<Done, Failed> {
    let auth = &passed.state.auth;
    let (pass, body) = (&passed.admitted, payload.members());
    takes_type(route, body)?;
    match route {
        Route::SignUp => sign_up(passed, SignUp::parse(body)?).await,
        Route::SignIn => sign_in(passed, SignIn::parse(body)?).await,
        Route::Authenticate => authenticate(passed, Authenticate::parse(body)?).await,
        Route::Admin => {
            let request = Authenticate::parse_admin(body, auth.admin_table()?)?;
            // Other tables have routes of their own, which count elsewhere: no second budget for one secret.
            if !auth.is_admin_table(request.table()) {
                return Err(AuthError::NotFound("Not found".to_owned()).into());
            }
            authenticate(passed, request).await
        }
        Route::Confirm => {
            let session = auth
                .confirm(pass, passed.found.client, Confirm::parse(body)?)
                .await?;
            tell(passed, AccountEvent::SignIn, session.as_ref()).await;
            Ok(Done::Session(session))
        }
        Route::Refresh => {
            let session = Some(auth.refresh(pass, required_token(passed)?).await?);
            tell(passed, AccountEvent::Refresh, session.as_ref()).await;
            Ok(Done::Session(session))
        }
        Route::ResetPassword => mail(passed, MailKind::ResetPassword, MailTo::parse(body)?),
        Route::VerifyEmail => mail(passed, MailKind::VerifyEmail, MailTo::parse(body)?),
        Route::Logout => {
            let token = required_token(passed)?;
            let caller = auth.authenticate(pass, token)?;
            auth.logout(pass, token).await?;
            log_out(passed, &caller).await;
            Ok(Done::Nothing)
        }
        Route::LogoutAll => {
            let token = required_token(passed)?;
            let caller = auth.authenticate(pass, token)?;
            auth.logout_all(pass, token).await?;
            log_out(passed, &caller).await;
            Ok(Done::Nothing)
        }
    }
}

/// A `type` for admins has been counted among admins; where the route takes no `type`, going on would give the secrets
/// of a table without admins a second budget.
fn takes_type(route: Route, body: &Body) -> Result<(), AuthError> {
    let without = matches!(
        route,
        Route::SignUp | Route::SignIn | Route::ResetPassword | Route::VerifyEmail
    );
    match body.get("type") {
        Some(Value::String(kind)) if without && kind.starts_with("admin") => Err(
            AuthError::BadRequest("`type` is for POST /auth and POST /auth/admin".to_owned()),
        ),
        _ => Ok(()),
    }
}

async fn authenticate(passed: &Passed<'_>, request: Authenticate) -> Result<Done, Failed> {
    match request {
        Authenticate::SignIn(request) => sign_in(passed, request).await,
        Authenticate::SignUp(request) => sign_up(passed, request).await,
        Authenticate::SendOtp(to) => mail(passed, MailKind::Otp, to),
        Authenticate::SendMagicLink(to) => mail(passed, MailKind::MagicLink, to),
    }
}

fn mail(passed: &Passed<'_>, kind: MailKind, to: MailTo) -> Result<Done, Failed> {
    passed.state.auth.send_mail(kind, to)?;
    Ok(Done::Session(None))
}

async fn sign_in(passed: &Passed<'_>, request: SignIn) -> Result<Done, Failed> {
    let (table, address) = (request.table.clone(), request.address.clone());
    let signing = passed
        .state
        .auth
        .sign_in(&passed.admitted, passed.found.client, request);
    let session = Some(guarded(passed, &table, &address, signing).await?);
    tell(passed, AccountEvent::SignIn, session.as_ref()).await;
    Ok(Done::Session(session))
}

async fn sign_up(passed: &Passed<'_>, request: SignUp) -> Result<Done, Failed> {
    let caller = match accounts::token(&passed.parts.headers)? {
        Some(token) => Some(passed.state.auth.authenticate(&passed.admitted, token)?),
        None => None,
    };
    let (table, address) = (request.table.clone(), request.address.clone());
    let signing = passed
        .state
        .auth
        .sign_up(&passed.admitted, passed.found.client, request, caller);
    let session = guarded(passed, &table, &address, signing).await?;
    tell(passed, AccountEvent::SignUp, session.as_ref()).await;
    Ok(Done::Session(session))
}

/// Runs the hooks of an account that has a session now.
async fn tell(passed: &Passed<'_>, event: AccountEvent, session: Option<&Session>) {
    let state = passed.state;
    let Some(session) = session.filter(|_| state.code.hears_accounts()) else {
        return;
    };
    if let Ok(caller) = state
        .auth
        .authenticate(&passed.admitted, &session.access_token)
    {
        let user = Value::Object(session.user.clone());
        let who = accounts::as_data(&caller);
        let code = &state.code;
        code.on_account(event, &who, &caller.table, &user).await;
    }
}

async fn log_out(passed: &Passed<'_>, caller: &zonai_auth::Caller) {
    let user = Value::Object(caller.user.clone());
    let event = AccountEvent::LogOut;
    let who = accounts::as_data(caller);
    let code = &passed.state.code;
    code.on_account(event, &who, &caller.table, &user).await;
}

/// Takes a place for a failed sign-in, stored before the hash is computed, and gives it back unless it failed.
/// Whoever goes away in the middle has used it up.
async fn guarded<T>(
    passed: &Passed<'_>,
    table: &str,
    address: &Address,
    signing: impl Future<Output = Result<T, AuthError>>,
) -> Result<T, Failed> {
    let state = passed.state;
    let Some(id) = state.gate.limiter.table(table) else {
        return Err(AuthError::NotFound("Not found".to_owned()).into());
    };
    let account = state.auth.account_key(table, address.as_str());
    let limiter = &state.gate.limiter;
    // The body may have been waited for since the request was admitted.
    let now = state.clock.now();
    let place = match limiter
        .take_failed_sign_in(now, passed.found.client, id, account)
        .await
    {
        Ok(place) => place,
        Err(NotTaken::Refused(refusal)) => {
            // Refused after all: counted in none.
            limiter.give_back(&passed.admitted);
            let refused = way::refuse(state, state.clock.now(), &passed.found, &refusal);
            return Err(Failed::Answered(Box::new(refused)));
        }
        Err(NotTaken::Misregistered(twice)) => {
            let fault = errors::answer(&Fault::Misregistered(twice.to_string()));
            return Err(Failed::Answered(Box::new(fault)));
        }
    };
    // Where the file cannot be written the store has said so; the count in memory holds.
    let _ = state.store.commit(place.durable()).await;
    match signing.await {
        Err(error) if error.is_failed_sign_in() => Err(error.into()),
        result => {
            place.give_back();
            Ok(result?)
        }
    }
}

fn required_token<'a>(passed: &'a Passed<'_>) -> Result<&'a str, AuthError> {
    accounts::token(&passed.parts.headers)?
        .ok_or(AuthError::Unauthorized("Invalid or expired token"))
}

fn session_answer(session: &Session) -> Answer {
    let mut answer = reply::data(&json!(session));
    if let Ok(token) = HeaderValue::from_str(&session.access_token) {
        answer.headers_mut().insert("x-auth", token);
    }
    answer
}
