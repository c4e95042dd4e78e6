//! Who is measured: the vendor alone, the gateway, and other gateways that `peers.py` has put here.

use std::path::PathBuf;
use std::process::Command;
use std::rc::Rc;
use std::time::{Duration, Instant};

use super::load::{self, Load, Seen};
use super::process::Process;

/// The gateway's key in this benchmark.
const KEY: &str = "or_BENCHBENCHBENCHBENCHBENCHBENCHBENCHBENCHBEN";

/// One who answers.
#[derive(Debug)]
pub(crate) struct Side {
    pub(crate) name: String,
    pub(crate) process: Rc<Process>,
    /// It is the gateway that this is about.
    pub(crate) own: bool,
    /// It gets fewer requests, so that a run ends.
    pub(crate) slow: bool,
    /// Memory after the heaviest load, in kB.
    pub(crate) loaded: Option<u64>,
    path: String,
    headers: Vec<(String, String)>,
}

impl Side {
    /// One run: requests, and the process's CPU for each.
    pub(crate) fn run(&mut self, load: &Load, count: usize) -> Seen {
        let own = self.own;
        let named = |model: &str| match (own, model) {
            (true, "auto") => "auto".to_owned(),
            (true, other) => format!("v0/{other}"),
            (false, "auto") => "m".to_owned(),
            (false, other) => other.to_owned(),
        };
        let request = load.request(&self.path, named, &self.headers);
        let port = self.process.port;
        // Connections, memory and code are warm afterwards.
        load::run(port, &request, load.width, load.width * 2);
        let before = self.process.cpu();
        let mut seen = load::run(port, &request, load.width, count);
        let sent = count.div_ceil(load.width) * load.width;
        seen.cpu = (self.process.cpu() - before) / sent as f64;
        if load.width > 1 && self.loaded.is_none_or(|kb| kb < self.process.rss()) {
            self.loaded = Some(self.process.rss());
        }
        seen
    }
}

/// Ten providers, all of them the same vendor; state where it is by default, in a folder of its own.
fn config(vendor: u16) -> String {
    use sha2::Digest;
    let hash: String = sha2::Sha256::digest(KEY).iter().map(|byte| format!("{byte:02x}")).collect();
    let mut out =
        format!("[[gateway.keys]]\nname = \"bench\"\nhash = \"sha256:{hash}\"\nscopes = [\"chat\"]\n");
    for number in 0..10 {
        out.push_str(&format!(
            "[[providers]]\nid = \"v{number}\"\nbase_url = \"http://127.0.0.1:{vendor}/v1\"\n\
             [[providers.models]]\nid = \"m\"\ncontext = 400000\ntools = true\n\
             [[connections]]\nid = \"v{number}/a\"\nkey = {{ env = \"BENCH_KEY\" }}\n"
        ));
    }
    out
}

/// The program that is measured.
pub(crate) fn program() -> PathBuf {
    std::env::var_os("OMNIROUTE_BIN").expect("OMNIROUTE_BIN names the program, built for release").into()
}

/// The command that starts the gateway.
pub(crate) fn command(vendor: u16, name: &str) -> Command {
    let folder = std::env::temp_dir().join(format!("bench-gateway-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("omniroute.toml");
    std::fs::write(&path, config(vendor)).unwrap();
    let mut command = Command::new(program());
    command.args(["serve", "--config"]).arg(path);
    command.env("HOME", &folder).env("XDG_STATE_HOME", &folder).env("BENCH_KEY", "sk-bench");
    command
}

/// Headers of the gateway's requests.
pub(crate) fn headers() -> Vec<(String, String)> {
    vec![("authorization".to_owned(), format!("Bearer {KEY}"))]
}

/// Everybody who is here.
pub(crate) fn sides(vendor: &Rc<Process>) -> Vec<Side> {
    let path = "/v1/chat/completions".to_owned();
    let headers = headers();
    let side = |name: &str, process, own| Side {
        name: name.to_owned(),
        process,
        own,
        slow: false,
        loaded: None,
        path: path.clone(),
        headers: headers.clone(),
    };
    let gateway = Process::gateway(&mut command(vendor.port, "load"));
    let mut sides = vec![side("direct", Rc::clone(vendor), false), side("omniroute", Rc::new(gateway), true)];
    sides.extend(peers(vendor.port));
    sides
}

/// Other gateways, as the file of `peers.py` says they are started and asked.
fn peers(vendor: u16) -> Vec<Side> {
    let Some(file) = std::env::var_os("OMNIROUTE_BENCH_PEERS") else { return Vec::new() };
    let text = std::fs::read_to_string(file).unwrap().replace("{vendor}", &vendor.to_string());
    let told: Vec<serde_json::Value> = serde_json::from_str(&text).unwrap();
    told.iter().filter_map(peer).collect()
}

fn peer(told: &serde_json::Value) -> Option<Side> {
    let name = told["name"].as_str()?;
    let port = std::net::TcpListener::bind("127.0.0.1:0").ok()?.local_addr().ok()?.port();
    let words: Vec<String> = told["command"]
        .as_array()?
        .iter()
        .filter_map(|w| Some(w.as_str()?.replace("{port}", &port.to_string())))
        .collect();
    let (program, words) = words.split_first()?;
    if let (Some(path), Some(text)) = (told["file"].as_str(), told["text"].as_str()) {
        std::fs::write(path, text).unwrap();
    }
    let mut process = Process::other(Command::new(program).args(words), port).ok()?;
    let begun = Instant::now();
    while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
        if !process.lives() || begun.elapsed() > Duration::from_secs(180) {
            println!("{name} did not start and is left out\n");
            return None;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    let headers = told["headers"].as_object()?;
    let headers =
        headers.iter().map(|(name, value)| (name.clone(), value.as_str().unwrap_or_default().to_owned()));
    Some(Side {
        name: name.to_owned(),
        process: Rc::new(process),
        own: false,
        slow: true,
        loaded: None,
        path: told["path"].as_str()?.to_owned(),
        headers: headers.collect(),
    })
}

/// The members of a body of 502 kB beside its model: a session of 150,000 tokens.
pub(crate) fn session() -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../../omniroute-compress/benches/data/session-150k.json");
    let body = std::fs::read_to_string(path).unwrap();
    let members = body.trim().strip_prefix("{\"model\":\"demo\",").and_then(|rest| rest.strip_suffix('}'));
    members.unwrap().to_owned()
}
