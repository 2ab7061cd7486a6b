//! Where secrets come from, where they are made, and where they are never made.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use zonai::App;

use crate::run::Folder;

const A: &str = "0123456789abcdef0123456789abcdef";
const B: &str = "fedcba9876543210fedcba9876543210";

fn mode(folder: &Folder, name: &str) -> u32 {
    fs::metadata(folder.path().join(name))
        .unwrap()
        .permissions()
        .mode()
        & 0o777
}

#[test]
fn on_loopback_they_are_made_once_and_only_for_the_owner() {
    let folder = Folder::with("");
    let first = App::open(folder.path()).unwrap().settings().unwrap();
    assert_eq!(mode(&folder, ".zonai/secrets.env"), 0o600);
    assert_eq!(folder.read(".zonai/.gitignore"), "*\n");
    assert_eq!(
        fs::read_dir(folder.path().join(".zonai")).unwrap().count(),
        2,
        "nothing is left beside them"
    );
    assert!(!folder.path().join(".zonai/data").exists());
    let again = App::open(folder.path()).unwrap().settings().unwrap();
    assert_eq!(first.secrets.jwt().expose(), again.secrets.jwt().expose());
    assert_eq!(
        first.secrets.password().expose(),
        again.secrets.password().expose()
    );
}

#[test]
fn where_others_reach_the_server_missing_secrets_are_an_error() {
    for text in [
        "host: 0.0.0.0\n",
        "host: \"::\"\n",
        "listen: [\"127.0.0.1:8080\", \"192.0.2.1:80\"]\n",
        "listen: [unix:/run/zonai.sock]\n",
        "app: {trustedProxy: {headers: [X-Forwarded-For]}}\n",
    ] {
        let folder = Folder::with(text);
        let error = App::open(folder.path()).unwrap().settings().unwrap_err();
        assert_eq!(error.exit_code(), 2);
        assert!(
            error
                .to_string()
                .contains("JWT_SECRET and PASSWORD_SECRET are not set"),
            "{text}: {error}"
        );
        assert!(!folder.path().join(".zonai").exists(), "{text}");
        let check = folder.zonai(&["check"]);
        assert_eq!(check.code, 2, "{text}");
        assert!(check.out.contains("JWT_SECRET"), "{}", check.out);
        let good = folder.zonai_with(&["check"], &[("JWT_SECRET", A), ("PASSWORD_SECRET", B)]);
        assert_eq!(good.code, 0, "{text}: {}", good.out);
    }
}

#[test]
fn a_flag_that_opens_the_server_counts_too() {
    let folder = Folder::with("");
    let error = App::open(folder.path())
        .unwrap()
        .host("0.0.0.0")
        .settings()
        .unwrap_err();
    assert!(
        error
            .to_string()
            .contains("0.0.0.0:8080 is not a loopback address"),
        "{error}"
    );
}

#[test]
fn secrets_made_for_this_machine_are_not_used_for_others() {
    let folder = Folder::with("");
    App::open(folder.path()).unwrap().settings().unwrap();
    let error = App::open(folder.path())
        .unwrap()
        .host("0.0.0.0")
        .settings()
        .unwrap_err();
    assert!(error.to_string().contains("for local use only"), "{error}");
}

#[test]
fn they_are_not_made_inside_of_the_data_folder() {
    let folder = Folder::with("dataPath: .zonai\n");
    let error = App::open(folder.path()).unwrap().settings().unwrap_err();
    assert!(error.to_string().contains("dataPath"), "{error}");
    assert!(!folder.path().join(".zonai").exists());
}

#[test]
fn env_is_read_and_the_environment_wins() {
    let folder = Folder::with("");
    folder.write(
        ".env",
        &format!("JWT_SECRET={A}\nPASSWORD_SECRET='{B}'\nZONAI_PORT=4000\n"),
    );
    let settings = App::open(folder.path()).unwrap().settings().unwrap();
    assert_eq!(
        (
            settings.secrets.jwt().expose(),
            settings.secrets.password().expose()
        ),
        (A, B)
    );
    assert!(!folder.path().join(".zonai").exists());
    for (variables, words) in [
        (
            &[("JWT_SECRET", "short")][..],
            "JWT_SECRET has 5 characters",
        ),
        (
            &[("JWT_SECRET", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa")][..],
            "distinct",
        ),
        (&[("JWT_SECRET", B)][..], "are equal"),
        (
            &[("PREVIOUS_JWT_SECRETS", "x,y")][..],
            "PREVIOUS_JWT_SECRETS",
        ),
    ] {
        let outcome = folder.zonai_with(&["check"], variables);
        assert_eq!(outcome.code, 2, "{variables:?}");
        assert!(
            outcome.out.contains(words),
            "{variables:?}: {}",
            outcome.out
        );
    }
    // A variable that is set but empty is not set.
    assert_eq!(folder.zonai_with(&["check"], &[("JWT_SECRET", "")]).code, 0);
}

#[test]
fn secrets_are_not_shown_by_debug() {
    let folder = Folder::with("");
    folder.write(".env", &format!("JWT_SECRET={A}\nPASSWORD_SECRET={B}\n"));
    let app = App::open(folder.path()).unwrap();
    let shown = format!("{app:?}");
    let shown = format!("{shown}{:?}", app.settings().unwrap());
    assert!(!shown.contains(A) && !shown.contains(B));
}
