//! The 429, to the letter.

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Response};
use zonai_http::{DraftLimit, RefusedRequest, allow_origin, draft_headers, too_many_requests};

const ITEMS: RefusedRequest<'static> = RefusedRequest {
    max_requests: 100,
    reset_epoch_ms: 1_788_307_242_000,
    retry_after_ms: 42_000,
    collection: "items",
    operation: "create",
    custom_operation: None,
};

fn text(response: &Response<Bytes>) -> String {
    let mut out = format!("{}\n", response.status());
    for (name, value) in response.headers() {
        out += &format!("{name}: {}\n", value.to_str().unwrap());
    }
    out + "\n" + std::str::from_utf8(response.body()).unwrap()
}

#[test]
fn headers_and_body_are_in_the_order_of_the_promise() {
    assert_eq!(
        text(&too_many_requests(&ITEMS)),
        "429 Too Many Requests\n\
         retry-after: 42\n\
         x-ratelimit-limit: 100\n\
         x-ratelimit-remaining: 0\n\
         x-ratelimit-reset: 1788307242\n\
         content-type: application/json\n\
         \n\
         {\"error\":\"Rate limit exceeded\",\"collection\":\"items\",\"operation\":\"create\",\"retryAfter\":42}"
    );
}

#[test]
fn a_custom_operation_is_named_before_retry_after() {
    let refused = RefusedRequest {
        operation: "custom",
        custom_operation: Some("fill"),
        ..ITEMS
    };
    assert_eq!(
        too_many_requests(&refused).body(),
        "{\"error\":\"Rate limit exceeded\",\"collection\":\"items\",\"operation\":\"custom\",\
         \"customOperation\":\"fill\",\"retryAfter\":42}"
    );
}

#[test]
fn seconds_are_rounded_up_and_never_0() {
    for (ms, seconds) in [
        (0, "1"),
        (1, "1"),
        (300, "1"),
        (999, "1"),
        (1_000, "1"),
        (1_001, "2"),
        (59_999, "60"),
    ] {
        let response = too_many_requests(&RefusedRequest {
            retry_after_ms: ms,
            ..ITEMS
        });
        assert_eq!(response.headers()["retry-after"], seconds);
        assert!(
            response
                .body()
                .ends_with(format!("\"retryAfter\":{seconds}}}").as_bytes())
        );
    }
    for (ms, seconds) in [
        (0, "0"),
        (1, "1"),
        (1_000, "1"),
        (1_001, "2"),
        (-1, "0"),
        (-1_000, "-1"),
        (-999, "0"),
    ] {
        let response = too_many_requests(&RefusedRequest {
            reset_epoch_ms: ms,
            ..ITEMS
        });
        assert_eq!(response.headers()["x-ratelimit-reset"], seconds, "{ms}");
    }
    let extreme = RefusedRequest {
        max_requests: u32::MAX,
        reset_epoch_ms: i64::MAX,
        retry_after_ms: u64::MAX,
        ..ITEMS
    };
    assert_eq!(
        too_many_requests(&extreme).headers()["x-ratelimit-limit"],
        "4294967295"
    );
}

#[test]
fn a_name_of_any_kind_leaves_the_body_json() {
    let name = "a\"b\\c\u{1}\n\u{7f}é🦀";
    let refused = RefusedRequest {
        collection: name,
        custom_operation: Some(name),
        ..ITEMS
    };
    let body: serde_json::Value =
        serde_json::from_slice(too_many_requests(&refused).body()).unwrap();
    assert_eq!(body["collection"], name);
    assert_eq!(body["customOperation"], name);
}

#[test]
fn an_allowed_origin_may_read_the_four_headers() {
    let mut response = too_many_requests(&ITEMS);
    allow_origin(
        response.headers_mut(),
        HeaderValue::from_static("https://app.example"),
    );
    let headers: &HeaderMap = response.headers();
    assert_eq!(
        headers["access-control-allow-origin"],
        "https://app.example"
    );
    assert_eq!(headers["vary"], "Origin");
    assert_eq!(
        headers["access-control-expose-headers"],
        "Retry-After, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset"
    );
}

#[test]
fn draft_fields_are_lists_of_structured_items() {
    let second = DraftLimit {
        name: "1s",
        max_requests: 10,
        window_ms: 500,
        remaining: 0,
        reset_ms: 1,
    };
    let hour = DraftLimit {
        name: "a\"b é",
        max_requests: 500,
        window_ms: 3_600_000,
        remaining: 7,
        reset_ms: 0,
    };
    let (policy, state) = draft_headers(&[second, hour]).unwrap();
    assert_eq!(policy, r#""1s";q=10;w=1, "a\"b ?";q=500;w=3600"#);
    assert_eq!(state, r#""1s";r=0;t=1, "a\"b ?";r=7;t=0"#);
    assert_eq!(draft_headers(&[]), None);
}
