//! Every knob by its name: defaults, ranges, errors, and the table in the guide.

use serde_json::Value;

use super::*;

#[test]
fn defaults_are_valid_and_are_the_published_numbers() {
    let config = Config::default();
    config.validate().unwrap();
    for (class, degraded, opens, reset) in [
        (Class::OAuth, 5, 8, 60),
        (Class::ApiKey, 7, 12, 30),
        (Class::Local, 1, 2, 15),
        (Class::WebSession, 5, 8, 60),
        (Class::NoAuth, 7, 12, 30),
    ] {
        let numbers = config.classes.of(class);
        assert_eq!(
            (numbers.degraded(), numbers.opens_at, numbers.reset),
            (degraded, opens, Span::seconds(reset)),
            "{class:?}"
        );
    }
}

#[test]
fn an_error_names_key_value_and_range() {
    let mut config = Config::default();
    config.classes.oauth.opens_at = 0;
    config.lockout.max = Span::seconds(60);
    let errors = config.validate().unwrap_err();
    let texts: Vec<String> = errors.iter().map(ConfigError::to_string).collect();
    assert_eq!(
        texts,
        [
            "classes.oauth.opens_at = 0 is not allowed: must be 1 to 1000",
            "classes.oauth.degraded_at = 5 is not allowed: must be below opens_at (0)",
            "lockout.max = 1min is not allowed: must be at least lockout.base (2min)",
        ]
    );
}

#[test]
fn every_number_is_in_the_config_tree_and_comes_back_from_it() {
    let text = serde_json::to_string(&Config::default()).unwrap();
    assert_eq!(serde_json::from_str::<Config>(&text).unwrap(), Config::default());
    let error = serde_json::from_str::<Config>(r#"{"breaker":{"rate_limit_reset":"60s"}}"#).unwrap_err();
    assert!(error.to_string().contains("rate_limit_reset"), "{error}");
    let partial: Config = serde_json::from_str(r#"{"wait":{"single":"2s","attempts":1}}"#).unwrap();
    assert_eq!((partial.wait.single, partial.wait.total), (Span::seconds(2), Span::seconds(8)));
}

/// One knob: where it is, its default, and what it may be.
#[derive(Debug)]
struct Row {
    key: String,
    default: String,
    allowed: String,
}

/// Turns every knob to something that is not allowed, one at a time. An error if that passes, or if what comes
/// back does not name key, value and range.
fn walk(validate: fn(&Config) -> Result<(), Vec<ConfigError>>) -> Result<Vec<Row>, String> {
    let tree = serde_json::to_value(Config::default()).unwrap();
    let mut rows = Vec::new();
    let mut todo = vec![(String::new(), tree.clone())];
    while let Some((path, value)) = todo.pop() {
        let turned = match &value {
            Value::Object(fields) => {
                let dot = if path.is_empty() { "" } else { "." };
                let inner = fields.iter().map(|(name, value)| (format!("{path}{dot}{name}"), value.clone()));
                todo.extend(inner);
                continue;
            }
            Value::Bool(on) => Value::Bool(!on),
            Value::Null => Value::from(0),
            Value::String(_) => Value::from("400000d"),
            _ => Value::from(u32::MAX),
        };
        let mut changed = tree.clone();
        *changed.pointer_mut(&format!("/{}", path.replace('.', "/"))).unwrap() = turned.clone();
        let config: Config = serde_json::from_value(changed).map_err(|error| format!("{path}: {error}"))?;
        let default = match &value {
            Value::Null => "none".to_owned(),
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let allowed = if value.is_boolean() {
            validate(&config).map_err(|errors| format!("{path}: {errors:?}"))?;
            "true or false".to_owned()
        } else {
            let Err(errors) = validate(&config) else { return Err(format!("{path} takes {turned}")) };
            let Some(error) = errors.iter().find(|error| error.key == path) else {
                return Err(format!("{path} is not named: {errors:?}"));
            };
            let shown = turned.as_str().map_or_else(|| turned.to_string(), ToOwned::to_owned);
            if error.value.trim_end_matches("ms") != shown || !error.allowed.contains(" to ") {
                return Err(format!("{path}: {error}"));
            }
            error.allowed.clone()
        };
        rows.push(Row { key: path, default, allowed });
    }
    rows.sort_by(|a, b| a.key.cmp(&b.key));
    Ok(rows)
}

#[test]
fn every_knob_refuses_what_it_must_and_says_so() {
    let rows = walk(Config::validate).unwrap();
    assert!(rows.len() > 100, "{}", rows.len());
    // A check that forgets a knob is caught, and so is one that names another.
    let forgets = |config: &Config| {
        let rest = |error: &ConfigError| error.key != "wait.single";
        match config.validate() {
            Err(errors) if errors.iter().any(rest) => Err(errors.into_iter().filter(rest).collect()),
            _ => Ok(()),
        }
    };
    assert!(walk(forgets).unwrap_err().contains("wait.single"));
    let misnames = |config: &Config| {
        config.validate().map_err(|mut errors| {
            errors.iter_mut().for_each(|error| error.key = error.key.replace("slots.lease", "slot.lease"));
            errors
        })
    };
    assert!(walk(misnames).unwrap_err().contains("slots.lease"));
}

/// The guide's table has every knob with its default and range, and no other.
#[test]
fn the_guide_tells_of_every_knob() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/src/resilience.md");
    // Only the repository has the guide.
    let Ok(guide) = std::fs::read_to_string(path) else { return };
    let rows = walk(Config::validate).unwrap();
    let told: Vec<String> = rows
        .iter()
        .map(|row| format!("| `{}` | {} | {} | ", row.key, row.default, row.allowed))
        .filter(|line| !guide.contains(line.as_str()))
        .collect();
    assert_eq!(told, Vec::<String>::new(), "not in the guide");
    let range = |line: &&str| line.split('|').nth(3).is_some_and(|column| column.contains(" to "));
    let lines = guide.lines().filter(|line| line.starts_with("| `")).filter(range).count();
    let numbers = rows.iter().filter(|row| row.allowed.contains(" to ")).count();
    assert_eq!(lines, numbers, "the guide tells of knobs that are not there");
}
