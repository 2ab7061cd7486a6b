//! Which of several places decides, and what the settings are.

use std::net::SocketAddr;
use std::time::Duration;

use zonai::{App, AuthMethod, Listen, Settings};

use crate::run::Folder;

const SECRETS: &str = "JWT_SECRET=0123456789abcdef0123456789abcdef\nPASSWORD_SECRET=fedcba9876543210fedcba9876543210\nSMTP_PASSWORD=hush\n";

fn tcp(settings: &Settings) -> Vec<SocketAddr> {
    let tcp = settings.listen.iter().map(|listen| match listen {
        Listen::Tcp(address) => *address,
        other => panic!("{other:?}"),
    });
    tcp.collect()
}

fn project(file: &str, env: &str) -> (Folder, App) {
    let folder = Folder::with(file);
    folder.write(".env", &format!("{SECRETS}{env}"));
    let app = App::open(folder.path()).unwrap();
    (folder, app)
}

#[test]
fn an_empty_file_is_a_server_for_this_machine() {
    let (folder, app) = project("", "");
    let settings = app.settings().unwrap();
    assert_eq!(tcp(&settings)[0], "127.0.0.1:8080".parse().unwrap());
    assert!(
        tcp(&settings)
            .iter()
            .all(|address| address.ip().is_loopback())
    );
    assert_eq!(
        settings.paths.schemas,
        folder.path().join("lib/src/schemas")
    );
    assert_eq!(settings.paths.data, folder.path().join(".zonai/data"));
    assert_eq!(settings.app.jwt_expires_in, Duration::from_secs(86_400));
    assert_eq!(settings.app.base_url, "http://localhost:8080");
    assert_eq!(settings.app.cors_origins, None);
    assert_eq!(
        (
            settings.rate_limit.max_counters,
            settings.rate_limit.ipv6_prefix.bits()
        ),
        (1_000_000, 64)
    );
}

#[test]
fn code_beats_environment_beats_file() {
    let file = "host: 127.0.0.2\nport: 1\ndataPath: file\n";
    let (folder, app) = project(file, "");
    let settings = app.settings().unwrap();
    assert_eq!(
        (tcp(&settings), settings.paths.data),
        (
            vec!["127.0.0.2:1".parse().unwrap()],
            folder.path().join("file")
        )
    );

    let env = "ZONAI_PORT=2\nZONAI_DATA_PATH=/var/lib/zonai\n";
    let (_folder, app) = project(file, env);
    let settings = app.settings().unwrap();
    assert_eq!(
        (tcp(&settings), settings.paths.data),
        (
            vec!["127.0.0.2:2".parse().unwrap()],
            "/var/lib/zonai".into()
        )
    );

    let (folder, app) = project(file, env);
    let settings = app.port(3).data_path("code").settings().unwrap();
    assert_eq!(
        (tcp(&settings), settings.paths.data),
        (
            vec!["127.0.0.2:3".parse().unwrap()],
            folder.path().join("code")
        )
    );
}

#[test]
fn host_and_port_take_the_place_of_listen() {
    let file = "listen: [\"127.0.0.3:1\", \"127.0.0.4:2\"]\n";
    let (_folder, app) = project(file, "");
    assert_eq!(tcp(&app.settings().unwrap()).len(), 2);
    let (_folder, app) = project(file, "ZONAI_HOST=127.0.0.5\n");
    assert_eq!(
        tcp(&app.settings().unwrap()),
        ["127.0.0.5:8080".parse().unwrap()]
    );
    let (_folder, app) = project(file, "ZONAI_HOST=127.0.0.5\n");
    assert_eq!(
        tcp(&app.port(9).settings().unwrap()),
        ["127.0.0.5:9".parse().unwrap()]
    );
    let (_folder, app) = project(
        "host: 127.0.0.6\n",
        "ZONAI_LISTEN=127.0.0.7:1, 127.0.0.8:2\n",
    );
    assert_eq!(
        tcp(&app.settings().unwrap()),
        [
            "127.0.0.7:1".parse().unwrap(),
            "127.0.0.8:2".parse().unwrap()
        ]
    );
}

#[test]
fn every_key_reaches_the_settings() {
    let (folder, app) = project(include_str!("every_key.yaml"), "");
    let settings = app
        .table(
            "staff",
            zonai::TableSettings {
                admin: true,
                ..Default::default()
            },
        )
        .settings()
        .unwrap();
    let all = (
        &settings.listen,
        &settings.rate_limit,
        &settings.app,
        &settings.bounds,
    );
    let folder = folder.path().display().to_string();
    insta::with_settings!({filters => vec![(folder.as_str(), "[project]")]}, {
        insta::assert_debug_snapshot!(all);
    });
}

#[test]
fn tables_have_their_settings() {
    let file = "app: {tables: {users: {auth: [password, magicLink], idSuffix: us}, staff: {admin: true}, notes: }}\n";
    let (_folder, app) = project(file, "");
    let tables = app.settings().unwrap().app.tables;
    assert_eq!(
        tables["users"].auth,
        [AuthMethod::Password, AuthMethod::MagicLink]
    );
    assert_eq!(tables["users"].id_suffix.as_deref(), Some("us"));
    assert_eq!(
        (tables["staff"].admin, &tables["staff"].auth[..]),
        (true, &[AuthMethod::Password][..])
    );
    assert_eq!(tables["notes"], zonai::TableSettings::default());
}

#[test]
fn a_wrong_setting_in_code_is_told_when_it_is_needed() {
    for (set, words) in [
        ((|app| app.host("example.org")) as fn(App) -> App, "`host`"),
        (|app| app.base_url("example.org"), "`baseUrl`"),
        (|app| app.cors_origins(["https://a.example/x"]), "origin"),
        (|app| app.jwt_expires_in(Duration::ZERO), "jwt_expires_in"),
        (|app| app.max_counters(1), "max_counters"),
        (|app| app.listen([]), "listen"),
    ] {
        let (_folder, app) = project("", "");
        let error = set(app).port(1).settings().unwrap_err();
        assert!(error.to_string().contains(words), "{error}");
        assert_eq!(error.exit_code(), 2);
    }
}
