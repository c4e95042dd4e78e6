//! A gateway of its own for a test, on a free port.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use super::http::{Message, call};

/// A running gateway.
#[derive(Debug)]
pub(crate) struct Gateway {
    child: Child,
    pub(crate) port: u16,
    pub(crate) folder: PathBuf,
}

static NUMBER: AtomicU32 = AtomicU32::new(0);

/// A new folder.
pub(crate) fn folder() -> PathBuf {
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let folder = super::scratch().join(format!("gateway-{}-{number}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// The command, with a configuration in a folder of its own.
pub(crate) fn command(folder: &std::path::Path, config: &str) -> Command {
    let path = folder.join("omniroute.toml");
    std::fs::write(&path, config).unwrap();
    let mut command = super::program();
    command.args(["serve", "--config"]).arg(path).env("HOME", folder);
    command
}

impl Gateway {
    /// Starts one; its state is kept in memory unless the configuration says otherwise.
    pub(crate) fn start(config: &str) -> Gateway {
        let folder = folder();
        let store = if config.contains("[store]") { "" } else { "[store]\nkind = \"memory\"\n" };
        Gateway::run(command(&folder, &format!("{config}\n{store}")), folder)
    }

    pub(crate) fn run(mut command: Command, folder: PathBuf) -> Gateway {
        command.args(["--listen", "127.0.0.1:0"]).env("MOCK_KEY", "sk-mock-secret-0001");
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap());
        let mut told = String::new();
        let port = loop {
            let mut line = String::new();
            assert!(lines.read_line(&mut line).unwrap() > 0, "the gateway ended: {told}");
            told.push_str(&line);
            if let Some((_, address)) = line.split_once("listens on http://") {
                break address.trim().rsplit_once(':').unwrap().1.parse().unwrap();
            }
        };
        // Nobody reads on: what it says later must not make it wait.
        std::thread::spawn(move || std::io::copy(&mut lines, &mut std::io::sink()));
        Gateway { child, port, folder }
    }

    pub(crate) fn get(&self, path: &str) -> Message {
        call(self.port, &format!("GET {path}"), &[], b"")
    }

    pub(crate) fn post(&self, path: &str, body: &serde_json::Value) -> Message {
        self.post_with(path, &[], body)
    }

    pub(crate) fn post_with(
        &self,
        path: &str,
        headers: &[(&str, &str)],
        body: &serde_json::Value,
    ) -> Message {
        call(self.port, &format!("POST {path}"), headers, body.to_string().as_bytes())
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Asks it to end.
    pub(crate) fn terminate(&self) {
        let told = Command::new("kill").arg(self.child.id().to_string()).status().unwrap();
        assert!(told.success());
    }

    pub(crate) fn wait(&mut self) -> ExitStatus {
        self.child.wait().unwrap()
    }

    pub(crate) fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        self.kill();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
