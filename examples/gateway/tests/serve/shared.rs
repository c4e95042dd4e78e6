//! Two gateways on one Redis: what one of them learns, holds or uses up counts for the other.

use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::json;
use sha2::{Digest, Sha256};

use super::common::gateway::{Gateway, folder};
use super::common::http::{Message, Said, Vendor, pause};
use super::{WHOLE, ask, config, willing};

/// A server of our own on a free port.
struct Redis {
    child: Child,
    port: u16,
    folder: std::path::PathBuf,
}

impl Redis {
    /// None: this machine has no redis-server; in CI that is a failure.
    fn start() -> Option<Redis> {
        let folder = folder();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let mut command = Command::new("redis-server");
        command.args(["--bind", "127.0.0.1", "--port", &port.to_string(), "--save", ""]);
        command.args(["--appendonly", "yes", "--appendfsync", "always", "--dir"]).arg(&folder);
        let Ok(child) = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn() else {
            assert!(std::env::var_os("CI").is_none(), "there is no redis-server");
            eprintln!("skipped: 1 test of two gateways, there is no redis-server");
            return None;
        };
        let server = Redis { child, port, folder };
        for _ in 0..500 {
            if std::net::TcpStream::connect(("127.0.0.1", port)).is_ok() {
                return Some(server);
            }
            pause(Duration::from_millis(10));
        }
        panic!("redis-server does not answer")
    }

    fn store(&self) -> String {
        format!("[store]\nkind = \"redis\"\nurl = \"redis://127.0.0.1:{}\"\ndurable = true\n", self.port)
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn served(answer: &Message) -> String {
    assert_eq!(answer.status(), 200, "{}", answer.text());
    let decision = answer.header("x-omniroute-decision").unwrap();
    decision.split("provider=").nth(1).unwrap().split(';').next().unwrap().to_owned()
}

fn key(name: &str) -> String {
    let hash: String =
        Sha256::digest(format!("or_{name}")).iter().map(|byte| format!("{byte:02x}")).collect();
    format!(
        "[[gateway.keys]]\nname = \"{name}\"\nhash = \"sha256:{hash}\"\n\
         scopes = [\"chat\", \"read:*\", \"lease:exclusive\"]\nconnections = [\"v1/a\", \"v2/a\"]\n"
    )
}

const CHAT: &str = "/v1/chat/completions";

#[test]
fn what_one_is_told_to_wait_for_the_other_does_not_ask() {
    let Some(redis) = Redis::start() else { return };
    let limited = Vendor::new(|_, _| {
        let mut said = Said::whole(429, r#"{"error":{"message":"slow down","type":"rate_limit_error"}}"#);
        said.headers.push(("retry-after", "600".to_owned()));
        said
    });
    let other = willing();
    let config = config(&[&limited, &other]) + &redis.store();
    let (a, b) = (Gateway::start(&config), Gateway::start(&config));
    assert_eq!(served(&a.post(CHAT, &ask("daily"))), "v2");
    assert_eq!(limited.heard().len(), 1);
    // What one has written the others look at again after a quarter of a second at the latest (`mirror_max_age`).
    pause(Duration::from_secs(1));
    assert_eq!(served(&b.post(CHAT, &ask("daily"))), "v2");
    assert_eq!(limited.heard().len(), 1, "the other gateway asks in vain");
}

#[test]
fn one_breaker_for_both() {
    let Some(redis) = Redis::start() else { return };
    let broken =
        Vendor::new(|_, _| Said::whole(503, r#"{"error":{"message":"down","type":"server_error"}}"#));
    let other = willing();
    let breaker = "[resilience.classes.api_key]\ndegraded_at = 1\nopens_at = 2\nreset = \"10m\"\n";
    let second = "[[connections]]\nid = \"v1/b\"\nkey = { env = \"MOCK_KEY\" }\n";
    let config = config(&[&broken, &other]) + second + breaker + &redis.store();
    let (a, b) = (Gateway::start(&config), Gateway::start(&config));
    for _ in 0..50 {
        assert_eq!(served(&a.post(CHAT, &ask("daily"))), "v2");
        if broken.heard().len() >= 2 {
            break;
        }
        pause(Duration::from_millis(200));
    }
    let open = |gateway: &Gateway| {
        let health = gateway.get("/api/monitoring/health").json();
        health.to_string().to_lowercase().contains("\"open\"")
    };
    for _ in 0..50 {
        if open(&b) {
            break;
        }
        pause(Duration::from_millis(100));
    }
    assert!(open(&a) && open(&b), "{}", b.get("/api/monitoring/health").text());
    let before = broken.heard().len();
    for _ in 0..5 {
        assert_eq!(served(&b.post(CHAT, &ask("daily"))), "v2");
    }
    assert_eq!(broken.heard().len(), before, "an open breaker lets nobody through, whoever opened it");
}

#[test]
fn one_lease_for_both() {
    let Some(redis) = Redis::start() else { return };
    let (one, two) = (willing(), willing());
    let config = config(&[&one, &two]) + &key("one") + &key("two") + &redis.store();
    let (a, b) = (Gateway::start(&config), Gateway::start(&config));
    let lease = |gateway: &Gateway, key: &str, letter: &str, body: serde_json::Value| {
        let (bearer, owner) = (format!("Bearer or_{key}"), format!("vlo_{}", letter.repeat(43)));
        let headers = [("authorization", bearer.as_str()), ("x-omniroute-lease-owner", owner.as_str())];
        gateway.post_with("/api/v1/session-leases", &headers, &body)
    };
    let acquire = json!({ "action": "acquire", "model": "v1/m", "ttl_ms": 60_000 });
    let got = lease(&a, "one", "A", acquire.clone());
    assert_eq!(got.json()["state"], "ACTIVE", "{}", got.text());
    let generation = got.json()["generation"].as_u64().unwrap();
    assert_eq!(lease(&b, "two", "E", acquire.clone()).status(), 429, "held at the other gateway");
    // The owner may go on anywhere; a stale claim and a stranger may not.
    let under = |gateway: &Gateway, generation: u64| {
        let (owner, generation) = (format!("vlo_{}", "A".repeat(43)), generation.to_string());
        let headers = [
            ("authorization", "Bearer or_one"),
            ("x-omniroute-lease-owner", owner.as_str()),
            ("x-omniroute-lease-generation", generation.as_str()),
        ];
        gateway.post_with(CHAT, &headers, &ask("v1/m")).status()
    };
    assert_eq!((under(&b, generation), under(&a, generation)), (200, 200));
    assert_ne!(under(&b, generation + 1), 200);
    assert_ne!(b.post_with(CHAT, &[("authorization", "Bearer or_two")], &ask("v1/m")).status(), 200);
    assert_eq!(lease(&b, "one", "A", json!({ "action": "release", "generation": generation })).status(), 200);
    let again = lease(&a, "two", "E", acquire);
    assert_eq!(again.json()["state"], "ACTIVE", "{}", again.text());
    assert_ne!(under(&b, generation), 200, "who has given it back holds it nowhere");
}

#[test]
fn one_limit_of_running_calls_for_both() {
    let Some(redis) = Redis::start() else { return };
    let slow = Vendor::new(|_, _| {
        let mut said = Said::whole(200, WHOLE);
        said.pieces[0].0 = Duration::from_secs(3);
        said
    });
    let other = willing();
    let one = "key = { env = \"MOCK_KEY\" }\n";
    let limited = config(&[&slow, &other]).replacen(one, &format!("{one}max_concurrent = 1\n"), 1);
    let config = limited + &redis.store();
    let (a, b) = (Gateway::start(&config), Gateway::start(&config));
    std::thread::scope(|scope| {
        let first = scope.spawn(|| served(&a.post(CHAT, &ask("daily"))));
        while slow.heard().is_empty() {
            pause(Duration::from_millis(10));
        }
        assert_eq!(
            served(&b.post(CHAT, &ask("daily"))),
            "v2",
            "the only place is taken at the other gateway"
        );
        assert_eq!(slow.heard().len(), 1);
        assert_eq!(first.join().unwrap(), "v1");
    });
    assert_eq!(served(&b.post(CHAT, &ask("daily"))), "v1", "and free again");
}

/// A server that is not there is no reason not to answer; it is said at once, without the password.
#[test]
fn a_store_that_is_not_there_is_told_and_answers_go_on() {
    use std::io::{BufRead, BufReader};
    let vendor = willing();
    let folder = folder();
    // A port that was free a moment ago.
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let store = format!("[store]\nkind = \"redis\"\nurl = \"redis://me:hunter22@127.0.0.1:{port}\"\n");
    let mut command = super::common::gateway::command(&folder, &format!("{}{store}", config(&[&vendor])));
    command.args(["--listen", "127.0.0.1:0"]).env("MOCK_KEY", "sk-mock-secret-0001").stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut told = String::new();
    for line in BufReader::new(child.stderr.take().unwrap()).lines() {
        told.push_str(&line.unwrap());
        told.push('\n');
        if told.contains("agents: ") {
            break;
        }
    }
    let _ = (child.kill(), child.wait());
    assert!(told.contains("the store does not answer: until it does,"), "{told}");
    assert!(!told.contains("hunter22"), "{told}");
    let gateway = Gateway::run(
        super::common::gateway::command(&folder, &format!("{}{store}", config(&[&vendor]))),
        folder,
    );
    assert_eq!(gateway.post("/v1/chat/completions", &ask("daily")).status(), 200);
    assert_eq!(gateway.get("/api/monitoring/health").json()["store"]["ok"], false);
    // With a store that answers nothing is said of it.
    let well = Gateway::start(&config(&[&vendor]));
    assert_eq!(well.get("/api/monitoring/health").json()["store"]["ok"], true);
}
