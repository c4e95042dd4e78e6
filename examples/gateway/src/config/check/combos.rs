//! Combos, checked by the router's own reader; its mistakes get the places of the file.

use omniroute_core::ModelFact;
use omniroute_route::{
    ComboConfig, Combos, ConfigCode, ConfigError, Connection, Listed, STRATEGIES, StepConfig,
};

use super::super::mistake::{Mistake, codes, nearest};
use super::super::model::{accounts, option};
use super::super::tree::{Node, Value};
use super::super::walk::shown;
use super::{Check, text};

/// Most levels of combos that circles are searched in.
const LEVELS: usize = 64;

impl<'c> Check<'c> {
    pub(super) fn combos(&mut self) {
        let lines = self.tables(&["combos"]);
        if lines.is_empty() {
            return;
        }
        let configs: Vec<ComboConfig> = lines.iter().map(|(_, line)| combo(line)).collect();
        let names: Vec<String> = configs.iter().map(|combo| combo.name.clone()).collect();
        let connected = !self.connection_ids().is_empty();
        for (at, line) in &lines {
            self.options(at, line);
            self.step_connections(at, line);
        }
        self.circles(&lines);
        let (errors, warnings) = match Combos::load(configs, &self.directory()) {
            Ok(combos) => (Vec::new(), combos.warnings),
            Err(errors) => (errors, Vec::new()),
        };
        for error in errors {
            // Without connections whoever is found when the program starts takes part.
            if connected || error.code != ConfigCode::MissingReference || error.path.ends_with(".combo") {
                self.combo_error(&names, &error);
            }
        }
        for warning in warnings.iter().filter(|_| connected) {
            let path = warning.split(' ').next().unwrap_or_default();
            if path.ends_with(".accounts") {
                continue; // told as an error, with the place of its item
            }
            let way = way(&names, path);
            let way: Vec<&str> = way.iter().map(String::as_str).collect();
            let said = warning.strip_prefix(path).unwrap_or(warning).trim_start();
            let subject = match way.as_slice() {
                ["combos", _] => "the combo",
                way => way.last().copied().unwrap_or_default(),
            };
            let mistake = Mistake::new(codes::ODD, format!("{subject} {said}"));
            self.note(if way.is_empty() { &["combos"] } else { &way }, mistake);
        }
    }

    /// Everything that names are looked up in.
    fn directory(&self) -> Listed {
        let mut listed = Listed::new();
        let mut known: Vec<&str> = Vec::new();
        for id in self.connection_ids() {
            let Some((provider, name)) = id.split_once('/') else { continue };
            listed = listed.connection(Connection::new(provider, name));
            if known.contains(&provider) {
                continue;
            }
            known.push(provider);
            for row in self.catalog.models_of(provider) {
                listed = listed.model(provider, &row.id, ModelFact::default());
            }
            for (_, own) in self.tables(&["providers"]) {
                let models = own.get("models").map(|node| node.value.items()).unwrap_or_default();
                for model in models.iter().filter(|_| text(own, "id") == Some(provider)) {
                    if let Some(model) = text(model, "id") {
                        listed = listed.model(provider, model, ModelFact::default());
                    }
                }
            }
        }
        listed
    }

    /// Dates and such among settings were told by the walk; here only what is said twice.
    fn options(&mut self, at: &str, line: &Node) {
        if line.get("judge").is_some() && line.get("options").is_some_and(|node| node.get("judge").is_some())
        {
            let message = "\"judge\" and \"options.judge\" say the same; keep one";
            self.note(&["combos", at, "judge"], Mistake::new(codes::CONFLICT, message));
        }
        let inner = line.get("options").and_then(|node| node.get("compression"));
        let plan = line.get("compression");
        if plan.is_some() && inner.is_some() {
            let message = "\"compression\" and \"options.compression\" say the same; keep one";
            self.note(&["combos", at, "compression"], Mistake::new(codes::CONFLICT, message));
        }
        let ways: [&[&str]; 2] = [&["combos", at, "compression"], &["combos", at, "options", "compression"]];
        for (node, way) in [plan, inner].into_iter().zip(ways) {
            let Some(node) = node else { continue };
            // A section with mistakes of its own tells them, and nothing about names.
            let mut wrong = Vec::new();
            let section = super::sections::read(self.root, &mut wrong).0;
            let unknown = |said: &&str| wrong.is_empty() && !section.knows_plan(said);
            if let Some(said) = node.value.text().filter(unknown) {
                let message = format!("{said:?} is not a plan, an engine or one of compression.combos");
                let mut mistake = Mistake::new(codes::COMPRESSION, message);
                mistake.suggestion = section.nearest_plan(said);
                self.note(way, mistake);
            }
        }
        let steps = line.get("steps").map(|node| node.value.items());
        if steps.is_some_and(<[Node]>::is_empty) {
            self.note(&["combos", at, "steps"], Mistake::new(codes::STEP, "the list of steps is empty"));
        }
    }

    /// Connections of steps have to be there, and of the step's provider.
    fn step_connections(&mut self, at: &str, line: &Node) {
        let ids = self.connection_ids();
        let steps = line.get("steps").map(|node| node.value.items()).unwrap_or_default();
        for (number, step) in steps.iter().enumerate() {
            let number = number.to_string();
            let provider = text(step, "model").and_then(|model| Some(model.split_once('/')?.0));
            if step.get("connection").is_some() && step.get("connections").is_some() {
                let message = "\"connection\" and \"connections\" do not go together; keep one";
                let way = ["combos", at, "steps", &number, "connections"];
                self.note(&way, Mistake::new(codes::CONFLICT, message));
            }
            let one = step.get("connection").map(|node| (node, None));
            let several = step.get("connections").map(|node| node.value.items()).unwrap_or_default();
            let several = several.iter().enumerate().map(|(item, node)| (node, Some(item.to_string())));
            for (node, item) in one.into_iter().chain(several) {
                let Some(said) = node.value.text() else { continue };
                let found = match (said.contains('/'), provider) {
                    (true, Some(provider)) => {
                        ids.contains(&said) && said.split_once('/').is_some_and(|(of, _)| of == provider)
                    }
                    (true, None) => ids.contains(&said),
                    (false, Some(provider)) => ids.contains(&format!("{provider}/{said}").as_str()),
                    (false, None) => {
                        ids.iter().any(|id| id.split_once('/').is_some_and(|(_, name)| name == said))
                    }
                };
                if found {
                    continue;
                }
                let message = match provider.filter(|_| ids.contains(&said)) {
                    Some(provider) => format!("connection {} is none of {provider}", shown(said)),
                    None => format!("connection {} is not configured", shown(said)),
                };
                let whole = if said.contains('/') {
                    said.to_owned()
                } else {
                    format!("{}/{said}", provider.unwrap_or_default())
                };
                let mut mistake = Mistake::new(codes::CONNECTION, message);
                let mine = ids.iter().copied().filter(|id| {
                    provider.is_none_or(|of| id.split_once('/').is_some_and(|(by, _)| by == of))
                });
                mistake.suggestion = nearest(&whole, mine);
                let key = if item.is_some() { "connections" } else { "connection" };
                let mut way = vec!["combos", at, "steps", &number, key];
                way.extend(item.as_deref());
                self.note(&way, mistake);
            }
        }
    }

    /// Combos that lead back to themselves: each circle once, at the step that closes it.
    fn circles(&mut self, lines: &[(String, &'c Node)]) {
        let mut told: Vec<Vec<usize>> = Vec::new();
        let mut found = Vec::new();
        for start in 0..lines.len() {
            walk(lines, &mut vec![start], &mut Vec::new(), &mut told, &mut found);
        }
        for (trail, step) in found {
            let name = |at: &usize| text(lines[*at].1, "name").unwrap_or_default();
            let circle: Vec<&str> = trail.iter().chain(trail.first()).map(name).collect();
            let first = circle.first().copied().unwrap_or_default();
            let message = format!("combo {} refers to itself: {}", shown(first), circle.join(" -> "));
            let last = trail.last().map(|at| lines[*at].0.clone()).unwrap_or_default();
            self.note(
                &["combos", &last, "steps", &step.to_string(), "combo"],
                Mistake::new(codes::CYCLE, message),
            );
        }
    }

    fn combo_error(&mut self, names: &[String], error: &ConfigError) {
        let way = way(names, &error.path);
        let place: Vec<&str> = way.iter().map(String::as_str).collect();
        let said = error.message.strip_prefix(&error.path).unwrap_or(&error.message).trim_start();
        let (said, meant) = parted(said);
        let subject = match place.as_slice() {
            ["combos", at] => {
                let name = at.parse().ok().and_then(|at: usize| names.get(at));
                format!("combo {}", shown(name.map_or("", String::as_str)))
            }
            ["combos", _, "steps", number] => {
                format!("step {}", number.parse::<usize>().unwrap_or_default() + 1)
            }
            [.., last] => (*last).to_owned(),
            [] => String::new(),
        };
        let code = match error.code {
            ConfigCode::Cycle => return,
            ConfigCode::UnknownStrategy => {
                return self.strategy(&place);
            }
            ConfigCode::Depth => codes::DEPTH,
            ConfigCode::MissingReference if place.last() == Some(&"combo") => codes::COMBO,
            ConfigCode::MissingReference => codes::MODEL,
            ConfigCode::BadWeight => return, // told by the walk
            ConfigCode::BadName if said.ends_with("there twice") => codes::TWICE,
            ConfigCode::BadName | ConfigCode::ReservedName => codes::NAME,
            ConfigCode::EmptyAccounts => codes::STEP,
            ConfigCode::BadValue if place.last() == Some(&"combo") => codes::DEPTH,
            ConfigCode::BadValue if place.get(2) == Some(&"steps") => codes::STEP,
            _ if error.path.contains(".weights") => codes::WEIGHT,
            _ => codes::OPTION,
        };
        let name_at: Vec<&str>;
        let place = match (place.as_slice(), code) {
            (["combos", at], codes::TWICE | codes::NAME) => {
                name_at = vec!["combos", at, "name"];
                name_at.as_slice()
            }
            _ => place.as_slice(),
        };
        if let ["combos", _, "steps", _] = place
            && !self.root.find(place).is_some_and(|node| matches!(node.value, Value::Table(_)))
        {
            return; // told by the walk
        }
        let (said, known) = match said.split_once("; known are ") {
            Some((said, known)) => (said.to_owned(), Some(known.to_owned())),
            None => (said, None),
        };
        let mut mistake = Mistake::new(code, format!("{subject} {said}"));
        (mistake.suggestion, mistake.allowed) = (meant, known);
        self.note_key(place, said.starts_with("is no known"), mistake);
    }

    /// Notes a mistake, at the key instead of its value if that is what is wrong.
    pub(super) fn note_key(&mut self, way: &[&str], key: bool, mistake: Mistake) {
        let (path, mut spot) = self.root.place(way);
        if let (true, Some((last, above))) = (key, way.split_last())
            && let Some(member) = self.root.find(above).and_then(|node| node.member(last))
        {
            spot = member.spot;
        }
        self.mistakes.push(mistake.placed((path, spot)));
    }

    fn strategy(&mut self, place: &[&str]) {
        let Some(name) = self.root.find(place).and_then(|node| node.value.text()) else { return };
        let accounts = place.last() == Some(&"account_strategy");
        let known: Vec<&str> =
            STRATEGIES.iter().filter(|entry| !accounts || entry.for_accounts).map(|entry| entry.id).collect();
        let mistake = Mistake::new(codes::STRATEGY, format!("unknown strategy {}", shown(name)));
        let mistake = mistake.meant(&name.replace('_', "-"), known.iter().copied());
        self.note(place, mistake.allowed(format!("{} (see `omniroute route strategies`)", known.join(", "))));
    }
}

/// Follows references between combos.
fn walk(
    lines: &[(String, &Node)],
    trail: &mut Vec<usize>,
    done: &mut Vec<usize>,
    told: &mut Vec<Vec<usize>>,
    found: &mut Vec<(Vec<usize>, usize)>,
) {
    let Some((_, line)) = trail.last().and_then(|at| lines.get(*at)) else { return };
    let steps = line.get("steps").map(|node| node.value.items()).unwrap_or_default();
    for (number, step) in steps.iter().enumerate() {
        let Some(name) = text(step, "combo") else { continue };
        let Some(next) = lines.iter().position(|(_, line)| text(line, "name") == Some(name)) else {
            continue;
        };
        if let Some(at) = trail.iter().position(|known| *known == next) {
            let circle = trail[at..].to_vec();
            let mut members = circle.clone();
            members.sort_unstable();
            if !told.contains(&members) {
                told.push(members);
                found.push((circle, number));
            }
        } else if !done.contains(&next) && trail.len() < LEVELS {
            trail.push(next);
            walk(lines, trail, done, told, found);
            trail.pop();
        }
    }
    done.extend(trail.last());
}

/// A combo as far as it can be read; what cannot was told by the walk, and is filled in so that nothing is told twice.
fn combo(line: &Node) -> ComboConfig {
    let steps = line.get("steps").map(|node| node.value.items()).unwrap_or_default().iter().map(|step| {
        if let Some(model) = step.value.text() {
            return StepConfig::model(model);
        }
        let several = step.get("connections").map(|node| {
            node.value
                .items()
                .iter()
                .filter_map(|item| item.value.text().map(str::to_owned))
                .collect::<Vec<_>>()
        });
        StepConfig {
            model: text(step, "model").map(str::to_owned),
            combo: text(step, "combo").map(str::to_owned),
            prompt: text(step, "prompt").map(str::to_owned),
            accounts: accounts(text(step, "connection"), several.as_deref()),
            ..StepConfig::default()
        }
    });
    let strategy = text(line, "strategy").unwrap_or("priority");
    let mut config = ComboConfig::new(text(line, "name").unwrap_or("unnamed"), strategy, steps.collect());
    config.account_strategy = text(line, "account_strategy").map(str::to_owned);
    if let Some(node) = line.get("options") {
        let plain =
            |member: &super::super::tree::Member| Some((member.key.clone(), option(&plain(&member.node)?)?));
        config.options = node.value.members().iter().filter_map(plain).collect();
    }
    if let Some(plan) = text(line, "compression") {
        config.options.insert("compression".to_owned(), omniroute_route::OptionValue::Text(plan.to_owned()));
    }
    if let Some(judge) = text(line, "judge") {
        config.options.insert("judge".to_owned(), omniroute_route::OptionValue::Text(judge.to_owned()));
    }
    config
}

/// A value as it is; none: it holds something that no setting takes.
pub(super) fn plain(node: &Node) -> Option<serde_json::Value> {
    Some(match &node.value {
        Value::Flag(flag) => (*flag).into(),
        Value::Whole(number) => (*number).into(),
        Value::Number(number) => serde_json::Number::from_f64(*number)?.into(),
        Value::Text(text) => text.clone().into(),
        Value::List(items) => items.iter().map(plain).collect::<Option<Vec<_>>>()?.into(),
        Value::Table(members) => {
            let pairs = members.iter().map(|member| Some((member.key.clone(), plain(&member.node)?)));
            serde_json::Value::Object(pairs.collect::<Option<_>>()?)
        }
        Value::Other => return None,
    })
}

/// The way of a place in the router's words: `combo.daily.step[2].weight`.
fn way(names: &[String], path: &str) -> Vec<String> {
    let Some(rest) = path.strip_prefix("combo.") else { return Vec::new() };
    let fits = |name: &&String| {
        rest.strip_prefix(name.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    let Some(name) = names.iter().filter(fits).max_by_key(|name| name.len()) else { return Vec::new() };
    // Of two with the same name the second is wrong.
    let at = names.iter().rposition(|known| known == name).unwrap_or_default();
    let mut out = vec!["combos".to_owned(), at.to_string()];
    let mut rest = rest.get(name.len()..).unwrap_or_default().trim_start_matches('.');
    if let Some(step) = rest.strip_prefix("step[")
        && let Some((number, more)) = step.split_once(']')
    {
        let number = number.parse::<usize>().unwrap_or(1).saturating_sub(1);
        out.extend(["steps".to_owned(), number.to_string()]);
        rest = more.trim_start_matches('.');
    } else if !matches!(rest, "" | "strategy" | "account_strategy" | "judge" | "compression") {
        out.push("options".to_owned());
    }
    let parts = rest.split('.').filter(|part| !part.is_empty());
    out.extend(parts.map(|part| if part == "accounts" { "connections".to_owned() } else { part.to_owned() }));
    out
}

/// A message without the name that was probably meant, and that name.
pub(super) fn parted(message: &str) -> (String, Option<String>) {
    for mark in ["; did you mean provider \"", "; did you mean \""] {
        if let Some((rest, name)) = message.split_once(mark)
            && let Some(name) = name.strip_suffix('"').or_else(|| name.strip_suffix("\"?"))
        {
            return (rest.to_owned(), Some(name.to_owned()));
        }
    }
    (message.to_owned(), None)
}
