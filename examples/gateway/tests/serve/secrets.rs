//! Keys by reference, end to end: the vendor gets them, nobody else does.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::common::gateway::{Gateway, command, folder};
use super::common::http::{Said, Vendor};
use super::{WHOLE, ask};

fn write(path: &Path, text: &str) {
    std::fs::write(path, text).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).unwrap();
}

fn config(vendor: &Vendor, key: &str) -> String {
    format!(
        "[store]\nkind = \"memory\"\n[[providers]]\nid = \"v1\"\nbase_url = \"http://127.0.0.1:{}/v1\"\n\
         [[providers.models]]\nid = \"m\"\n[[connections]]\nid = \"v1/a\"\n{key}\n",
        vendor.port
    )
}

fn shown(vendor: &Vendor) -> Vec<String> {
    vendor
        .heard()
        .iter()
        .map(|message| message.header("authorization").unwrap_or_default().to_owned())
        .collect()
}

/// The key of a file is sent; after a refusal the file is read again, so that a new key needs no restart.
#[test]
fn a_key_in_a_file_is_sent_and_read_again_after_a_refusal() {
    let vendor = Vendor::new(|message, _| match message.header("authorization") {
        Some("Bearer sk-second") => Said::whole(200, WHOLE),
        _ => Said::whole(
            401,
            r#"{"error":{"message":"no","type":"invalid_request_error","code":"invalid_api_key"}}"#,
        ),
    });
    let folder = folder();
    // Relative to the file that names it, not to the working folder.
    write(&folder.join("vendor.key"), "sk-second\n");
    let text = config(&vendor, "key = { file = \"vendor.key\" }");
    let gateway = Gateway::run(command(&folder, &text), folder);
    let answer = gateway.post("/v1/chat/completions", &ask("v1/m"));
    assert_eq!(answer.status(), 200, "{}", answer.text());
    assert_eq!(shown(&vendor), ["Bearer sk-second"]);
}

/// Several keys are used in turn.
#[test]
fn several_keys_are_used_in_turn() {
    let vendor = Vendor::new(|_, _| Said::whole(200, WHOLE));
    let folder = folder();
    write(&folder.join("one.key"), "sk-one\n");
    let text = config(&vendor, "keys = [{ file = \"one.key\" }, { env = \"MOCK_KEY\" }]");
    let gateway = Gateway::run(command(&folder, &text), folder);
    for _ in 0..4 {
        assert_eq!(gateway.post("/v1/chat/completions", &ask("v1/m")).status(), 200);
    }
    let mut keys = shown(&vendor);
    keys.sort();
    let (one, other) = ("Bearer sk-mock-secret-0001", "Bearer sk-one");
    assert_eq!(keys, [one, one, other, other]);
}

/// A file that others can read is refused before anything is started, and so is any other mistake.
#[test]
fn a_wrong_configuration_starts_nothing() {
    let vendor = Vendor::new(|_, _| Said::whole(200, WHOLE));
    let folder = folder();
    write(&folder.join("vendor.key"), "sk-verysecret0001\n");
    std::fs::set_permissions(folder.join("vendor.key"), std::fs::Permissions::from_mode(0o644)).unwrap();
    let text = config(&vendor, "key = { file = \"vendor.key\" }\nbilling = \"fre\"");
    let done = command(&folder, &text).output().unwrap();
    let told = String::from_utf8(done.stderr).unwrap();
    assert_eq!(done.status.code(), Some(78), "{told}");
    assert!(
        told.contains("error[C030]") && told.contains("error[C005]") && told.contains("2 errors"),
        "{told}"
    );
    assert!(!told.contains("verysecret") && !told.contains("listens"), "{told}");
}
