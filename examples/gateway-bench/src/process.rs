//! Processes that are measured, by what `/proc` tells.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};

/// A process that is killed when it is let go.
#[derive(Debug)]
pub(crate) struct Process {
    child: Child,
    pub(crate) port: u16,
}

impl Process {
    /// The vendor.
    pub(crate) fn mock() -> Process {
        let mut command = Command::new(std::env::current_exe().unwrap());
        let mut child = command.arg("--mock").stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        Process { child, port: line.trim().parse().unwrap() }
    }

    /// The gateway, as soon as it says that it listens.
    pub(crate) fn gateway(command: &mut Command) -> Process {
        let mut child = command.args(["--listen", "127.0.0.1:0"]).stderr(Stdio::piped()).spawn().unwrap();
        let mut told = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        let port = loop {
            line.clear();
            assert!(told.read_line(&mut line).unwrap() > 0, "the gateway ended");
            if let Some((_, address)) = line.split_once("listens on http://") {
                break address.trim().rsplit_once(':').unwrap().1.parse().unwrap();
            }
        };
        std::thread::spawn(move || told.read_to_end(&mut Vec::new()));
        Process { child, port }
    }

    /// Somebody else's, which was told to listen on `port`.
    pub(crate) fn other(command: &mut Command, port: u16) -> std::io::Result<Process> {
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        Ok(Process { child, port })
    }

    /// Whether it still runs.
    pub(crate) fn lives(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// User and system time so far, in microseconds, in steps of 10 ms.
    pub(crate) fn cpu(&self) -> f64 {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id())).unwrap();
        // The name in parentheses may have spaces.
        let (_, rest) = stat.rsplit_once(')').unwrap();
        let ticks: u64 =
            rest.split_ascii_whitespace().skip(11).take(2).map(|n| n.parse::<u64>().unwrap()).sum();
        ticks as f64 * 10_000.0
    }

    /// The same of threads that still run, exactly.
    pub(crate) fn exact(&self) -> f64 {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", self.child.id())).unwrap();
        let ran = |task: std::io::Result<std::fs::DirEntry>| {
            let text = std::fs::read_to_string(task.ok()?.path().join("schedstat")).ok()?;
            text.split_ascii_whitespace().next()?.parse::<f64>().ok()
        };
        tasks.filter_map(ran).sum::<f64>() / 1e3
    }

    /// Resident memory in kB.
    pub(crate) fn rss(&self) -> u64 {
        self.status("VmRSS:")
    }

    /// The most there ever was.
    pub(crate) fn most(&self) -> u64 {
        self.status("VmHWM:")
    }

    fn status(&self, name: &str) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        line.trim().trim_end_matches(" kB").parse().unwrap()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
