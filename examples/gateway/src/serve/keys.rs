//! Who calls: keys, what each may do, and what anybody may do who has none.

use std::sync::Arc;

use http::HeaderMap;
use http::header::AUTHORIZATION;
use omniroute_core::Principal;
use serde_json::json;
use sha2::{Digest, Sha256};

use super::fault::Fault;

/// One thing that a caller may do. REST, events and leases know no others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u16)]
pub(crate) enum Scope {
    Chat = 1,
    ReadHealth = 2,
    ReadRouting = 4,
    ReadUsage = 8,
    ReadCompression = 16,
    ReadCatalog = 32,
    ReadAudit = 64,
    WriteRouting = 128,
    WriteResilience = 256,
    WriteCompression = 512,
    Lease = 1024,
}

impl Scope {
    /// Every one, with its name.
    pub(crate) const ALL: [(Scope, &'static str); 11] = [
        (Scope::Chat, "chat"),
        (Scope::ReadHealth, "read:health"),
        (Scope::ReadRouting, "read:routing"),
        (Scope::ReadUsage, "read:usage"),
        (Scope::ReadCompression, "read:compression"),
        (Scope::ReadCatalog, "read:catalog"),
        (Scope::ReadAudit, "read:audit"),
        (Scope::WriteRouting, "write:routing"),
        (Scope::WriteResilience, "write:resilience"),
        (Scope::WriteCompression, "write:compression"),
        (Scope::Lease, "lease:exclusive"),
    ];

    /// Its name.
    pub(crate) fn name(self) -> &'static str {
        Scope::ALL.iter().find(|(scope, _)| *scope == self).map_or("", |(_, name)| name)
    }
}

/// What must be allowed: all scopes of one of these sets.
pub(crate) type Need = &'static [&'static [Scope]];

/// Several scopes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Scopes(u16);

impl Scopes {
    /// What somebody without a key may do, who can only come from this machine: ask and look.
    pub(super) const ANONYMOUS: Scopes = Scopes(1 | 2 | 4 | 8 | 16 | 32 | 64);

    /// From names and wildcards; none: this one is not known.
    pub(super) fn parse<'n>(names: impl IntoIterator<Item = &'n str>) -> Result<Scopes, &'n str> {
        let mut scopes = Scopes::default();
        for name in names {
            let before = scopes;
            for (scope, known) in Scope::ALL {
                let covered = match name {
                    "*" => scope != Scope::Lease,
                    "read:*" => known.starts_with("read:"),
                    "write:*" => known.starts_with("write:"),
                    exact => exact == known,
                };
                if covered {
                    scopes.0 |= scope as u16;
                }
            }
            if scopes == before && !Scope::ALL.iter().any(|(_, known)| *known == name) && !name.ends_with('*')
            {
                return Err(name);
            }
            if name.ends_with('*') && !matches!(name, "*" | "read:*" | "write:*") {
                return Err(name);
            }
        }
        Ok(scopes)
    }

    pub(super) fn has(self, scope: Scope) -> bool {
        self.0 & scope as u16 != 0
    }

    pub(super) fn meets(self, need: Need) -> bool {
        need.iter().any(|set| set.iter().all(|scope| self.has(*scope)))
    }

    pub(super) fn names(self) -> Vec<&'static str> {
        Scope::ALL.iter().filter(|(scope, _)| self.has(*scope)).map(|(_, name)| *name).collect()
    }
}

/// Who calls.
#[derive(Debug, Clone)]
pub(super) struct Caller {
    pub(super) principal: Principal,
    pub(super) scopes: Scopes,
    /// Whether it showed a key.
    pub(super) keyed: bool,
    /// Connections that it may lease, as `provider/name`.
    pub(super) connections: Arc<[String]>,
}

impl Caller {
    /// Somebody who shows nothing and may do nothing.
    pub(super) fn nobody() -> Caller {
        let principal = Principal::new("anonymous");
        Caller { principal, scopes: Scopes::default(), keyed: false, connections: Arc::new([]) }
    }
}

#[derive(Debug, Clone)]
struct Key {
    hash: [u8; 32],
    caller: Caller,
}

/// All keys, by their hashes.
#[derive(Debug, Clone, Default)]
pub(super) struct Keys(Vec<Key>);

impl Keys {
    /// With one more key.
    pub(super) fn add(&mut self, name: &str, hash: [u8; 32], scopes: Scopes, connections: Vec<String>) {
        let principal = Principal::new(name);
        self.0.push(Key {
            hash,
            caller: Caller { principal, scopes, keyed: true, connections: connections.into() },
        });
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Who the headers say it is.
    ///
    /// # Errors
    /// No key where one is needed, one that is not known, or two different ones.
    pub(super) fn caller(&self, headers: &HeaderMap, gemini: bool) -> Result<Caller, Fault> {
        let shown = shown(headers, gemini)?;
        if self.0.is_empty() {
            // Only loopback is bound then. What SDKs send because they have to send something counts for nothing.
            return Ok(Caller {
                principal: Principal::new("anonymous"),
                scopes: Scopes::ANONYMOUS,
                keyed: false,
                connections: Arc::new([]),
            });
        }
        let Some(key) = shown else {
            return Err(Fault::new(
                401,
                "missing_api_key",
                "a key is needed: header authorization: Bearer or_…",
            ));
        };
        let hash: [u8; 32] = Sha256::digest(key.as_bytes()).into();
        let mut found = None;
        for known in &self.0 {
            // Every key is compared to its end, whichever it is.
            let differs = known.hash.iter().zip(&hash).fold(0, |differs, (a, b)| differs | (a ^ b));
            if differs == 0 {
                found = Some(&known.caller);
            }
        }
        found.cloned().ok_or_else(|| Fault::new(401, "invalid_api_key", "this key is not known"))
    }
}

/// Refuses a caller who may not.
pub(super) fn allow(caller: &Caller, need: Need) -> Result<(), Fault> {
    if caller.scopes.meets(need) {
        return Ok(());
    }
    let names = |set: &&[Scope]| set.iter().map(|scope| scope.name()).collect::<Vec<_>>();
    let sets: Vec<Vec<&str>> = need.iter().map(names).collect();
    let told: Vec<String> = sets.iter().map(|set| set.join(" and ")).collect();
    let who = if caller.keyed { "this key lacks" } else { "without a key there is no" };
    let mut fault = Fault::new(403, "insufficient_scope", format!("{who} scope {}", told.join(", or ")));
    fault.details = Some(json!({ "required": sets }));
    Err(fault)
}

/// The key that the headers show.
fn shown(headers: &HeaderMap, gemini: bool) -> Result<Option<&str>, Fault> {
    let mut found: Option<&str> = None;
    let bearer = headers.get_all(AUTHORIZATION).iter().map(|value| {
        let text = value.to_str().unwrap_or_default().trim();
        let (scheme, rest) = text.split_once(' ').unwrap_or(("", ""));
        if scheme.eq_ignore_ascii_case("bearer") { rest.trim() } else { "" }
    });
    let plain = ["x-api-key", "x-goog-api-key"].into_iter().take(if gemini { 2 } else { 1 });
    let plain =
        plain.flat_map(|name| headers.get_all(name)).map(|value| value.to_str().unwrap_or_default().trim());
    for key in bearer.chain(plain).filter(|key| !key.is_empty()) {
        if found.is_some_and(|other| other != key) {
            return Err(Fault::bad("conflicting_credentials", "the headers show two different keys"));
        }
        found = Some(key);
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
    }

    #[test]
    fn names_and_wildcards_of_scopes() {
        let all = Scopes::parse(["*"]).unwrap();
        assert!(Scope::ALL.iter().all(|(scope, _)| all.has(*scope) == (*scope != Scope::Lease)));
        let reads = Scopes::parse(["read:*", "chat"]).unwrap();
        assert_eq!(reads, Scopes::ANONYMOUS);
        assert_eq!(Scopes::parse(["chat", "chat"]).unwrap().names(), ["chat"]);
        for wrong in ["reed:health", "chat:*", "lease:*", "read", "**", ""] {
            assert_eq!(Scopes::parse([wrong]), Err(wrong));
        }
        const BOTH: Need = &[&[Scope::Chat, Scope::WriteRouting], &[Scope::ReadAudit]];
        assert!(!Scopes::parse(["chat"]).unwrap().meets(BOTH));
        assert!(Scopes::parse(["chat", "write:routing"]).unwrap().meets(BOTH));
        assert!(Scopes::parse(["read:audit"]).unwrap().meets(BOTH));
        assert!(!all.meets(&[]));
    }

    #[test]
    fn keys_are_found_by_their_hashes() {
        let mut keys = Keys::default();
        let anybody = keys.caller(&headers(&[("authorization", "Bearer whatever")]), false).unwrap();
        assert!(
            !anybody.keyed && !anybody.scopes.has(Scope::WriteRouting) && anybody.scopes.has(Scope::Chat)
        );
        keys.add("laptop", Sha256::digest(b"or_1").into(), Scopes::parse(["chat"]).unwrap(), Vec::new());
        keys.add("ci", Sha256::digest(b"or_2").into(), Scopes::parse(["*"]).unwrap(), Vec::new());
        let who = |pairs: &[(&'static str, &str)], gemini| {
            keys.caller(&headers(pairs), gemini).map(|c| c.principal.to_string()).map_err(|f| f.code)
        };
        assert_eq!(who(&[("authorization", "bearer or_1")], false).as_deref(), Ok("laptop"));
        assert_eq!(who(&[("x-api-key", "or_2")], false).as_deref(), Ok("ci"));
        assert_eq!(who(&[("x-goog-api-key", "or_2")], true).as_deref(), Ok("ci"));
        assert_eq!(who(&[("x-goog-api-key", "or_2")], false), Err("missing_api_key".to_owned()));
        assert_eq!(who(&[("authorization", "Basic or_1")], false), Err("missing_api_key".to_owned()));
        assert_eq!(who(&[("authorization", "Bearer or_3")], false), Err("invalid_api_key".to_owned()));
        assert_eq!(
            who(&[("authorization", "Bearer or_1"), ("x-api-key", "or_1")], false).as_deref(),
            Ok("laptop")
        );
        let two = [("authorization", "Bearer or_1"), ("x-api-key", "or_2")];
        assert_eq!(who(&two, false), Err("conflicting_credentials".to_owned()));
    }

    #[test]
    fn a_refusal_names_what_is_missing() {
        let mut keys = Keys::default();
        keys.add("k", Sha256::digest(b"or_1").into(), Scopes::parse(["chat"]).unwrap(), Vec::new());
        let caller = keys.caller(&headers(&[("x-api-key", "or_1")]), false).unwrap();
        let fault = allow(&caller, &[&[Scope::WriteResilience]]).unwrap_err();
        assert_eq!((fault.status, fault.message.as_str()), (403, "this key lacks scope write:resilience"));
        assert_eq!(fault.details.unwrap()["required"][0][0], "write:resilience");
    }
}
