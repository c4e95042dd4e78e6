//! The configuration: one file with what it includes, variables on top, every mistake at once with its place.
//!
//! The file is the one of `--config`, else of `OMNIROUTE_CONFIG`, else `omniroute/omniroute.toml` in the user's folder for
//! configurations. The working folder is never searched: a cloned repository must not name a host, a key or trust.

mod check;
pub(crate) mod command;
mod env;
pub(crate) mod key;
mod mistake;
#[cfg_attr(not(feature = "serve"), expect(dead_code, reason = "only the endpoint uses all of it"))]
pub(crate) mod model;
pub(crate) mod net;
mod schema;
mod schema_json;
pub(crate) mod secret;
mod show;
#[cfg(test)]
mod tests;
mod told;
mod tree;
mod units;
mod walk;

use std::path::{Path, PathBuf};

use serde_json::Value as Plain;

use self::mistake::{Mistake, codes};
use self::schema::Kind;
use self::tree::{Node, Source, Spot, Value};
use self::walk::Walker;
use crate::exit::Failure;

pub(crate) use self::check::unwritable;
pub(crate) use self::model::Config;

/// Files inside files inside files.
const DEPTH: usize = 3;

/// Everything that was read, right or wrong.
#[derive(Debug)]
pub(crate) struct Sources {
    pub(crate) list: Vec<Source>,
    /// In the order of the files and of their places.
    pub(crate) mistakes: Vec<Mistake>,
    /// Texts that may be secrets.
    hidden: Vec<Spot>,
    /// Texts and keys, where a `#` begins no comment.
    texts: Vec<Spot>,
    /// Sources that are no TOML.
    damaged: Vec<usize>,
    /// All files and variables, merged.
    pub(crate) root: Node,
    /// The same as plain values.
    plain: Plain,
}

/// Where the configuration is, if there is one.
pub(crate) fn locate(named: Option<&Path>) -> Option<PathBuf> {
    let own = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    if let Some(path) = named.map(Path::to_path_buf).or_else(|| own("OMNIROUTE_CONFIG")) {
        return Some(path);
    }
    user_file().filter(|path| path.is_file())
}

/// The file in the user's folder for configurations, there or not.
pub(crate) fn user_file() -> Option<PathBuf> {
    let own = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let folder = own("XDG_CONFIG_HOME").filter(|path| path.is_absolute());
    let folder = folder.or_else(|| Some(own("HOME")?.join(".config")))?;
    Some(folder.join("omniroute").join("omniroute.toml"))
}

/// Where state is kept between runs if nothing is said: the user's own folder for such things.
pub(crate) fn state_file() -> Option<PathBuf> {
    let own = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let folder = own("XDG_STATE_HOME").filter(|path| path.is_absolute());
    let folder = folder.or_else(|| Some(own("HOME")?.join(".local/state")))?;
    Some(folder.join("omniroute").join("omniroute.db"))
}

/// Reads a file, what it includes, and variables.
///
/// # Errors
/// The file itself cannot be read. What is wrong in it is with the [`Sources`].
pub(crate) fn read(path: Option<&Path>) -> Result<Sources, Failure> {
    let text = match path {
        Some(path) => Some((
            path.to_path_buf(),
            std::fs::read(path).map_err(|error| Failure::path("read", path, &error))?,
        )),
        None => None,
    };
    Ok(from_bytes(text, &mut std::env::vars()))
}

/// [`read`] of bytes that stand for a file.
pub(crate) fn from_bytes(
    file: Option<(PathBuf, Vec<u8>)>,
    variables: &mut dyn Iterator<Item = (String, String)>,
) -> Sources {
    let mut reading = Reading::default();
    let mut root = match file {
        Some((path, bytes)) => reading.file(&path, bytes, &mut Vec::new()),
        None => Node::table(usize::MAX),
    };
    for node in env::read(variables, &mut reading.list, &mut reading.mistakes) {
        root.merge(node, false);
    }
    let damaged: Vec<usize> = reading
        .mistakes
        .iter()
        .filter(|mistake| mistake.code == codes::SYNTAX)
        .filter_map(|mistake| Some(mistake.spot?.source))
        .collect();
    let mut walker = Walker { mistakes: reading.mistakes, open: reading.open };
    let plain = walker.table("", &root, schema::ROOT).unwrap_or_default();
    // What the rest of a damaged file would have said is not known: references into it are not wrong.
    if damaged.is_empty() {
        check::all(&root, &reading.list, &mut walker.mistakes);
    }
    let mut texts = reading.texts;
    gather(&root, &mut texts);
    let hidden: Vec<Spot> = texts
        .iter()
        .filter(|(_, key)| !*key)
        .map(|(spot, _)| *spot)
        .filter(|spot| !walker.open.contains(spot))
        .collect();
    let texts = texts.into_iter().map(|(spot, _)| spot).collect();
    let mut mistakes = walker.mistakes;
    // What stands on a line that is no TOML is not what was meant.
    let line = |mistake: &Mistake| {
        let spot = mistake.spot?;
        Some((spot.source, reading.list.get(spot.source)?.line_column(spot.start).0))
    };
    let broken: Vec<_> =
        mistakes.iter().filter(|mistake| mistake.code == codes::SYNTAX).filter_map(line).collect();
    mistakes.retain(|mistake| {
        mistake.code == codes::SYNTAX || !line(mistake).is_some_and(|line| broken.contains(&line))
    });
    mistakes.sort_by_key(|mistake| mistake.spot);
    Sources { list: reading.list, mistakes, hidden, texts, damaged, root, plain }
}

/// Files that are being read.
#[derive(Debug, Default)]
struct Reading {
    list: Vec<Source>,
    mistakes: Vec<Mistake>,
    open: Vec<Spot>,
    texts: Vec<(Spot, bool)>,
}

impl Reading {
    /// A file with what it includes on top. `trail` holds the files that lead here.
    fn file(&mut self, path: &Path, bytes: Vec<u8>, trail: &mut Vec<PathBuf>) -> Node {
        let at = self.list.len();
        let folder = path.parent().map(Path::to_path_buf).unwrap_or_default();
        let name = path.display().to_string();
        let text = match String::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => {
                let valid = error.utf8_error().valid_up_to();
                let message = format!("the file is no text in UTF-8: byte {valid} cannot be read");
                self.mistakes.push(Mistake::new(codes::FILE, message).at(Spot {
                    source: at,
                    start: 0,
                    end: 0,
                }));
                self.list.push(Source::new(name, folder, String::new(), false));
                return Node::table(at);
            }
        };
        self.list.push(Source::new(name, folder.clone(), text, false));
        let mut root = tree::parse(&self.list, at, &mut self.mistakes);
        let Some(include) = root.take("include") else { return root };
        gather(&include.node, &mut self.texts);
        self.texts.push((include.spot, true));
        let mut walker = Walker::default();
        let lines = walker.value("include", &include.node, Kind::Tables(schema::INCLUDE));
        self.mistakes.append(&mut walker.mistakes);
        self.open.append(&mut walker.open);
        trail.push(path.canonicalize().unwrap_or_else(|_| path.to_path_buf()));
        let lines = lines.as_ref().and_then(Plain::as_array).map(Vec::as_slice).unwrap_or_default();
        for (number, line) in lines.iter().enumerate() {
            let Some(said) = line.get("path").and_then(Plain::as_str) else { continue };
            let number = number.to_string();
            let (_, spot) = include.node.place(&[&number, "path"]);
            let wrong = |message: String| {
                Mistake::new(codes::INCLUDE, message).placed((format!("include[{number}].path"), spot))
            };
            let inner = folder.join(said);
            let circle = inner.canonicalize().is_ok_and(|real| trail.contains(&real));
            if circle {
                self.mistakes.push(wrong(format!("{} leads in a circle", walk::shown(said))));
                continue;
            }
            if trail.len() > DEPTH {
                self.mistakes.push(wrong(format!("the file is included over more than {DEPTH} levels")));
                continue;
            }
            match std::fs::read(&inner) {
                Ok(bytes) => {
                    let node = self.file(&inner, bytes, trail);
                    root.merge(node, true);
                }
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                    if line.get("optional").and_then(Plain::as_bool) != Some(true) {
                        self.mistakes.push(wrong(format!("{} does not exist", walk::shown(said))));
                    }
                }
                Err(_) => self.mistakes.push(wrong(format!("{} cannot be read", walk::shown(said)))),
            }
        }
        trail.pop();
        root
    }
}

/// Spots of all texts (false) and keys (true) below a node.
fn gather(node: &Node, out: &mut Vec<(Spot, bool)>) {
    match &node.value {
        Value::Text(_) => out.push((node.spot, false)),
        Value::List(items) => items.iter().for_each(|item| gather(item, out)),
        Value::Table(members) => members.iter().for_each(|member| {
            out.push((member.spot, true));
            gather(&member.node, out);
        }),
        _ => {}
    }
}
