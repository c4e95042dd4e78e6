//! Connections, providers, other names of models.

use omniroute_providers::Availability;
use omniroute_route::{OptionReader, strategy};

use super::super::mistake::{Mistake, codes, nearest};
use super::super::net;
use super::super::tree::Value;
use super::super::walk::shown;
use super::{Check, Node, flag, text};

impl<'c> Check<'c> {
    /// The entry of a declared provider.
    fn declared(&self, id: &str) -> Option<&'c Node> {
        let lines = self.root.get("providers").map(|node| node.value.items()).unwrap_or_default();
        lines.iter().find(|line| text(line, "id") == Some(id))
    }

    pub(super) fn providers(&mut self) {
        let mut ids: Vec<&str> = Vec::new();
        for (at, line) in self.tables(&["providers"]) {
            let Some(id) = text(line, "id") else { continue };
            if ids.contains(&id) {
                let message = format!("provider {} is there twice", shown(id));
                self.note(&["providers", &at, "id"], Mistake::new(codes::TWICE, message));
            }
            ids.push(id);
            if !well_formed(id) {
                let mistake = Mistake::new(codes::NAME, format!("{} is no name of a provider", shown(id)));
                self.note(&["providers", &at, "id"], mistake.allowed("1 to 80 letters, digits and . _ -"));
            }
            if let Some(url) = text(line, "base_url")
                && let Some(wrong) = net::base_url(url, flag(line, "allow_private"))
            {
                self.note(&["providers", &at, "base_url"], Mistake::new(codes::BASE_URL, wrong));
            }
            let mut models: Vec<&str> = Vec::new();
            for (number, model) in self.tables(&["providers", &at, "models"]) {
                let Some(model) = text(model, "id") else { continue };
                if models.contains(&model) {
                    let message = format!("model {} is there twice", shown(model));
                    self.note(
                        &["providers", &at, "models", &number, "id"],
                        Mistake::new(codes::TWICE, message),
                    );
                }
                models.push(model);
            }
        }
    }

    pub(super) fn connections(&mut self) {
        let mut ids: Vec<&str> = Vec::new();
        for (at, line) in self.tables(&["connections"]) {
            let way = |last: &'static str| ["connections", at.as_str(), last];
            if line.get("key").is_some() && line.get("keys").is_some() {
                let message = "\"key\" and \"keys\" do not go together; keep one";
                self.note(&way("keys"), Mistake::new(codes::CONFLICT, message));
            }
            if line
                .get("keys")
                .is_some_and(|node| matches!(&node.value, Value::List(items) if items.is_empty()))
            {
                self.note(&way("keys"), Mistake::new(codes::SECRET, "the list of keys is empty"));
            }
            if line.get("key_strategy").is_some() && line.get("keys").is_none() {
                self.note(
                    &way("key_strategy"),
                    Mistake::new(codes::CONFLICT, "only several keys have an order"),
                );
            }
            let Some(id) = text(line, "id") else { continue };
            if ids.contains(&id) {
                let message = format!("connection {} is there twice", shown(id));
                self.note(&way("id"), Mistake::new(codes::TWICE, message));
            }
            ids.push(id);
            let parts = id.split_once('/').filter(|(provider, name)| !provider.is_empty() && plain(name));
            let Some((provider, _)) = parts else {
                let mistake = Mistake::new(codes::NAME, format!("{} is no id of a connection", shown(id)));
                self.note(&way("id"), mistake.allowed("provider/name, such as openai/work"));
                continue;
            };
            self.provider(&at, provider);
            if let Some(url) = text(line, "base_url") {
                self.base_url(&at, line, provider, url);
            }
        }
    }

    fn provider(&mut self, at: &str, provider: &str) {
        let way = ["connections", at, "id"];
        let known = self.catalog.provider(provider).filter(|row| row.id == provider);
        let declared = self.declared(provider);
        match (known, declared) {
            (_, Some(_)) => {}
            (Some(row), None) => {
                let state = Availability::of(&row);
                if !matches!(state, Availability::Built | Availability::NeedsBaseUrl) {
                    let message = format!("provider {provider:?} cannot be called: {}", state.reason());
                    self.note(&way, Mistake::new(codes::UNCALLABLE, message));
                } else if matches!(state, Availability::NeedsBaseUrl)
                    && self.root.find(&["connections", at, "base_url"]).is_none()
                {
                    let message = format!("provider {provider:?} has no address of its own");
                    self.note(
                        &way,
                        Mistake::new(codes::ODD, message).help("say base_url, or serve cannot call it"),
                    );
                }
            }
            (None, None) => {
                let message =
                    format!("provider {} is neither in the catalogue nor under providers", shown(provider));
                let mut mistake = Mistake::new(codes::PROVIDER, message);
                // Its other name, if it is one, else what is spelled nearly so.
                mistake.suggestion =
                    self.catalog.provider(provider).map(|row| row.id.to_string()).or_else(|| {
                        let ids: Vec<String> =
                            self.catalog.providers().map(|row| row.id.to_string()).collect();
                        nearest(provider, ids.iter().map(String::as_str))
                    });
                self.note(&way, mistake);
            }
        }
    }

    fn base_url(&mut self, at: &str, line: &Node, provider: &str, url: &str) {
        let way = ["connections", at, "base_url"];
        if let Some(wrong) = net::base_url(url, flag(line, "allow_private")) {
            self.note(&way, Mistake::new(codes::BASE_URL, wrong));
            return;
        }
        let own = line.get("key").is_some() || line.get("keys").is_some();
        let row = self.catalog.provider(provider);
        let Some(row) = row.filter(|row| !row.auth.optional && !row.anonymous && !own) else { return };
        let same = row.base_url.as_ref().is_some_and(|known| net::same_origin(known, url));
        if !same && self.declared(provider).is_none() && !net::is_loopback_url(url) {
            let message = format!("the usual key of {provider} goes to its own host only");
            let mistake = Mistake::new(codes::FOREIGN, message);
            self.note(&way, mistake.help("say key = { env = \"NAME\" } for this address"));
        }
    }

    pub(super) fn aliases(&mut self) {
        let members = self.root.find(&["models", "aliases"]).map(|node| node.value.members());
        for member in members.unwrap_or_default() {
            let Some(to) = member.node.value.text() else { continue };
            let from = member.key.as_str();
            let stars = |text: &str| text.matches('*').count();
            let wrong = if stars(from) > 1 || stars(to) > 1 {
                "one star on each side at most"
            } else if stars(to) > stars(from) {
                "a star on the right needs one on the left"
            } else if from == to {
                "the name leads to itself"
            } else {
                continue;
            };
            let message = format!("{} = {}: {wrong}", shown(from), shown(to));
            self.note(&["models", "aliases", from], Mistake::new(codes::ALIAS, message));
        }
    }

    /// The strategy behind `auto`: read as the strategy reads it.
    pub(super) fn auto(&mut self) {
        let Some(node) = self.root.find(&["routing", "auto"]) else { return };
        let mut weights = omniroute_route::OptionMap::new();
        for member in node.get("weights").map(|node| node.value.members()).unwrap_or_default() {
            #[expect(clippy::cast_precision_loss, reason = "bounds are checked")]
            let weight = match member.node.value {
                Value::Whole(weight) => weight as f64,
                Value::Number(weight) => weight,
                _ => continue,
            };
            // Those outside the bounds are told already.
            if (0.0..=1_000.0).contains(&weight) {
                weights.insert(member.key.clone(), omniroute_route::OptionValue::Number(weight));
            }
        }
        let (Ok(entry), false) = (strategy("auto", ""), weights.is_empty()) else { return };
        let map = [("weights".to_owned(), omniroute_route::OptionValue::Map(weights))].into();
        let mut reader = OptionReader::new("routing.auto", &map);
        let _strategy = (entry.build)(&mut reader);
        for error in reader.finish().err().unwrap_or_default() {
            let key = error.path.strip_prefix("routing.auto.weights.").unwrap_or_default();
            let way: &[&str] = &["routing", "auto", "weights", key];
            let way = if key.is_empty() { &way[..3] } else { way };
            let message = error.message.strip_prefix("routing.auto.").unwrap_or(&error.message);
            let (message, meant) = super::combos::parted(message);
            let mut mistake = Mistake::new(codes::WEIGHT, message);
            mistake.suggestion = meant;
            self.note_key(way, error.message.contains("is no known"), mistake);
        }
    }
}

fn well_formed(name: &str) -> bool {
    let allowed = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '.' | '_' | '-');
    !name.is_empty() && name.len() <= 80 && name.chars().all(allowed)
}

/// Any name that can be told from what stands around it.
fn plain(name: &str) -> bool {
    let odd = |letter: char| letter.is_control() || letter.is_whitespace() || letter == '/';
    !name.is_empty() && name.len() <= 80 && !name.contains(odd)
}
