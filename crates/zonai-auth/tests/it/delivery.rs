//! Mails over SMTP: what arrives, and what happens when the mail server is difficult.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use zonai_auth::{MailKind, MailTls, Secret};

use crate::world::{GOOD, Plan, World};
use zonai_test::{Arrived, Mood};

async fn one_mail(plan: Plan) -> (World, Arrived) {
    let world = World::with(plan).await;
    world.sign_up("ada@x.org", GOOD).await.unwrap();
    world.send(MailKind::Otp, "ada@x.org").unwrap();
    let mail = world.mail().wait(1).await.remove(0);
    (world, mail)
}

#[tokio::test]
async fn a_mail_is_addressed_dated_and_in_both_forms() {
    let (_world, mail) = one_mail(Plan::default()).await;
    assert_eq!(
        (mail.from.as_str(), mail.to.as_slice()),
        ("shop@example.com", &["ada@x.org".to_owned()][..])
    );
    let header = |name| {
        mail.header(name)
            .unwrap_or_else(|| panic!("{name} in {}", mail.data))
    };
    assert_eq!(header("From"), "\"The Shop\" <shop@example.com>");
    assert_eq!(header("To"), "ada@x.org");
    assert_eq!(header("Subject"), "Your Shop code");
    assert_eq!(
        header("Date"),
        "Wed, 02 Sep 2026 00:00:00 +0000",
        "the clock of the server"
    );
    assert_eq!(header("Auto-Submitted"), "auto-generated");
    assert!(header("Message-ID").ends_with("@example.com>"));
    assert!(header("Content-Type").starts_with("multipart/alternative"));
    let code = mail.code();
    assert_eq!(mail.text().matches(&code).count(), 2, "{}", mail.text());
}

#[tokio::test]
async fn a_name_with_line_breaks_adds_no_header_and_no_recipient() {
    let app_name = "Shop\r\nBcc: eve@x.org\r\n\r\nhello";
    let (_world, mail) = one_mail(Plan {
        app_name,
        ..Plan::default()
    })
    .await;
    assert_eq!(mail.to, ["ada@x.org"]);
    assert_eq!(mail.header("Bcc"), None);
    assert!(mail.header("Message-ID").is_some(), "the head goes on");
}

#[tokio::test]
async fn the_server_is_signed_in_to() {
    let adjust = |settings: &mut zonai_auth::MailSettings| {
        settings.user = Some("shop".to_owned());
        settings.password = Some(Secret::new("s3cret"));
    };
    let (_world, mail) = one_mail(Plan {
        adjust,
        ..Plan::default()
    })
    .await;
    // `\0shop\0s3cret`
    assert_eq!(mail.signed_in.as_deref(), Some("AHNob3AAczNjcmV0"));
}

#[tokio::test]
async fn a_server_that_cannot_now_is_asked_again() {
    let (world, _) = one_mail(Plan {
        mood: Some(Mood::Late(2)),
        ..Plan::default()
    })
    .await;
    assert_eq!(world.mail().seen().senders_named, 3);
}

#[tokio::test]
async fn a_server_that_says_never_is_not_asked_again() {
    let world = World::with(Plan {
        mood: Some(Mood::Strict),
        ..Plan::default()
    })
    .await;
    world.sign_up("ada@x.org", GOOD).await.unwrap();
    world.send(MailKind::Otp, "ada@x.org").unwrap();
    assert_eq!(world.mails_in_the_end().await, 0);
    assert_eq!(world.mail().seen().senders_named, 1);
}

#[tokio::test]
async fn without_tls_where_it_is_asked_for_nothing_is_said() {
    let adjust = |settings: &mut zonai_auth::MailSettings| settings.tls = MailTls::StartTls;
    let world = World::with(Plan {
        adjust,
        ..Plan::default()
    })
    .await;
    world.sign_up("ada@x.org", GOOD).await.unwrap();
    world.send(MailKind::Otp, "ada@x.org").unwrap();
    assert_eq!(world.mails_in_the_end().await, 0);
    assert_eq!(world.mail().seen().senders_named, 0);
}

#[tokio::test]
async fn a_stop_does_not_wait_for_a_server_that_never_can() {
    let adjust = |settings: &mut zonai_auth::MailSettings| {
        settings.retry_after = vec![Duration::from_secs(3_600)];
    };
    let mood = Some(Mood::Late(usize::MAX));
    let world = World::with(Plan {
        mood,
        adjust,
        ..Plan::default()
    })
    .await;
    world.sign_up("ada@x.org", GOOD).await.unwrap();
    world.send(MailKind::Otp, "ada@x.org").unwrap();
    world.mail().wait_for(|seen| seen.senders_named == 1).await;
    let stop = world.auth.close(Duration::from_secs(3_600));
    tokio::time::timeout(Duration::from_secs(10), stop)
        .await
        .expect("the stop hangs");
}

#[tokio::test]
async fn one_slow_address_does_not_hold_up_the_others() {
    let adjust = |settings: &mut zonai_auth::MailSettings| {
        settings.retry_after = vec![Duration::from_secs(3_600)];
    };
    let world = World::with(Plan {
        mood: Some(Mood::Late(1)),
        adjust,
        ..Plan::default()
    })
    .await;
    for email in ["ada@x.org", "bob@x.org"] {
        world.sign_up(email, GOOD).await.unwrap();
    }
    world.send(MailKind::Otp, "ada@x.org").unwrap();
    world.mail().wait_for(|seen| seen.senders_named == 1).await;
    world.send(MailKind::Otp, "bob@x.org").unwrap();
    assert_eq!(world.mail().wait(1).await[0].to, ["bob@x.org"]);
}

#[tokio::test]
async fn in_development_the_link_stands_in_the_log() {
    let log = Arc::new(Mutex::new(Vec::new()));
    let writer = Arc::clone(&log);
    let subscriber = tracing_subscriber::fmt()
        .with_ansi(false)
        .with_writer(move || Log(Arc::clone(&writer)))
        .finish();
    // The tasks of the server run on this thread, as the test does.
    let _guard = tracing::subscriber::set_default(subscriber);
    let world = World::with(Plan {
        mood: None,
        dev_mail: true,
        ..Plan::default()
    })
    .await;
    world.sign_up("ada@x.org", GOOD).await.unwrap();
    world.send(MailKind::MagicLink, "ada@x.org").unwrap();
    world.auth.close(Duration::from_secs(10)).await;
    let text = String::from_utf8(log.lock().clone()).unwrap();
    let (_, rest) = text
        .split_once("https://shop.example.com/magic-link?secret=")
        .expect("a link");
    let secret: String = rest.chars().take_while(|c| !c.is_whitespace()).collect();
    let request = serde_json::json!({"type": "verifyMagicLink", "secret": secret});
    assert!(world.confirm(request).await.is_ok());
}

#[tokio::test]
async fn a_log_without_dev_mail_holds_no_address_and_no_code() {
    let log = Arc::new(Mutex::new(Vec::new()));
    let writer = Arc::clone(&log);
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_writer(move || Log(Arc::clone(&writer)))
        .finish();
    let _guard = tracing::subscriber::set_default(subscriber);
    let (world, mail) = one_mail(Plan {
        mood: Some(Mood::Late(1)),
        ..Plan::default()
    })
    .await;
    world
        .sign_in("ada@x.org", "wrong horse battery")
        .await
        .unwrap_err();
    world.auth.close(Duration::from_secs(10)).await;
    let text = String::from_utf8(log.lock().clone()).unwrap();
    assert!(text.contains("a mail could not be sent"), "{text}");
    for secret in ["ada@x.org", "horse", &mail.code()] {
        assert!(!text.contains(secret), "{secret} in {text}");
    }
}

struct Log(Arc<Mutex<Vec<u8>>>);

impl std::io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
