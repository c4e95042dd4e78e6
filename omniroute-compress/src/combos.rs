//! Named profiles of compression that routes may refer to: steps under a name, kept in a set with its rules.

use std::collections::BTreeMap;

use crate::config::{ConfigError, ConfigErrors, Step, Value, suggestion};
use crate::entry::Parts;
use crate::gates::Gates;
use crate::plan::{Plan, Steps};
use crate::registry::engine;
use crate::rewrite::Rewrite;
use crate::style::OutputStyle;

/// Most steps of a combo.
const MAX_STEPS: usize = 16;
/// Longest name, in characters.
const MAX_NAME: usize = 64;
/// The setting of a step that names languages.
const LANGUAGES: &str = "languages";

/// A named list of steps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Combo {
    id: String,
    name: String,
    steps: Vec<Step>,
    rewrite: Option<Rewrite>,
    style: Option<OutputStyle>,
    languages: Vec<String>,
    gates: Gates,
}

impl Combo {
    /// A combo; `id` is for programs and never changes, `name` is for people.
    pub fn new(
        id: impl Into<String>,
        name: impl Into<String>,
        steps: impl IntoIterator<Item = Step>,
    ) -> Self {
        let steps = steps.into_iter().collect();
        Combo {
            id: id.into(),
            name: name.into(),
            steps,
            rewrite: None,
            style: None,
            languages: Vec::new(),
            gates: Gates::default(),
        }
    }

    /// When its steps may rewrite older turns; by default as the compressor was told.
    #[must_use]
    pub fn rewrite(mut self, rewrite: Rewrite) -> Self {
        self.rewrite = Some(rewrite);
        self
    }

    /// The style that answers are asked to have; by default that of the compressor.
    #[must_use]
    pub fn output_style(mut self, style: OutputStyle) -> Self {
        self.style = Some(style);
        self
    }

    /// The languages whose rules act on prose, as the step `caveman` names them; by default all. A step that names
    /// languages itself keeps them. A combo without a step that has rules by language cannot have it.
    #[must_use]
    pub fn languages<I: Into<String>>(mut self, languages: impl IntoIterator<Item = I>) -> Self {
        self.languages = languages.into_iter().map(Into::into).collect();
        self
    }

    /// What a text and a change must bring with them to be worth it, for all its steps.
    #[must_use]
    pub fn gates(mut self, gates: Gates) -> Self {
        self.gates = gates;
        self
    }

    /// The id.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The steps in order.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// The steps with their engines made.
    pub(crate) fn build(
        &self,
        extra: &[std::sync::Arc<dyn omniroute_core::CompressionEngine>],
        parts: &Parts,
    ) -> Result<Steps, ConfigErrors> {
        let mut errors = self.gates.check();
        let mut used = self.languages.is_empty();
        let step = |step: &Step| {
            let has = |key| engine(step.engine()).is_some_and(|e| e.fields.iter().any(|f| f.key == key));
            if self.languages.is_empty() || !has(LANGUAGES) {
                return step.clone();
            }
            used = true;
            step.clone().or_with(LANGUAGES, Value::List(self.languages.clone()))
        };
        let steps = Plan::of(self.steps.iter().map(step)).build(extra, parts);
        if !used {
            let rule = "no step of it has rules by language; caveman has";
            errors.push(ConfigError::new("languages", rule));
        }
        match steps {
            Ok(steps) if errors.is_empty() => {
                Ok(steps.named(&self.name).rewrite(self.rewrite).style(self.style.as_ref()).gates(self.gates))
            }
            Ok(_) => Err(ConfigErrors(errors)),
            Err(mut found) => {
                found.0.append(&mut errors);
                Err(found)
            }
        }
    }
}

/// Why a set of combos did not take a change.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ComboError {
    /// A step that there is not, or a setting that may not be.
    #[error("combo \"{name}\": {errors}")]
    Steps {
        /// The combo.
        name: String,
        /// Every mistake.
        errors: ConfigErrors,
    },
    /// The name or the id is taken; case does not matter.
    #[error("combo \"{0}\": the name or the id is taken")]
    Duplicate(String),
    /// The name or the id is empty, too long or has a comma.
    #[error("combo \"{0}\": names and ids have 1 to 64 characters, none of them a comma or a line end")]
    Name(String),
    /// There are too many steps.
    #[error("combo \"{name}\": {steps} steps are more than 16")]
    TooManySteps {
        /// The combo.
        name: String,
        /// Its steps.
        steps: usize,
    },
    /// Routes refer to it, or it is the active one.
    #[error("combo \"{name}\" is in use by {}", users.join(", "))]
    InUse {
        /// The combo.
        name: String,
        /// Who refers to it.
        users: Vec<String>,
    },
    /// There is no such combo.
    #[error("there is no combo \"{name}\"{hint}")]
    Unknown {
        /// What was asked for.
        name: String,
        /// The nearest name, as a question.
        hint: String,
    },
}

impl ComboError {
    /// Stable code for programs and other languages.
    pub fn code(&self) -> &'static str {
        match self {
            ComboError::Steps { .. } => "unknown_step",
            ComboError::Duplicate(_) => "duplicate_name",
            ComboError::Name(_) => "bad_name",
            ComboError::TooManySteps { .. } => "too_many_steps",
            ComboError::InUse { .. } => "in_use",
            ComboError::Unknown { .. } => "unknown_combo",
        }
    }
}

/// A set of combos, which routes refer to which, and which one is active.
///
/// ```
/// use omniroute_compress::{Combo, Combos, Compress, Step};
/// let mut combos = Combos::default();
/// combos.add(Combo::new("c1", "Tables only", [Step::new("rows")]))?;
/// combos.assign("my-route", "tables only")?;
/// assert_eq!(combos.for_route("my-route").map(|c| c.id()), Some("c1"));
/// assert_eq!(combos.remove("c1").unwrap_err().to_string(), "combo \"Tables only\" is in use by my-route");
/// let compressor = Compress::builder().combos(combos).build().expect("all steps are known");
/// # Ok::<(), omniroute_compress::ComboError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Combos {
    list: Vec<Combo>,
    routes: BTreeMap<String, String>,
    active: Option<String>,
}

impl Default for Combos {
    /// The presets `off`, `safe`, `classic`, `context-rescue` and `api-data`; none is active.
    ///
    /// `context-rescue` rewrites the history in the request that names it, whatever the provider has cached: it is for
    /// conversations that no longer fit.
    fn default() -> Self {
        let steps = |names: &[&str]| names.iter().map(|name| Step::new(*name)).collect::<Vec<_>>();
        let preset = |name: &str, list: &[&str]| Combo::new(name, name, steps(list));
        let safe = Plan::default();
        let rescue = ["session-dedup", "rtk", "rows", "lite", "caveman:full", "aggressive", "ultra"];
        Combos {
            list: vec![
                preset("off", &[]),
                Combo::new("safe", "safe", safe.steps().iter().cloned()),
                preset("classic", &["rtk", "caveman:full"]),
                preset("context-rescue", &rescue).rewrite(Rewrite::Always),
                preset("api-data", &["rows", "ionizer", "ccr"]),
            ],
            routes: BTreeMap::new(),
            active: None,
        }
    }
}

impl Combos {
    /// Adds a combo.
    ///
    /// # Errors
    /// A bad or taken name, too many steps, a step that there is not.
    pub fn add(&mut self, combo: Combo) -> Result<(), ComboError> {
        let taken = |name: &str| {
            let same =
                |c: &Combo| [&c.id, &c.name].iter().any(|own| own.to_lowercase() == name.to_lowercase());
            self.list.iter().any(same)
        };
        for name in [&combo.id, &combo.name] {
            let bad = |c: char| c == ',' || c.is_control();
            if !(1..=MAX_NAME).contains(&name.chars().count()) || name.contains(bad) || name.trim() != name {
                return Err(ComboError::Name(name.clone()));
            }
            if taken(name) {
                return Err(ComboError::Duplicate(name.clone()));
            }
        }
        if combo.steps.len() > MAX_STEPS {
            return Err(ComboError::TooManySteps { name: combo.name, steps: combo.steps.len() });
        }
        if let Err(errors) = combo.build(&[], &Parts::default()) {
            return Err(ComboError::Steps { name: combo.name, errors });
        }
        self.list.push(combo);
        Ok(())
    }

    /// Takes a combo out by name or id.
    ///
    /// # Errors
    /// There is none, or something refers to it.
    pub fn remove(&mut self, name: &str) -> Result<Combo, ComboError> {
        let id = self.known(name)?.id.clone();
        let mut users: Vec<String> =
            self.routes.iter().filter(|(_, combo)| **combo == id).map(|(route, _)| route.clone()).collect();
        if self.active.as_ref() == Some(&id) {
            users.push("the active profile".to_owned());
        }
        let at = self.list.iter().position(|combo| combo.id == id).unwrap_or_default();
        if users.is_empty() {
            return Ok(self.list.remove(at));
        }
        Err(ComboError::InUse { name: self.list.get(at).map_or(id, |combo| combo.name.clone()), users })
    }

    /// Says that a route uses a combo, by name or id; in place of the one before.
    ///
    /// # Errors
    /// There is no such combo.
    pub fn assign(&mut self, route: impl Into<String>, name: &str) -> Result<(), ComboError> {
        let id = self.known(name)?.id.clone();
        self.routes.insert(route.into(), id);
        Ok(())
    }

    /// Says that a route uses no combo of its own.
    pub fn unassign(&mut self, route: &str) {
        self.routes.remove(route);
    }

    /// Makes one combo the profile of all requests that name none, or none of them.
    ///
    /// # Errors
    /// There is no such combo.
    pub fn activate(&mut self, name: Option<&str>) -> Result<(), ComboError> {
        self.active = name.map(|name| self.known(name).map(|combo| combo.id.clone())).transpose()?;
        Ok(())
    }

    /// The combo with this name, else the one with this id. Case does not matter.
    pub fn get(&self, name: &str) -> Option<&Combo> {
        let low = name.to_lowercase();
        let by = |key: fn(&Combo) -> &str| self.list.iter().find(|combo| key(combo).to_lowercase() == low);
        by(Combo::name).or_else(|| by(Combo::id))
    }

    /// The combo that a route refers to.
    pub fn for_route(&self, route: &str) -> Option<&Combo> {
        self.routes.get(route).and_then(|id| self.list.iter().find(|combo| combo.id == *id))
    }

    /// The active combo.
    pub fn active(&self) -> Option<&Combo> {
        self.active.as_ref().and_then(|id| self.list.iter().find(|combo| combo.id == *id))
    }

    /// All combos in the order in which they were added, the presets first.
    pub fn iter(&self) -> impl Iterator<Item = &Combo> {
        self.list.iter()
    }

    fn known(&self, name: &str) -> Result<&Combo, ComboError> {
        self.get(name).ok_or_else(|| ComboError::Unknown {
            name: name.to_owned(),
            hint: suggestion(name, self.list.iter().map(|combo| combo.name.as_str())),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_refuses_what_would_not_work_and_names_it() {
        let mut combos = Combos::default();
        let one = |name: &str, steps: Vec<Step>| Combo::new(format!("id-{name}"), name, steps);
        combos.add(one("Mine", vec![Step::new("rows")])).unwrap();
        let many: Vec<Step> = (0..17).map(|_| Step::new("rows")).collect();
        for (combo, code, message) in [
            (one("mine", vec![]), "duplicate_name", "combo \"id-mine\": the name or the id is taken"),
            (one("SAFE", vec![]), "duplicate_name", "combo \"SAFE\": the name or the id is taken"),
            (
                one("a,b", vec![]),
                "bad_name",
                "combo \"id-a,b\": names and ids have 1 to 64 characters, none of them a comma or a line end",
            ),
            (one(&"x".repeat(65), vec![]), "bad_name", "names and ids have 1 to 64 characters"),
            (one("many", many), "too_many_steps", "combo \"many\": 17 steps are more than 16"),
            (
                one("typo", vec![Step::new("ionizr")]),
                "unknown_step",
                "combo \"typo\": plan: engine \"ionizr\" is not known; did you mean \"ionizer\"?",
            ),
        ] {
            let error = combos.add(combo).unwrap_err();
            assert_eq!(error.code(), code);
            assert!(error.to_string().contains(message), "{error}");
        }
        let error = combos.assign("r", "Min").unwrap_err();
        assert_eq!(
            (error.code(), error.to_string().as_str()),
            ("unknown_combo", "there is no combo \"Min\"; did you mean \"Mine\"?")
        );
        combos.assign("r", "mine").unwrap();
        combos.assign("s", "ID-Mine").unwrap();
        combos.activate(Some("mine")).unwrap();
        let error = combos.remove("mine").unwrap_err();
        assert_eq!(error.code(), "in_use");
        assert_eq!(error.to_string(), "combo \"Mine\" is in use by r, s, the active profile");
        combos.activate(None).unwrap();
        combos.unassign("r");
        assert!(combos.remove("mine").is_err(), "s refers to it");
        combos.assign("s", "safe").unwrap();
        assert_eq!(combos.remove("mine").unwrap().name(), "Mine");
        assert!(combos.get("mine").is_none() && combos.for_route("r").is_none());
    }

    #[test]
    fn presets_are_there_and_names_come_before_ids() {
        let mut combos = Combos::default();
        let names: Vec<&str> = combos.iter().map(Combo::name).collect();
        assert_eq!(names, ["off", "safe", "classic", "context-rescue", "api-data"]);
        for combo in combos.iter() {
            assert!(combo.build(&[], &Parts::default()).is_ok(), "{}", combo.name());
        }
        assert_eq!(combos.get("classic").unwrap().steps().len(), 2);
        combos.add(Combo::new("x", "y", [])).unwrap();
        assert!(
            matches!(combos.add(Combo::new("y", "z", [])), Err(ComboError::Duplicate(_))),
            "a name is no id"
        );
        assert_eq!(combos.get("x").map(Combo::name), Some("y"));
    }
}
