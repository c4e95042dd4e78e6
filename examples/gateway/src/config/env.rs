//! Configuration in variables: `OMNIROUTE__SECTION__KEY`.

use std::path::Path;

use super::mistake::{Mistake, codes};
use super::schema::{Key, Kind, ROOT};
use super::tree::{Member, Node, Source, Spot, Value};

/// What every one begins with.
const PREFIX: &str = "OMNIROUTE__";

/// The values that variables give, each from a source of its own, in the order of their names.
pub(crate) fn read(
    variables: &mut dyn Iterator<Item = (String, String)>,
    sources: &mut Vec<Source>,
    mistakes: &mut Vec<Mistake>,
) -> Vec<Node> {
    let mut found: Vec<(String, String)> =
        variables.filter(|(name, value)| name.starts_with(PREFIX) && !value.is_empty()).collect();
    found.sort();
    let mut out = Vec::new();
    for (name, value) in found {
        let way: Vec<String> =
            name.get(PREFIX.len()..).unwrap_or_default().split("__").map(str::to_ascii_lowercase).collect();
        let spot = Spot { source: sources.len(), start: 0, end: value.len() };
        sources.push(Source::new(name.clone(), Path::new("").to_path_buf(), value.clone(), true));
        match kind(&way) {
            Ok(kind) => {
                let mut node = Node { value: typed(kind, &value, spot), spot };
                for key in way.iter().rev() {
                    let member = Member { key: key.clone(), spot, node };
                    node = Node { value: Value::Table(vec![member]), spot };
                }
                out.push(node);
            }
            Err(rule) => {
                mistakes.push(Mistake::new(codes::UNKNOWN, format!("the variable {name} {rule}")).at(spot));
            }
        }
    }
    out
}

/// What stands at a way; the error says what is wrong with the way.
fn kind(way: &[String]) -> Result<Kind, &'static str> {
    const LIST: &str = "names a list of tables, which only a file can have";
    let mut keys: &[Key] = ROOT;
    for (at, step) in way.iter().enumerate() {
        let key = keys.iter().find(|key| key.name == step).ok_or("names no key of the configuration")?;
        let last = at + 1 == way.len();
        match key.kind {
            Kind::Table(inner) if !last => keys = inner,
            Kind::Resilience | Kind::Compression if !last => return Ok(Kind::Options),
            Kind::Numbers if !last => return Ok(Kind::Number(0.0, 1_000.0)),
            Kind::Tables(_) | Kind::Steps | Kind::Names => return Err(LIST),
            Kind::Table(_) | Kind::Resilience | Kind::Compression | Kind::Numbers if last => {
                return Err("names a table, not a value");
            }
            kind if last => return Ok(kind),
            _ => return Err("names no key of the configuration"),
        }
    }
    Err("names no key of the configuration")
}

/// A value as its kind wants it; what does not fit stays a text, and is told later.
fn typed(kind: Kind, text: &str, spot: Spot) -> Value {
    let plain = || Value::Text(text.to_owned());
    match kind {
        Kind::Flag => text.parse().map_or_else(|_| plain(), Value::Flag),
        Kind::Whole(..) => text.parse().map_or_else(|_| plain(), Value::Whole),
        Kind::Number(..) => text.parse().map_or_else(|_| plain(), Value::Number),
        Kind::Texts => {
            let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
            Value::List(parts.map(|part| Node { value: Value::Text(part.to_owned()), spot }).collect())
        }
        Kind::Options => match (text.parse(), text.parse()) {
            (Ok(flag), _) => Value::Flag(flag),
            (_, Ok(number)) => Value::Whole(number),
            _ => plain(),
        },
        _ => plain(),
    }
}
