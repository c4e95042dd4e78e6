//! The names that begin with `auto`: what each means.

use omniroute_core::route::{Mode, RouteError, RouteErrorKind, TaskClass};

/// What an `auto` name asks for.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct AutoName {
    /// The set of weights.
    pub mode: Mode,
    /// The class of every request; none: told from the request.
    pub class: Option<TaskClass>,
    /// Learns from judged answers and tries things out.
    pub adaptive: bool,
    /// Share of requests that may try something out.
    pub exploration: f64,
    /// Which offers take part.
    pub filter: Filter,
    /// Which price of offers takes part.
    pub price: Price,
}

/// Which offers take part in an `auto` name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Filter {
    /// All.
    All,
    /// Those that see.
    Vision,
    /// Those that reason.
    Reasoning,
    /// Models of a family.
    Family(&'static str),
    /// Models of a provider.
    Provider(&'static str),
}

/// Which price of offers takes part in an `auto` name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Price {
    /// Any.
    Any,
    /// Only what costs nothing.
    Free,
    /// Only what is dear.
    Premium,
}

const PLAIN: AutoName = AutoName {
    mode: Mode::Default,
    class: None,
    adaptive: false,
    exploration: 0.0,
    filter: Filter::All,
    price: Price::Any,
};

const QUALITY: AutoName = AutoName { mode: Mode::QualityFirst, ..PLAIN };

/// Names after `auto/`, each with what it means.
const NAMES: [(&str, AutoName); 15] = [
    ("lkgp", PLAIN),
    ("fast", AutoName { mode: Mode::ShipFast, ..PLAIN }),
    ("cheap", AutoName { mode: Mode::CostSaver, ..PLAIN }),
    ("smart", AutoName { adaptive: true, exploration: 0.10, ..QUALITY }),
    ("offline", AutoName { mode: Mode::OfflineFriendly, ..PLAIN }),
    ("coding", AutoName { class: Some(TaskClass::Coding), ..QUALITY }),
    ("reasoning", AutoName { filter: Filter::Reasoning, ..QUALITY }),
    ("vision", AutoName { filter: Filter::Vision, ..QUALITY }),
    ("chat", PLAIN),
    ("multimodal", AutoName { filter: Filter::Vision, ..QUALITY }),
    ("glm", AutoName { filter: Filter::Family("glm"), ..PLAIN }),
    ("minimax", AutoName { filter: Filter::Family("minimax"), ..PLAIN }),
    ("mimo", AutoName { filter: Filter::Family("mimo"), ..PLAIN }),
    ("gemma", AutoName { filter: Filter::Family("gemma"), ..PLAIN }),
    ("llama", AutoName { filter: Filter::Family("llama"), ..PLAIN }),
];

const MORE: [(&str, AutoName); 2] = [
    ("gemini", AutoName { filter: Filter::Family("gemini"), ..PLAIN }),
    ("zai", AutoName { filter: Filter::Provider("zai"), ..PLAIN }),
];

/// Names that may be followed by a colon and a tier.
const CATEGORIES: [&str; 5] = ["coding", "reasoning", "vision", "chat", "multimodal"];

/// Tiers after the colon.
const TIERS: [(&str, Mode, Price); 6] = [
    ("fast", Mode::ShipFast, Price::Any),
    ("cheap", Mode::CostSaver, Price::Any),
    ("floor", Mode::CostSaver, Price::Any),
    ("reliable", Mode::ReliabilityFirst, Price::Any),
    ("free", Mode::CostSaver, Price::Free),
    ("pro", Mode::QualityFirst, Price::Premium),
];

/// Reads a name. `None`: it does not begin like an `auto` name. Case does not count.
///
/// # Errors
/// It begins like one and is none: the list of those there are.
pub fn auto_name(text: &str) -> Option<Result<AutoName, RouteError>> {
    let lower = text.trim().to_ascii_lowercase();
    let rest = lower.strip_prefix("auto")?;
    if rest.is_empty() || rest == "/" {
        return Some(Ok(PLAIN));
    }
    let found = match rest.strip_prefix('/') {
        Some(name) => named(name),
        // `autocoding`, `auto:fast`, `auto-x`: near enough to be meant.
        None if rest.starts_with(':') || known(rest) => None,
        None => return None,
    };
    Some(found.ok_or_else(|| unknown(text)))
}

/// All names that are accepted, without those with a tier.
pub fn auto_names() -> impl Iterator<Item = String> {
    let rest = NAMES.iter().chain(&MORE).map(|(name, _)| format!("auto/{name}"));
    std::iter::once("auto".to_owned()).chain(rest)
}

fn known(name: &str) -> bool {
    NAMES.iter().chain(&MORE).any(|(known, _)| *known == name)
}

fn named(name: &str) -> Option<AutoName> {
    let find =
        |name: &str| NAMES.iter().chain(&MORE).find(|(known, _)| *known == name).map(|(_, auto)| *auto);
    let Some((category, tier)) = name.split_once(':') else { return find(name) };
    let base = find(category).filter(|_| CATEGORIES.contains(&category))?;
    let (_, mode, price) = TIERS.iter().find(|(known, ..)| *known == tier)?;
    Some(AutoName { mode: *mode, price: *price, ..base })
}

fn unknown(text: &str) -> RouteError {
    let shown: String = text.trim().chars().take(60).collect();
    let tiers: Vec<&str> = TIERS.iter().map(|(name, ..)| *name).collect();
    let message = format!(
        "model {shown:?} is no auto name; a category ({}) may be followed by a colon and a tier ({})",
        CATEGORIES.join(", "),
        tiers.join(", ")
    );
    let mut error = RouteError::new(RouteErrorKind::UnknownAutoName, message);
    error.suggestions = auto_names().collect();
    error
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> AutoName {
        auto_name(text).unwrap().unwrap()
    }

    #[test]
    fn names_mean_what_they_say() {
        for plain in ["auto", "auto/", " AUTO ", "auto/lkgp", "Auto/Chat"] {
            assert_eq!(read(plain), PLAIN, "{plain}");
        }
        assert_eq!(read("auto/fast").mode, Mode::ShipFast);
        assert_eq!(read("auto/cheap").mode, Mode::CostSaver);
        assert_eq!(read("auto/offline").mode, Mode::OfflineFriendly);
        let coding = read("auto/coding");
        assert_eq!((coding.mode, coding.class), (Mode::QualityFirst, Some(TaskClass::Coding)));
        let smart = read("auto/smart");
        assert!(smart.adaptive && smart.exploration == 0.10);
        assert_eq!(read("auto/vision").filter, Filter::Vision);
        assert_eq!(read("auto/zai").filter, Filter::Provider("zai"));
        assert_eq!(read("auto/gemini").filter, Filter::Family("gemini"));
    }

    #[test]
    fn tiers_decide_weights_and_prices() {
        for (tier, mode, price) in TIERS {
            let name = read(&format!("auto/coding:{tier}"));
            assert_eq!((name.mode, name.price, name.class), (mode, price, Some(TaskClass::Coding)));
        }
        assert_eq!(read("auto/vision:free").filter, Filter::Vision);
    }

    #[test]
    fn only_smart_tries_things_out() {
        for (name, auto) in NAMES.iter().chain(&MORE) {
            assert_eq!(auto.exploration > 0.0, *name == "smart", "{name}");
        }
    }

    #[test]
    fn what_is_nearly_a_name_is_an_error_with_the_list() {
        for wrong in [
            "auto/:cheap",
            "auto/coding:",
            "auto/coding:fast:free",
            "auto/nope",
            "autocoding",
            "auto/fast:cheap",
            "auto:fast",
        ] {
            let error = auto_name(wrong).unwrap().unwrap_err();
            assert_eq!(error.kind, RouteErrorKind::UnknownAutoName, "{wrong}");
            assert!(error.suggestions.contains(&"auto/smart".to_owned()));
        }
        for other in ["automatic-model", "gpt-4o", "openai/auto", ""] {
            assert!(auto_name(other).is_none(), "{other}");
        }
    }
}
