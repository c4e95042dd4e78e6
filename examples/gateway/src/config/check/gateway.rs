//! Who may call: the address, keys, scopes, pages.

use std::net::SocketAddr;

use super::super::mistake::{Mistake, codes};
use super::super::net::is_loopback;
use super::super::schema::SCOPES;
use super::super::walk::shown;
use super::{Check, text};

/// Keys of which one is an older spelling of the other.
pub(crate) const TWINS: [(&str, &str); 3] =
    [("max_body", "max_body_bytes"), ("shutdown_grace", "shutdown_grace_ms"), ("ping", "ping_ms")];

impl Check<'_> {
    pub(super) fn gateway(&mut self) {
        let Some(gateway) = self.root.get("gateway") else { return };
        for (new, old) in TWINS {
            if gateway.get(new).is_some() && gateway.get(old).is_some() {
                let message = format!("{new:?} and {old:?} say the same; keep one");
                self.note(&["gateway", old], Mistake::new(codes::CONFLICT, message));
            }
        }
        let keys = self.tables(&["gateway", "keys"]);
        if let Some(listen) = text(gateway, "listen").filter(|listen| !listen.is_empty()) {
            self.listen(listen, keys.is_empty());
        }
        self.origins(keys.is_empty());
        let ids = self.connection_ids();
        let mut names: Vec<&str> = Vec::new();
        let mut hashes: Vec<&str> = Vec::new();
        for (at, key) in &keys {
            let way = |last: &'static str| ["gateway", "keys", at, last];
            if let Some(name) = text(key, "name") {
                if names.contains(&name) {
                    let message = format!("key {} is there twice", shown(name));
                    self.note(&way("name"), Mistake::new(codes::TWICE, message));
                }
                names.push(name);
            }
            if let Some(hash) = text(key, "hash") {
                let digits = hash.strip_prefix("sha256:").unwrap_or_default();
                if digits.len() != 64 || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
                    let mistake = Mistake::new(codes::HASH, "this is no hash of a key");
                    let mistake = mistake.allowed("sha256: and 64 hex digits");
                    self.note(
                        &way("hash"),
                        mistake.help("make one with `omniroute key new` or `omniroute key hash`"),
                    );
                } else if hashes.contains(&hash) {
                    self.note(&way("hash"), Mistake::new(codes::TWICE, "two keys have the same hash"));
                }
                hashes.push(hash);
            }
            self.scopes(at, key, &ids);
        }
    }

    fn scopes(&mut self, at: &str, key: &super::Node, ids: &[&str]) {
        let items = |name: &str| key.get(name).map(|node| node.value.items()).unwrap_or_default();
        let mut leases = false;
        for (number, scope) in items("scopes").iter().enumerate() {
            let Some(scope) = scope.value.text() else { continue };
            leases |= scope == "lease:exclusive";
            if !SCOPES.contains(&scope) {
                let mistake = Mistake::new(codes::SCOPE, format!("unknown scope {}", shown(scope)));
                let mistake = mistake.allowed(SCOPES.join(", ")).meant(scope, SCOPES);
                self.note(&["gateway", "keys", at, "scopes", &number.to_string()], mistake);
            }
        }
        let connections = items("connections");
        if leases && connections.is_empty() {
            let message = "a key with lease:exclusive names the connections that it may lease";
            self.note(&["gateway", "keys", at, "connections"], Mistake::new(codes::LEASE, message));
        }
        for (number, id) in connections.iter().enumerate() {
            let Some(id) = id.value.text().filter(|id| !ids.contains(id)) else { continue };
            let mistake =
                Mistake::new(codes::CONNECTION, format!("connection {} is not configured", shown(id)));
            let mistake = mistake.meant(id, ids.iter().copied());
            self.note(&["gateway", "keys", at, "connections", &number.to_string()], mistake);
        }
    }

    fn listen(&mut self, said: &str, keyless: bool) {
        let way = ["gateway", "listen"];
        let host =
            said.rsplit_once(':').filter(|(_, port)| port.parse::<u16>().is_ok()).map(|(host, _)| host);
        match host {
            Some(host) if is_loopback(host) => {}
            Some(_) if said.parse::<SocketAddr>().is_ok() => {
                if keyless {
                    let message = format!("refusing to listen on {said} without a key");
                    self.note(
                        &way,
                        Mistake::new(codes::OPEN, message).help("add [[gateway.keys]] or bind 127.0.0.1"),
                    );
                }
            }
            _ => {
                let mistake =
                    Mistake::new(codes::LISTEN, format!("{} is no address with a port", shown(said)));
                self.note(&way, mistake.allowed("an address and a port, such as 127.0.0.1:20128"));
            }
        }
    }

    fn origins(&mut self, keyless: bool) {
        let items = self.root.find(&["gateway", "cors", "origins"]).map(|node| node.value.items());
        for (number, origin) in items.unwrap_or_default().iter().enumerate() {
            let Some(origin) = origin.value.text() else { continue };
            let number = number.to_string();
            let way = ["gateway", "cors", "origins", &number];
            if origin == "*" {
                if keyless {
                    let mistake = Mistake::new(codes::OPEN, "\"*\" lets any page call, which needs keys");
                    self.note(&way, mistake.help("add [[gateway.keys]] or list the origins"));
                }
                continue;
            }
            let (scheme, rest) = origin.split_once("://").unwrap_or_default();
            let plain = !rest.is_empty() && !rest.contains(['/', '*', '?', '#', '@', ' ']);
            if (!plain || scheme.is_empty()) && origin != "null" {
                let mistake = Mistake::new(codes::ORIGIN, format!("{} is no origin", shown(origin)));
                self.note(&way, mistake.allowed("scheme://host or scheme://host:port, or \"*\""));
            }
        }
    }
}
