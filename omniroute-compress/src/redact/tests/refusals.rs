//! What must never be taken for a secret.

use std::path::{Path, PathBuf};

use super::super::{redact, redact_counted};

/// Real output of common tools, captured for this purpose.
const OUTPUT: &str = include_str!("negative.txt");

const LINES: &[&str] = &[
    "commit 3f786850e387550fdab836ed7e6dc881de23001b",
    "index 89e6c98..a1b2c3d 100644",
    "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "\"integrity\": \"sha512-z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg/SpIdNs6c5H0NE8XYXysP+DGNKHfuwvY7kxvUdBeoGlODJ6+SfaPg==\"",
    "123e4567-e89b-12d3-a456-426614174000",
    "nginx@sha256:0d17b565c37bcbd895e9d92315a05c1c3c9a29f762b011a10c54a66cd53c9b31",
    "0000000 4865 6c6c 6f20 776f 726c 6420 6b65 793d",
    "1234 tokens used, 567 tokens left, tokens: 1234, max_tokens=4096, token_count: 99",
    "Tokens: input 12,345 output 678",
    "key: value",
    "key: some_value_1",
    "\"key\": \"user:42\"",
    "primary_key=True, foreign_key=users.id42",
    "password: must be at least 8 characters, 1 digit",
    "password: string;",
    "password?: string2;",
    "password: Option<String>,",
    "password = getpass.getpass()",
    "password=password, token=token",
    "password = os.environ['DB_PASSWORD']",
    "const token = tokens[0];",
    "let token = self.next_token2();",
    "secret: secretKeyRef",
    "secretName: my-tls-secret-1",
    "api_key = \"YOUR_API_KEY\"",
    "api_key = \"<your key here>\"",
    "api_key: ${API_KEY}",
    "API_KEY=$API_KEY_2",
    "API_KEY={{ secrets.API_KEY_2 }}",
    "PASSWORD=changeme123",
    "AWS_ACCESS_KEY_ID=AKIAIOSFODNN7EXAMPLE",
    "PWD=/home/user2/project",
    "SSH_KEY=/home/user2/.ssh/id_ed25519",
    "private: true",
    "\"private\": true,",
    "token_type: bearer2",
    "unexpected token: foo123",
    "error: unexpected token `abc123`",
    "keyboard: layout42",
    "monkey=banana42",
    "cache-key: Linux-node-20-3f786850e387550fdab836ed7e6dc881de23001b",
    "key = 3f786850e387550fdab836ed7e6dc881de23001b",
    "public_key: AAAAB3NzaC1yc2EAAAADAQABAAABgQ",
    "Authorization: Bearer <token>",
    "Authorization: Bearer TOKEN",
    "Authorization: Bearer $TOKEN",
    "authorization.k8s.io/v1",
    "--password PASSWORD   the password",
    "--token string        bearer token for authentication",
    "--api-key API_KEY_1",
    "mysql -p shop",
    "curl -u user http://h/",
    "docker run -p 8080:8080 mysql -p",
    "sk-fading-circle1 sk-loading-spinner-container-large2",
    "task-force-2024-planning-and-more-words",
    "git@github.com:owner/repo.git",
    "https://host:8080/path@2",
    "http://user@host/",
    "https://example.com/?page=2&key=name&sort=asc",
    "https://example.com/?key=1712345678",
    "postgres://user:password@localhost/db",
    "postgres://user:${PASSWORD}@localhost/db",
    "-----BEGIN CERTIFICATE-----",
    "-----BEGIN PUBLIC KEY-----\nMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE\n-----END PUBLIC KEY-----",
    "a PEM file begins with -----BEGIN PRIVATE KEY----- and ends with -----END PRIVATE KEY-----",
    "kind: ConfigMap\ndata:\n  color: Ymx1ZQ==",
    "kind: Deployment\nspec:\n  token: 5",
    "cookie: chocolate",
    "Set-Cookie: a=1; Path=/",
    "password input1 is wrong",
    "  password field2",
    "token = \"#d8dee9\"",
    "pub const TOKEN_WRITE: TOKEN_ACCESS_MASK = 131296u32;",
    "pub password: windows_sys::core::PCWSTR,",
    "+QUtJQUlPU0ZPRE5ON0VYQU1QTEVRVUtJQUlPU0ZPRE5ON0VYQU1QTEU=",
    "-iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk",
    "ghp_short npm_config_registry hf_hub_download glpat-xxxxxxxxxxxxxxxxxxxx",
    "AKIAXXXXXXXXXXXXXXXX AIza...",
    "eyJhbGciOi.eyJ.x",
    "12:AAB 12:34:56 10:AA",
    "export ANTHROPIC_API_KEY=sk-ant-...",
];

#[test]
fn lines_that_look_alike_stay() {
    for line in LINES {
        assert_eq!(redact(line), *line);
    }
}

#[test]
fn real_output_stays() {
    assert!(OUTPUT.len() >= 60_000, "{} bytes", OUTPUT.len());
    let out = redact_counted(OUTPUT);
    assert_eq!(out.counts.len(), 0, "{:?}\n{}", out.counts, places(&out.text));
}

/// Outputs that print made-up secrets, seen by eye, and how many.
const PRINTED: [(&str, u32); 2] = [("env.txt", 3), ("curl-v.txt", 3)];

#[test]
fn the_corpus_stays() {
    let Some(root) = std::env::var_os("OMNIROUTE_DATA").map(|root| Path::new(&root).join("rtk-corpus"))
    else {
        println!("skipped: OMNIROUTE_DATA is not set");
        return;
    };
    let mut bytes = 0;
    for path in texts(&root) {
        let Ok(text) = String::from_utf8(std::fs::read(&path).unwrap()) else { continue };
        let name = path.file_name().unwrap().to_str().unwrap();
        let expected = PRINTED.iter().find(|(known, _)| *known == name).map_or(0, |(_, count)| *count);
        let out = redact_counted(&text);
        assert_eq!(
            out.counts.values().sum::<u32>(),
            expected,
            "{name}: {:?}\n{}",
            out.counts,
            places(&out.text)
        );
        bytes += text.len();
    }
    assert!(bytes > 1_000_000, "{bytes} bytes");
}

fn texts(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(texts(&path));
        } else if path.extension().is_some_and(|e| e == "txt") {
            found.push(path);
        }
    }
    found.sort();
    found
}

fn places(text: &str) -> String {
    text.lines().filter(|line| line.contains("[REDACTED:")).collect::<Vec<_>>().join("\n")
}
