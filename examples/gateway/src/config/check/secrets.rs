//! Secrets that are named: variables that are set, files that are there and nobody else's. And the store.

use std::path::Path;

use super::super::mistake::{Mistake, codes};
use super::super::secret::too_open;
use super::super::tree::{Node, Value};
use super::{Check, text};

impl Check<'_> {
    pub(super) fn secrets(&mut self) {
        let mut ways: Vec<Vec<String>> = Vec::new();
        for (at, line) in self.tables(&["connections"]) {
            let way = |last: &[&str]| {
                ["connections", at.as_str()].iter().chain(last).map(|step| (*step).to_owned()).collect()
            };
            if line.get("key").is_some() {
                ways.push(way(&["key"]));
            }
            for number in 0..line.get("keys").map_or(0, |node| node.value.items().len()) {
                ways.push(way(&["keys", &number.to_string()]));
            }
        }
        ways.push(vec!["store".to_owned(), "url".to_owned()]);
        let mut plain_in: Vec<usize> = Vec::new();
        for way in &ways {
            let way: Vec<&str> = way.iter().map(String::as_str).collect();
            let Some(node) = self.root.find(&way) else { continue };
            if self.secret(&way, node) && !plain_in.contains(&node.spot.source) {
                plain_in.push(node.spot.source);
            }
        }
        for number in plain_in {
            let Some(source) = self.sources.get(number).filter(|source| !source.variable) else { continue };
            let open = Path::new(&source.name).metadata().is_ok_and(|facts| too_open(&facts));
            if open {
                let message = "the file has secrets in it, and others can read it";
                let spot = super::super::tree::Spot { source: number, start: 0, end: 0 };
                self.mistakes.push(Mistake::new(codes::READABLE, message).at(spot).help("chmod 600 it"));
            }
        }
    }

    /// Checks one; whether it stands in the file itself.
    fn secret(&mut self, way: &[&str], node: &Node) -> bool {
        let variable = self.sources.get(node.spot.source).is_some_and(|source| source.variable);
        match &node.value {
            // An address without a password is no secret.
            Value::Text(url) if way == ["store", "url"] && !url.contains('@') => false,
            Value::Text(_) if variable => false,
            Value::Text(_) => {
                let mistake =
                    Mistake::new(codes::PLAIN, "plain secret in the file; prefer { env = \"NAME\" }");
                self.note(way, mistake);
                true
            }
            _ => {
                if let Some(name) = text(node, "env").filter(|name| super::super::walk::variable(name)) {
                    if std::env::var_os(name).is_none_or(|value| value.is_empty()) {
                        let mistake = Mistake::new(codes::UNSET, format!("the variable {name} is not set"));
                        self.note(&[way, &["env"]].concat(), mistake);
                    }
                } else if let Some(file) = text(node, "file") {
                    self.secret_file(&[way, &["file"]].concat(), node, file);
                }
                false
            }
        }
    }

    fn secret_file(&mut self, way: &[&str], node: &Node, file: &str) {
        let folder = self.sources.get(node.spot.source).map(|source| source.folder.clone());
        let path = folder.unwrap_or_default().join(file);
        let mistake = match path.metadata() {
            Ok(facts) if !facts.is_file() => Mistake::new(codes::SECRET, format!("{file:?} is no file")),
            Ok(facts) if too_open(&facts) => {
                let message = format!("the file {file:?} holds a secret, and others can read it");
                Mistake::new(codes::MODE, message).help(format!("chmod 600 {file:?}"))
            }
            Ok(facts) if facts.len() == 0 => {
                Mistake::new(codes::NO_FILE, format!("the file {file:?} is empty"))
            }
            Ok(_) => return,
            Err(_) => Mistake::new(codes::NO_FILE, format!("the file {file:?} cannot be read")),
        };
        self.note(way, mistake);
    }

    pub(super) fn store(&mut self) {
        let Some(store) = self.root.get("store") else { return };
        let kind = text(store, "kind").unwrap_or("sqlite");
        for (key, of) in [("path", "sqlite"), ("url", "redis"), ("durable", "redis")] {
            if store.get(key).is_some() && kind != of && ["memory", "sqlite", "redis"].contains(&kind) {
                let message = format!("\"{key}\" goes with kind = \"{of}\", and kind is \"{kind}\"");
                self.note(&["store", key], Mistake::new(codes::STORE, message));
            }
        }
        if kind == "redis" && store.get("url").is_none() {
            let mistake = Mistake::new(codes::STORE, "redis needs its address");
            self.note(&["store", "kind"], mistake.help("say url = { env = \"REDIS_URL\" }"));
        }
        let Some(file) = text(store, "path").filter(|_| kind == "sqlite") else { return };
        let folder = store.get("path").and_then(|node| self.sources.get(node.spot.source));
        let path = folder.map(|source| source.folder.clone()).unwrap_or_default().join(file);
        if let Some(wrong) = unwritable(&path) {
            self.note(
                &["store", "path"],
                Mistake::new(codes::STORE, format!("{file:?} cannot be used: {wrong}")),
            );
        }
    }
}

/// Why a file cannot be written; nothing is made or changed.
pub(crate) fn unwritable(path: &Path) -> Option<String> {
    if path.is_dir() {
        return Some("it is a folder".to_owned());
    }
    if path.exists() {
        let opened = std::fs::OpenOptions::new().append(true).open(path);
        return opened.err().map(|_| "it may not be written".to_owned());
    }
    // The nearest folder that is there has to let us make the rest.
    let folder = path.ancestors().skip(1).find(|folder| folder.as_os_str().is_empty() || folder.exists())?;
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    match folder.metadata() {
        Ok(facts) if !facts.is_dir() => Some(format!("\"{}\" is no folder", folder.display())),
        Ok(facts) if facts.permissions().readonly() => {
            Some(format!("\"{}\" may not be written", folder.display()))
        }
        Ok(_) => None,
        Err(_) => Some(format!("\"{}\" cannot be looked at", folder.display())),
    }
}
