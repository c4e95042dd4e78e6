//! From the text a client calls a model to what it means. The order is fixed, the first match wins.

use std::sync::Arc;

use omniroute_core::route::{RouteError, RouteErrorKind};

use crate::auto_name::{AutoName, auto_name, auto_names};
use crate::combo::Combos;
use crate::directory::{Directory, Named, named};
use crate::names::nearest;

/// Names that a client may use for something else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mapping {
    /// What the client says; `*` stands for anything.
    pub from: String,
    /// What is meant: a combo, an `auto` name or a model.
    pub to: String,
}

/// What a name means.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Route {
    /// A combo, by its name.
    Combo(Arc<str>),
    /// The best of all connections.
    Auto(AutoName),
    /// A model of a provider.
    Model {
        /// Whose.
        provider: Arc<str>,
        /// Which.
        model: Arc<str>,
    },
}

/// By which rule a name was understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Rule {
    /// The name of a combo.
    Combo,
    /// `combo/` and the name of a combo.
    ComboPrefix,
    /// A mapping without a star.
    Mapping,
    /// A mapping with a star.
    Pattern,
    /// An `auto` name.
    Auto,
    /// Provider and model.
    Full,
    /// A model that only one configured provider has.
    Bare,
}

/// A name, understood.
#[derive(Debug, Clone, PartialEq)]
pub struct Resolved {
    /// What it means.
    pub route: Route,
    /// By which rule.
    pub rule: Rule,
    /// The name itself, or what a mapping puts in its place; without blanks around it.
    pub meant: String,
}

/// Finds what a name means.
///
/// # Behavior
/// - Combos first, then `combo/` names, mappings (exact ones, then patterns: the longest text before the star wins, then
///   the order they were written), `auto` names, `provider/model`, and last a model that one configured provider has.
/// - Case counts for combos and mappings, not for `auto` names and providers. Blanks around the name do not.
/// - What a mapping leads to is not mapped again.
///
/// # Errors
/// `missing_model`, `unknown_auto_name`, `ambiguous_model` with up to five spellings, `unknown_model` with up to three
/// names that are near.
pub fn resolve(
    text: &str,
    combos: &Combos,
    mappings: &[Mapping],
    directory: &dyn Directory,
) -> Result<Resolved, RouteError> {
    let text = text.trim();
    if text.is_empty() {
        return Err(RouteError::new(RouteErrorKind::MissingModel, "the request names no model"));
    }
    if let Some(found) = combo(text, combos) {
        return found;
    }
    let exact = mappings.iter().find(|mapping| mapping.from == text).map(|mapping| (mapping, Rule::Mapping));
    let mapped = exact.or_else(|| pattern(text, mappings).map(|mapping| (mapping, Rule::Pattern)));
    if let Some((mapping, rule)) = mapped {
        let meant = mapping.to.trim();
        let found = combo(meant, combos).unwrap_or_else(|| direct(meant, combos, directory)).map_err(
            |mut error| {
                error.message = format!("model {text:?} is mapped to {meant:?}: {}", error.message);
                error
            },
        )?;
        return Ok(Resolved { rule, ..found });
    }
    direct(text, combos, directory)
}

impl Resolved {
    fn new(route: Route, rule: Rule, meant: &str) -> Self {
        Resolved { route, rule, meant: meant.to_owned() }
    }
}

fn combo(text: &str, combos: &Combos) -> Option<Result<Resolved, RouteError>> {
    if let Some(combo) = combos.get(text) {
        return Some(Ok(Resolved::new(Route::Combo(combo.name.clone()), Rule::Combo, text)));
    }
    let name = text.strip_prefix("combo/")?;
    Some(match combos.get(name) {
        Some(combo) => Ok(Resolved::new(Route::Combo(combo.name.clone()), Rule::ComboPrefix, text)),
        None => {
            let mut error =
                RouteError::new(RouteErrorKind::UnknownModel, format!("there is no combo {:?}", shown(name)));
            error.suggestions = nearest(name, combos.iter().map(|combo| &*combo.name), 3);
            Err(error)
        }
    })
}

fn direct(text: &str, combos: &Combos, directory: &dyn Directory) -> Result<Resolved, RouteError> {
    if let Some(auto) = auto_name(text) {
        return Ok(Resolved::new(Route::Auto(auto?), Rule::Auto, text));
    }
    let providers = directory.providers();
    let (provider, model, rule) = match named(text, &providers, directory) {
        Named::Full(provider, model) => (provider, model, Rule::Full),
        Named::Bare(provider) => (provider, text.into(), Rule::Bare),
        Named::Nobody => return Err(unknown(text, combos, &providers, directory)),
        Named::Several(owners) => {
            let message =
                format!("model {:?} is there at {} configured providers", shown(text), owners.len());
            let mut error = RouteError::new(RouteErrorKind::AmbiguousModel, message);
            error.suggestions = owners.iter().take(5).map(|owner| format!("{owner}/{text}")).collect();
            return Err(error);
        }
    };
    Ok(Resolved::new(Route::Model { provider, model }, rule, text))
}

fn unknown(text: &str, combos: &Combos, providers: &[Arc<str>], directory: &dyn Directory) -> RouteError {
    let message =
        format!("model {:?} is no combo, no auto name and no model of a configured provider", shown(text));
    let mut error = RouteError::new(RouteErrorKind::UnknownModel, message);
    let mut names: Vec<String> = combos.iter().map(|combo| combo.name.to_string()).collect();
    names.extend(auto_names());
    for provider in providers {
        for model in directory.models(provider) {
            names.push(format!("{provider}/{model}"));
            names.push(model.to_string());
        }
    }
    error.suggestions = nearest(text, names.iter().map(String::as_str), 3);
    error
}

fn pattern<'a>(text: &str, mappings: &'a [Mapping]) -> Option<&'a Mapping> {
    let literal = |mapping: &Mapping| mapping.from.split('*').next().map_or(0, str::len);
    let mut best: Option<&Mapping> = None;
    for mapping in
        mappings.iter().filter(|mapping| mapping.from.contains('*') && matches(&mapping.from, text))
    {
        if best.is_none_or(|best| literal(mapping) > literal(best)) {
            best = Some(mapping);
        }
    }
    best
}

/// Whether a text fits a pattern in which `*` stands for anything, also nothing.
fn matches(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| text.strip_prefix(first)) else { return false };
    let mut parts: Vec<&str> = parts.collect();
    let last = parts.pop().unwrap_or("");
    for part in parts {
        let Some((_, after)) = rest.split_once(part) else { return false };
        rest = after;
    }
    rest.ends_with(last)
}

fn shown(text: &str) -> String {
    text.chars().take(60).collect()
}

#[cfg(test)]
mod tests {
    use omniroute_core::ModelFact;

    use super::*;
    use crate::combo::{ComboConfig, StepConfig};
    use crate::directory::{Connection, Listed};

    fn world() -> (Combos, Vec<Mapping>, Listed) {
        let directory = Listed::new()
            .connection(Connection::new("openai", "a"))
            .connection(Connection::new("azure", "a"))
            .connection(Connection::new("openrouter", "a"))
            .model("openai", "gpt-4o", ModelFact::default())
            .model("azure", "gpt-4o", ModelFact::default())
            .model("openai", "o3", ModelFact::default())
            .model("openrouter", "meta/llama-4", ModelFact::default());
        let combo = |name: &str| ComboConfig {
            name: name.to_owned(),
            strategy: "priority".to_owned(),
            steps: vec![StepConfig::model("openai/gpt-4o")],
            ..ComboConfig::default()
        };
        let combos = Combos::load(vec![combo("daily"), combo("o3")], &directory).unwrap();
        let to = |from: &str, to: &str| Mapping { from: from.to_owned(), to: to.to_owned() };
        let mappings = vec![
            to("claude-*", "daily"),
            to("claude-opus-*", "auto/smart"),
            to("claude-opus-*-x", "auto/fast"),
            to("claude-opus-9", "openai/o3"),
            to("*-mini", "auto/cheap"),
            to("lost", "nowhere"),
        ];
        (combos, mappings, directory)
    }

    fn said(text: &str) -> Result<(String, Rule), RouteError> {
        let (combos, mappings, directory) = world();
        resolve(text, &combos, &mappings, &directory).map(|found| {
            let route = match found.route {
                Route::Combo(name) => format!("combo {name}"),
                Route::Auto(auto) => format!("auto {:?}", auto.mode),
                Route::Model { provider, model } => format!("{provider} | {model}"),
            };
            (route, found.rule)
        })
    }

    #[test]
    fn the_first_rule_wins() {
        let cases = [
            (" daily ", "combo daily", Rule::Combo),
            ("o3", "combo o3", Rule::Combo),
            ("combo/daily", "combo daily", Rule::ComboPrefix),
            ("claude-opus-9", "openai | o3", Rule::Mapping),
            ("claude-haiku", "combo daily", Rule::Pattern),
            ("claude-opus-4", "auto QualityFirst", Rule::Pattern),
            ("claude-opus-4-x", "auto QualityFirst", Rule::Pattern),
            ("gpt-5-mini", "auto CostSaver", Rule::Pattern),
            ("auto", "auto Default", Rule::Auto),
            ("AUTO/Fast", "auto ShipFast", Rule::Auto),
            ("OpenAI/gpt-4o", "openai | gpt-4o", Rule::Full),
            ("openrouter/meta/llama-4", "openrouter | meta/llama-4", Rule::Full),
            ("openai/not-in-the-catalogue", "openai | not-in-the-catalogue", Rule::Full),
            ("meta/llama-4", "openrouter | meta/llama-4", Rule::Bare),
        ];
        for (text, route, rule) in cases {
            assert_eq!(said(text).unwrap(), (route.to_owned(), rule), "{text}");
        }
    }

    #[test]
    fn errors_help() {
        let fails = |text| {
            let error = said(text).unwrap_err();
            (error.kind, error.suggestions.join(" "))
        };
        assert_eq!(fails("  ").0, RouteErrorKind::MissingModel);
        assert_eq!(
            fails("gpt-4o"),
            (RouteErrorKind::AmbiguousModel, "openai/gpt-4o azure/gpt-4o".to_owned())
        );
        assert_eq!(fails("dayly"), (RouteErrorKind::UnknownModel, "daily".to_owned()));
        assert_eq!(fails("combo/dialy"), (RouteErrorKind::UnknownModel, "daily".to_owned()));
        assert_eq!(fails("Daily").0, RouteErrorKind::UnknownModel, "case counts for combos");
        assert_eq!(fails("opena/gpt-4o").1, "openai/gpt-4o");
        assert_eq!(fails("autocoding").0, RouteErrorKind::UnknownAutoName);
        let lost = said("lost").unwrap_err().to_string();
        assert!(
            lost.starts_with("model \"lost\" is mapped to \"nowhere\": model \"nowhere\" is no combo"),
            "{lost}"
        );
    }

    #[test]
    fn stars_stand_for_anything() {
        for (pattern, text, fits) in [
            ("a*", "a", true),
            ("a*c", "abc", true),
            ("a*c", "ac", true),
            ("a*c", "acb", false),
            ("*b*", "abc", true),
            ("a*b*c", "a-b-c", true),
            ("ab*ba", "aba", false),
        ] {
            assert_eq!(matches(pattern, text), fits, "{pattern} {text}");
        }
    }
}
