//! A real `redis-server` on a free port, which can be killed, stopped and slowed down.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::support::{Dice, Folder, pause};

/// Whether it forgets everything when it ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Memory {
    Forgets,
    /// Keeps every acknowledged write.
    Keeps,
}

#[derive(Debug)]
pub(crate) struct Server {
    program: PathBuf,
    process: Child,
    pub(crate) port: u16,
    memory: Memory,
    folder: Folder,
}

impl Server {
    /// None: there is no server here, which is a failure where everything must be tested.
    pub(crate) fn start(memory: Memory) -> Option<Server> {
        let Some(program) = program() else {
            let must =
                |name| std::env::var_os(name).is_some_and(|value| !value.is_empty() && value != "false");
            assert!(!must("CI") && !must("OMNIROUTE_CI"), "redis-server (or valkey-server) is not installed");
            eprintln!("skipped: needs redis-server");
            return None;
        };
        let folder = Folder::new();
        for _ in 0..10 {
            let port = TcpListener::bind("127.0.0.1:0")
                .expect("the machine gives what a test needs")
                .local_addr()
                .expect("the machine gives what a test needs")
                .port();
            if let Some(process) = launch(&program, port, memory, &folder) {
                return Some(Server { program, process, port, memory, folder });
            }
        }
        panic!("redis-server does not start");
    }

    pub(crate) fn url(&self) -> String {
        format!("redis://127.0.0.1:{}/", self.port)
    }

    /// Kills it without warning.
    pub(crate) fn kill(&mut self) {
        self.process.kill().expect("the machine gives what a test needs");
        self.process.wait().expect("the machine gives what a test needs");
    }

    /// Starts it again at the same port.
    pub(crate) fn restart(&mut self) {
        for _ in 0..50 {
            if let Some(process) = launch(&self.program, self.port, self.memory, &self.folder) {
                self.process = process;
                return;
            }
            pause(Duration::from_millis(20));
        }
        panic!("redis-server does not start again");
    }

    pub(crate) fn freeze(&self) {
        self.signal("STOP");
    }

    pub(crate) fn thaw(&self) {
        self.signal("CONT");
    }

    /// Sends one command as a person would type it. Gives the first bytes of the answer.
    pub(crate) fn type_in(&self, line: &str) -> String {
        ask(self.port, line).expect("the machine gives what a test needs")
    }

    fn signal(&self, name: &str) {
        let line = format!("kill -{name} {}", self.process.id());
        assert!(
            Command::new("sh")
                .args(["-c", &line])
                .status()
                .expect("the machine gives what a test needs")
                .success(),
            "{line}"
        );
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn program() -> Option<PathBuf> {
    let folders = std::env::var_os("PATH")?;
    let mut places = std::env::split_paths(&folders)
        .flat_map(|folder| [folder.join("redis-server"), folder.join("valkey-server")]);
    places.find(|place| place.is_file())
}

fn launch(program: &PathBuf, port: u16, memory: Memory, folder: &Folder) -> Option<Child> {
    let keeps = if memory == Memory::Keeps { "yes" } else { "no" };
    let mut process = Command::new(program)
        .args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", ""])
        .args(["--appendonly", keeps, "--appendfsync", "always"])
        .arg("--dir")
        .arg(folder.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the machine gives what a test needs");
    for _ in 0..1_000 {
        if ask(port, "PING").is_ok_and(|answer| answer.starts_with("+PONG")) {
            return Some(process);
        }
        if process.try_wait().expect("the machine gives what a test needs").is_some() {
            return None;
        }
        pause(Duration::from_millis(10));
    }
    panic!("redis-server is there but does not answer");
}

fn ask(port: u16, line: &str) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_read_timeout(Some(Duration::from_secs(5)))?;
    stream.write_all(line.as_bytes())?;
    stream.write_all(b"\r\n")?;
    let mut answer = Vec::new();
    loop {
        let mut piece = [0; 4096];
        let length = stream.read(&mut piece)?;
        answer.extend_from_slice(&piece[..length]);
        let text = String::from_utf8_lossy(&answer);
        if length == 0 || is_whole(&text) {
            return Ok(text.into_owned());
        }
    }
}

/// A line, or a text of the length that its first line names, is there to its end.
fn is_whole(answer: &str) -> bool {
    let Some((head, rest)) = answer.split_once("\r\n") else { return false };
    match head.strip_prefix('$').map(str::parse::<usize>) {
        Some(Ok(length)) => rest.len() >= length + 2,
        _ => true,
    }
}

/// Stands before a server and delays every piece of an answer by 5 to 40 ms.
pub(crate) fn slow_way_to(port: u16) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("the machine gives what a test needs");
    let own = listener.local_addr().expect("the machine gives what a test needs").port();
    std::thread::spawn(move || {
        for (n, inner) in listener.incoming().enumerate() {
            let (Ok(inner), Ok(outer)) = (inner, TcpStream::connect(("127.0.0.1", port))) else { return };
            let (inner_back, outer_back) = (
                inner.try_clone().expect("the machine gives what a test needs"),
                outer.try_clone().expect("the machine gives what a test needs"),
            );
            std::thread::spawn(move || pass(inner, outer, None));
            let dice = Dice(n as u64 + 7);
            std::thread::spawn(move || pass(outer_back, inner_back, Some(dice)));
        }
    });
    own
}

fn pass(mut from: TcpStream, mut to: TcpStream, mut delay: Option<Dice>) {
    let mut buffer = [0; 64 * 1024];
    while let Ok(length @ 1..) = from.read(&mut buffer) {
        if let Some(dice) = &mut delay {
            pause(Duration::from_millis(5 + dice.below(36)));
        }
        if to.write_all(&buffer[..length]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Both);
}
