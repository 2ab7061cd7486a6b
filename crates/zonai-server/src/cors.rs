//! Which pages of other origins may read an answer.
//!
//! Must never hold a request back: an answer without these headers is withheld by the browser, not by us.

use http::{HeaderMap, HeaderValue, Method, Response, StatusCode, header};

use crate::reply::{self, Answer};

/// The origins that may read answers.
#[derive(Clone, Debug)]
pub(crate) enum Origins {
    /// The default: pages served from this machine, on any port.
    Loopback,
    /// Every origin (`*`).
    Any,
    /// These, compared without regard to case.
    Listed(Vec<String>),
}

impl Origins {
    pub(crate) fn new(origins: Option<&[String]>) -> Self {
        match origins {
            None => Self::Loopback,
            Some(origins) if origins.iter().any(|origin| origin == "*") => Self::Any,
            Some(origins) => Self::Listed(origins.to_vec()),
        }
    }

    /// The `Origin` of a request, where it may read the answer.
    pub(crate) fn allowed(&self, headers: &HeaderMap) -> Option<HeaderValue> {
        let origin = headers.get(header::ORIGIN)?;
        let text = origin.to_str().ok()?;
        let allowed = match self {
            Self::Any => true,
            Self::Loopback => is_loopback(text),
            Self::Listed(origins) => origins
                .iter()
                .any(|listed| listed.eq_ignore_ascii_case(text)),
        };
        allowed.then(|| origin.clone())
    }
}

/// Whether a request is a preflight: it is free, whatever it is about.
pub(crate) fn is_preflight(method: &Method, headers: &HeaderMap) -> bool {
    *method == Method::OPTIONS
        && headers.contains_key(header::ORIGIN)
        && headers.contains_key(header::ACCESS_CONTROL_REQUEST_METHOD)
}

/// The answer to a preflight.
pub(crate) fn preflight(request: &HeaderMap, allowed: Option<&HeaderValue>) -> Answer {
    let mut answer = reply::no_content();
    let headers = answer.headers_mut();
    headers.insert(
        header::VARY,
        HeaderValue::from_static("Origin, Access-Control-Request-Headers"),
    );
    if let Some(origin) = allowed {
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
        headers.insert(
            header::ACCESS_CONTROL_ALLOW_METHODS,
            HeaderValue::from_static("GET, HEAD, POST, PATCH, DELETE"),
        );
        if let Some(wanted) = request.get(header::ACCESS_CONTROL_REQUEST_HEADERS) {
            headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, wanted.clone());
        }
        headers.insert(
            header::ACCESS_CONTROL_MAX_AGE,
            HeaderValue::from_static("600"),
        );
    }
    answer
}

/// Lets the page that asked read the answer, where its origin is allowed.
pub(crate) fn allow<B>(answer: &mut Response<B>, allowed: Option<HeaderValue>) {
    if let Some(origin) = allowed {
        zonai_http::allow_origin(answer.headers_mut(), origin);
        if answer.status() != StatusCode::TOO_MANY_REQUESTS {
            // A session's token is in `X-Auth` as well.
            answer.headers_mut().insert(
                header::ACCESS_CONTROL_EXPOSE_HEADERS,
                HeaderValue::from_static(
                    "X-Auth, Retry-After, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset",
                ),
            );
        }
    } else {
        answer
            .headers_mut()
            .insert(header::VARY, HeaderValue::from_static("Origin"));
    }
}

fn is_loopback(origin: &str) -> bool {
    let Some(rest) = origin
        .strip_prefix("http://")
        .or_else(|| origin.strip_prefix("https://"))
    else {
        return false;
    };
    let host = match rest.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((host, port)) if port.is_empty() || is_port(port) => host,
        Some(_) => return false,
        None => match rest.split_once(':') {
            Some((host, port)) if port.bytes().all(|b| b.is_ascii_digit()) => host,
            Some(_) => return false,
            None => rest,
        },
    };
    host.eq_ignore_ascii_case("localhost")
        || host
            .parse()
            .is_ok_and(|ip: std::net::IpAddr| ip.is_loopback())
}

fn is_port(text: &str) -> bool {
    text.strip_prefix(':')
        .is_some_and(|port| port.bytes().all(|b| b.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::is_loopback;

    #[test]
    fn only_pages_of_this_machine_are_loopback() {
        for origin in [
            "http://localhost",
            "https://localhost:5173",
            "http://127.0.0.1:1",
            "http://[::1]:80",
        ] {
            assert!(is_loopback(origin), "{origin}");
        }
        for origin in [
            "null",
            "http://localhost.example",
            "http://127.0.0.1.example:80",
            "http://10.0.0.1",
            "ftp://localhost",
            "http://[::1]x",
        ] {
            assert!(!is_loopback(origin), "{origin}");
        }
    }
}
