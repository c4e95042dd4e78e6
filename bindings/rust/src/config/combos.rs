//! Combos in a configuration: named lists of steps with what holds for all of them.

use omniroute_compress::caveman::Language;
use omniroute_compress::{
    Combo, ComboError, Combos, ENGINES, EngineEntry, Gates, OutputStyle, Plan, Rewrite, Step, engine,
};

use super::Config;
use super::error::Mistake;
use super::read::{Reader, join};
use super::suggest::suggestion;
use super::tree::{Node, Value};

const COMBO_KEYS: &[&str] = &["name", "steps", "languages", "gates", "rewrite", "output_style"];
const GATE_KEYS: &[&str] = &["min_gain", "min_bytes"];
const STEP_KEYS: &[&str] = &["engine", "level", "config"];

impl Reader {
    pub(super) fn combos(&mut self, path: &str, node: &Node, config: &mut Config) {
        let Value::List(items) = &node.value else {
            self.wrong(path, node, "a list of tables");
            return;
        };
        let mut combos = Combos::default();
        for (n, item) in items.iter().enumerate() {
            let at = format!("{path}[{n}]");
            let known = self.mistakes.len();
            let (mut name, mut steps) = (None, Vec::new());
            let mut more: Vec<Box<dyn FnOnce(Combo) -> Combo>> = Vec::new();
            for member in self.table(&at, item) {
                let inner = join(&at, &member.key);
                match member.key.as_str() {
                    "name" => name = self.text(&inner, &member.node).map(|text| (text, &member.node)),
                    "steps" => steps = self.steps(&inner, &member.node),
                    "languages" => {
                        let list = self.languages(&inner, &member.node);
                        more.push(Box::new(|combo| combo.languages(list)));
                    }
                    "gates" => {
                        let gates = self.gates(&inner, &member.node);
                        more.push(Box::new(move |combo| combo.gates(gates)));
                    }
                    "rewrite" => {
                        if let Some(rewrite) = self.rewrite(&inner, &member.node) {
                            more.push(Box::new(move |combo| combo.rewrite(rewrite)));
                        }
                    }
                    "output_style" => {
                        if let Some(style) = self.style(&inner, &member.node) {
                            more.push(Box::new(|combo| combo.output_style(style)));
                        }
                    }
                    key => self.unknown(&at, member, key, COMBO_KEYS.iter().copied()),
                }
            }
            let Some((name, named)) = name else {
                self.mistakes.push(Mistake::new(at, "a combo needs a \"name\"", item.place));
                continue;
            };
            let combo = Combo::new(name, name, steps);
            let combo = more.into_iter().fold(combo, |combo, more| more(combo));
            let place = join(&at, "name");
            if Plan::parse(name).is_ok() {
                self.wrong(&place, named, "a new name: a plan or an engine has it");
                continue;
            }
            match combos.add(combo.clone()) {
                Ok(()) => config.combos.push(combo),
                // Mistakes in steps have been named where they stand.
                Err(ComboError::Steps { errors, .. }) => {
                    if self.mistakes.len() == known {
                        let message = errors.to_string();
                        self.mistakes.push(Mistake::new(at, message, item.place));
                    }
                    // Known, so that a plan may name it without a mistake of its own.
                    let named = Combo::new(name, name, []);
                    let _ = combos.add(named.clone());
                    config.combos.push(named);
                }
                Err(ComboError::TooManySteps { steps, .. }) => {
                    let message = format!("{steps} steps are more than 16");
                    self.mistakes.push(Mistake::new(join(&at, "steps"), message, item.place));
                }
                Err(ComboError::Duplicate(_)) => self.wrong(&place, named, "a new name: it is taken"),
                Err(_) => {
                    self.wrong(&place, named, "a name of 1 to 64 characters without commas and line ends")
                }
            }
        }
    }

    fn languages(&mut self, path: &str, node: &Node) -> Vec<String> {
        let Value::List(items) = &node.value else {
            self.wrong(path, node, "a list of languages");
            return Vec::new();
        };
        let known = Language::ALL.map(Language::tag);
        let mut out = Vec::new();
        for (n, item) in items.iter().enumerate() {
            let at = format!("{path}[{n}]");
            let Some(text) = self.text(&at, item) else { continue };
            if known.contains(&text) {
                out.push(text.to_owned());
            } else {
                let hint = suggestion(text, known.into_iter());
                let message = format!("{} is not one of {}{hint}", item.value.shown(), known.join(", "));
                self.mistakes.push(Mistake::new(at, message, item.place));
            }
        }
        out
    }

    fn gates(&mut self, path: &str, node: &Node) -> Gates {
        let mut gates = Gates::default();
        for member in self.table(path, node) {
            let inner = join(path, &member.key);
            match member.key.as_str() {
                "min_gain" => {
                    let percent = self.size(&inner, &member.node, 0, 90).and_then(|n| u8::try_from(n).ok());
                    gates = gates.min_gain(percent.unwrap_or_default());
                }
                "min_bytes" => {
                    gates = gates.min_bytes(self.size(&inner, &member.node, 0, 4 << 20).unwrap_or_default());
                }
                key => self.unknown(path, member, key, GATE_KEYS.iter().copied()),
            }
        }
        gates
    }

    fn rewrite(&mut self, path: &str, node: &Node) -> Option<Rewrite> {
        let word = self.text(path, node)?;
        let known = Rewrite::parse(word, 60_000);
        if known.is_none() {
            self.wrong(path, node, "one of \"never\", \"cold_only\", \"threshold\", \"always\"");
        }
        known
    }

    fn style(&mut self, path: &str, node: &Node) -> Option<OutputStyle> {
        let text = self.text(path, node)?;
        let style = OutputStyle::parse(text);
        if let Err(errors) = &style {
            let message = errors.to_string();
            let message = message.strip_prefix("output_style: ").unwrap_or(&message).to_owned();
            self.mistakes.push(Mistake::new(path, message, node.place));
        }
        style.ok()
    }

    fn steps(&mut self, path: &str, node: &Node) -> Vec<Step> {
        let Value::List(items) = &node.value else {
            self.wrong(path, node, "a list of engines");
            return Vec::new();
        };
        let mut seen: Vec<&str> = Vec::new();
        let mut steps = Vec::new();
        for (n, item) in items.iter().enumerate() {
            let at = format!("{path}[{n}]");
            let Some((entry, step)) = self.step(&at, item) else { continue };
            if seen.contains(&entry.info.id) {
                let message = format!("engine \"{}\" is named twice", entry.info.id);
                self.mistakes.push(Mistake::new(at, message, item.place));
            }
            seen.push(entry.info.id);
            steps.push(step);
        }
        steps
    }

    /// `"rtk"`, `"rtk:minimal"` or `{ engine = "rtk", level = "minimal", config = { .. } }`.
    fn step(&mut self, at: &str, node: &Node) -> Option<(&'static EngineEntry, Step)> {
        let (mut name, mut level, mut config) = (None, None, None);
        match &node.value {
            Value::Text(text) => match text.split_once(':') {
                Some((engine, rest)) => (name, level) = (Some((engine, node)), Some((rest, node))),
                None => name = Some((text.as_str(), node)),
            },
            Value::Table(members) => {
                for member in members {
                    let inner = join(at, &member.key);
                    match member.key.as_str() {
                        "engine" => name = self.text(&inner, &member.node).map(|text| (text, &member.node)),
                        "level" => level = self.text(&inner, &member.node).map(|text| (text, &member.node)),
                        "config" => config = Some((inner, &member.node)),
                        key => self.unknown(at, member, key, STEP_KEYS.iter().copied()),
                    }
                }
            }
            _ => {
                self.wrong(at, node, "an engine or a table with \"engine\"");
                return None;
            }
        }
        let Some((name, named)) = name else {
            self.mistakes.push(Mistake::new(at, "a step needs an \"engine\"", node.place));
            return None;
        };
        let Some(entry) = engine(name) else {
            let hint = suggestion(name, ENGINES.iter().map(|e| e.info.id));
            let shown = Value::Text(name.to_owned()).shown();
            self.mistakes.push(Mistake::new(at, format!("engine {shown} is not known{hint}"), named.place));
            return None;
        };
        let mut step = Step::new(entry.info.id);
        if let Some((level, place)) = level {
            let field = entry.level.and_then(|key| entry.fields.iter().find(|f| f.key == key));
            match field {
                Some(field) if field.choices.contains(&level) => {
                    step = Step::new(format!("{}:{level}", entry.info.id));
                }
                Some(field) => {
                    let words = field.choices.join(", ");
                    let shown = Value::Text(level.to_owned()).shown();
                    let message = format!("level {shown} is not one of {words}");
                    self.mistakes.push(Mistake::new(at, message, place.place));
                }
                None => {
                    let message = format!("engine \"{}\" has no levels", entry.info.id);
                    self.mistakes.push(Mistake::new(at, message, place.place));
                }
            }
        }
        if let Some((path, node)) = config {
            for (key, value) in self.settings(&path, node, entry) {
                step = step.with(key, value);
            }
        }
        Some((entry, step))
    }
}
