//! The limiter as a tower layer.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use tower::{Service, ServiceBuilder, ServiceExt, service_fn};
use zonai_clock::{Clock, Hand};
use zonai_http::{RateLimitLayer, Target};
use zonai_limit::{
    Accounts, Bucket, Client, Counters, CustomNames, Known, KnownTable, Limiter, Operation,
    RateLimitPolicy, Registration, TableRateLimits,
};

/// `create`: 2 a minute, answered at once. `update`: 1 a minute, answered after a wait. Others: none.
struct Uploads;

impl TableRateLimits for Uploads {
    const TABLE: &'static str = "uploads";

    async fn create_policy(&self) -> Option<RateLimitPolicy> {
        Some(RateLimitPolicy::per_minute(2))
    }

    async fn update_policy(&self) -> Option<RateLimitPolicy> {
        tokio::task::yield_now().await;
        Some(RateLimitPolicy::per_minute(1))
    }
}

struct Setup {
    limiter: Arc<Limiter>,
    clock: Clock,
    hand: Hand,
    served: Arc<AtomicUsize>,
}

impl Setup {
    fn new(registrations: Vec<Registration>) -> Self {
        let uploads = KnownTable {
            name: "uploads".into(),
            accounts: Accounts::None,
            custom: CustomNames::Registered(vec![]),
        };
        let known = Known {
            tables: vec![uploads],
        };
        let (limiter, _) =
            Limiter::new(Arc::new(Counters::new(1_000)), known, registrations, vec![]).unwrap();
        let (clock, hand) = Clock::manual();
        Self {
            limiter: Arc::new(limiter),
            clock,
            hand,
            served: Arc::default(),
        }
    }

    /// Sends one request; its path is the operation, and `free` is not limited.
    async fn send(&self, path: &str) -> (StatusCode, String) {
        let bucket = Bucket::Table(self.limiter.table("uploads").unwrap());
        let target = move |request: &Request<String>| {
            let operation = match request.uri().path() {
                "/create" => Operation::Create,
                "/update" => Operation::Update,
                _ => return None,
            };
            Some(Target::new(Client::Local, bucket, operation))
        };
        let served = Arc::clone(&self.served);
        let mut service = ServiceBuilder::new()
            .layer(RateLimitLayer::new(
                Arc::clone(&self.limiter),
                self.clock.clone(),
                target,
            ))
            .service(service_fn(move |request: Request<String>| {
                let served = Arc::clone(&served);
                async move {
                    served.fetch_add(1, Ordering::Relaxed);
                    Ok::<_, Infallible>(Response::new(Full::<Bytes>::from(request.into_body())))
                }
            }));
        let request = Request::get(format!("http://host/{path}"))
            .body("served".to_owned())
            .unwrap();
        let response = service.ready().await.unwrap().call(request).await.unwrap();
        let status = response.status();
        let body = response.into_body().collect().await.unwrap().to_bytes();
        (status, String::from_utf8(body.to_vec()).unwrap())
    }
}

const SERVED: StatusCode = StatusCode::OK;

#[tokio::test]
async fn a_guarded_service_is_called_only_for_what_was_admitted() {
    let setup = Setup::new(vec![Registration::table(Uploads)]);
    for _ in 0..2 {
        assert_eq!(setup.send("create").await, (SERVED, "served".to_owned()));
    }
    let body = r#"{"error":"Rate limit exceeded","collection":"uploads","operation":"create","retryAfter":60}"#;
    assert_eq!(
        setup.send("create").await,
        (StatusCode::TOO_MANY_REQUESTS, body.to_owned())
    );
    assert_eq!(setup.served.load(Ordering::Relaxed), 2);
    setup.hand.advance_ms(59_999);
    assert_eq!(setup.send("create").await.0, StatusCode::TOO_MANY_REQUESTS);
    setup.hand.advance_ms(1);
    assert_eq!(setup.send("create").await.0, SERVED);
}

#[tokio::test]
async fn a_policy_that_does_work_is_awaited() {
    let setup = Setup::new(vec![Registration::table(Uploads)]);
    assert_eq!(setup.send("update").await, (SERVED, "served".to_owned()));
    assert_eq!(setup.send("update").await.0, StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(setup.served.load(Ordering::Relaxed), 1);
}

/// `create`: 1 a minute, decided on after a wait of ten seconds.
struct Slow(Hand);

impl TableRateLimits for Slow {
    const TABLE: &'static str = "uploads";

    async fn create_policy(&self) -> Option<RateLimitPolicy> {
        tokio::task::yield_now().await;
        self.0.advance_ms(10_000);
        Some(RateLimitPolicy::per_minute(1))
    }
}

/// promises 4.1
#[tokio::test]
async fn a_refusal_after_a_wait_names_the_time_that_is_left() {
    let (clock, hand) = Clock::manual();
    let mut setup = Setup::new(vec![Registration::table(Slow(hand.clone()))]);
    (setup.clock, setup.hand) = (clock, hand);
    assert_eq!(setup.send("create").await.0, SERVED);
    let (status, body) = setup.send("create").await;
    assert_eq!(status, StatusCode::TOO_MANY_REQUESTS);
    assert!(body.contains("\"retryAfter\":40"), "{body}");
}

#[tokio::test]
async fn a_request_without_a_target_is_free() {
    let setup = Setup::new(vec![Registration::table(Uploads)]);
    for _ in 0..150 {
        assert_eq!(setup.send("free").await.0, SERVED);
    }
}

#[tokio::test]
async fn two_registrations_fail_every_check() {
    let setup = Setup::new(vec![
        Registration::table(Uploads),
        Registration::table(Uploads),
    ]);
    let body = r#"{"error":"Table rate limits already registered for uploads"}"#;
    assert_eq!(
        setup.send("create").await,
        (StatusCode::INTERNAL_SERVER_ERROR, body.to_owned())
    );
    assert_eq!(setup.served.load(Ordering::Relaxed), 0);
}
