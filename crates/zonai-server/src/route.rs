//! Which route a method and a path mean.
//!
//! Paths are compared to the letter: `/DB`, `//db`, `/db/` and `/%64b` are unknown routes, so that no spelling reaches
//! another counter than its own. Must never look at headers or payload.

use http::Method;
pub(crate) use zonai_code::DataOperation as Data;

/// What a method and a path mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Route<'a> {
    /// `GET /health`.
    Health,
    /// One of the `/db` routes that answer once.
    Data(Data),
    /// A live query, by its one-shot twin.
    Stream(Data),
    /// `PATCH /db/custom/:operation` and its `/many`.
    Custom { name: &'a str, many: bool },
    /// One of the `/auth` routes.
    Auth(Auth),
    /// Metrics, crons: for admins.
    Admin(Admin),
    /// A known path with another method; the methods it takes.
    WrongMethod(&'static str),
    /// Nothing of ours.
    Unknown,
}

/// What is asked of accounts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Auth {
    SignUp,
    SignIn,
    Authenticate,
    Confirm,
    Refresh,
    ResetPassword,
    VerifyEmail,
    Admin,
    Logout,
    LogoutAll,
}

/// What only admins may ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Admin {
    Metrics,
    CronList,
    CronRun,
}

/// The route of a request. `HEAD` is the `GET` it stands for.
pub(crate) fn of<'a>(method: &Method, path: &'a str) -> Route<'a> {
    let routes = at(path);
    let method = if *method == Method::HEAD {
        &Method::GET
    } else {
        method
    };
    match routes {
        Some(routes) => routes
            .methods
            .iter()
            .find(|(name, _)| name == method)
            .map_or(Route::WrongMethod(routes.allow), |(_, route)| *route),
        None => custom(method, path),
    }
}

struct At {
    methods: &'static [(Method, Route<'static>)],
    allow: &'static str,
}

macro_rules! at {
    ($allow:literal: $($method:ident => $route:expr),+) => {{
        const METHODS: &[(Method, Route<'static>)] = &[$((Method::$method, $route)),+];
        Some(At { methods: METHODS, allow: $allow })
    }};
}

fn at(path: &str) -> Option<At> {
    match path {
        "/db" => at!("GET, HEAD, POST, PATCH, DELETE":
            GET => Route::Data(Data::Get), POST => Route::Data(Data::Create),
            PATCH => Route::Data(Data::Update), DELETE => Route::Data(Data::Delete)),
        "/db/list" => at!("GET, HEAD": GET => Route::Data(Data::List)),
        "/db/count" => at!("GET, HEAD": GET => Route::Data(Data::Count)),
        "/db/many" => at!("POST, PATCH, DELETE":
            POST => Route::Data(Data::CreateMany), PATCH => Route::Data(Data::UpdateMany),
            DELETE => Route::Data(Data::DeleteMany)),
        "/db/stream" => at!("GET, HEAD": GET => Route::Stream(Data::Get)),
        "/db/stream/list" => at!("GET, HEAD": GET => Route::Stream(Data::List)),
        "/db/stream/count" => at!("GET, HEAD": GET => Route::Stream(Data::Count)),
        "/health" => at!("GET, HEAD": GET => Route::Health),
        "/auth" => at!("POST, DELETE":
            POST => Route::Auth(Auth::Authenticate), DELETE => Route::Auth(Auth::Logout)),
        "/auth/all" => at!("DELETE": DELETE => Route::Auth(Auth::LogoutAll)),
        "/auth/sign-up" => at!("POST": POST => Route::Auth(Auth::SignUp)),
        "/auth/sign-in" => at!("POST": POST => Route::Auth(Auth::SignIn)),
        "/auth/confirm" => at!("POST": POST => Route::Auth(Auth::Confirm)),
        "/auth/refresh" => at!("POST": POST => Route::Auth(Auth::Refresh)),
        "/auth/reset-password" => at!("POST": POST => Route::Auth(Auth::ResetPassword)),
        "/auth/verify-email" => at!("POST": POST => Route::Auth(Auth::VerifyEmail)),
        "/auth/admin" => at!("POST": POST => Route::Auth(Auth::Admin)),
        "/metrics" => at!("GET, HEAD": GET => Route::Admin(Admin::Metrics)),
        "/crons/list" => at!("GET, HEAD": GET => Route::Admin(Admin::CronList)),
        "/crons/run" => at!("POST": POST => Route::Admin(Admin::CronRun)),
        _ => None,
    }
}

fn custom<'a>(method: &Method, path: &'a str) -> Route<'a> {
    let Some(rest) = path.strip_prefix("/db/custom/") else {
        return Route::Unknown;
    };
    let (name, many) = match rest.split_once('/') {
        None => (rest, false),
        Some((name, "many")) => (name, true),
        Some(_) => return Route::Unknown,
    };
    if name.is_empty() {
        Route::Unknown
    } else if *method == Method::PATCH {
        Route::Custom { name, many }
    } else {
        Route::WrongMethod("PATCH")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_a_path_are_unknown_routes() {
        for path in [
            "/DB",
            "//db",
            "/db/",
            "/%64b",
            "/db//list",
            "/db/List",
            "/db/custom",
            "/db/custom/",
            "/db/custom//many",
            "/db/custom/a/b",
            "/db/../db",
            "/health/",
            "/auth/",
            "",
            "*",
        ] {
            assert_eq!(of(&Method::GET, path), Route::Unknown, "{path}");
        }
    }

    #[test]
    fn head_is_the_get_it_stands_for() {
        assert_eq!(of(&Method::HEAD, "/db"), Route::Data(Data::Get));
        assert_eq!(
            of(&Method::HEAD, "/db/many"),
            Route::WrongMethod("POST, PATCH, DELETE")
        );
    }

    #[test]
    fn a_custom_operation_named_many_is_not_the_many_route() {
        let many = |path| of(&Method::PATCH, path);
        assert_eq!(
            many("/db/custom/many"),
            Route::Custom {
                name: "many",
                many: false
            }
        );
        assert_eq!(
            many("/db/custom/many/many"),
            Route::Custom {
                name: "many",
                many: true
            }
        );
    }
}
