//! Reads the matrix: which field is where on which wire, and what happens to it elsewhere.

use std::collections::{BTreeMap, BTreeSet};

use omniroute_core::wire::MATRIX;

/// The wires in the order of the matrix' columns.
pub(crate) const COLUMNS: [&str; 7] = [
    "openai-chat",
    "openai-responses",
    "anthropic-messages",
    "gemini",
    "ollama",
    "bedrock-converse",
    "cohere",
];

/// What becomes of a field on a wire.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fate {
    /// Carried at these paths.
    Carried(Vec<String>),
    /// Carried at these paths in another shape, by the rule in brackets.
    Mapped(Vec<String>, String),
    /// Left out with this diagnostic.
    Dropped(String),
    /// Left out, nothing is lost.
    Nothing,
    /// The target cannot serve the request.
    Incapable(String),
    /// Stands in the address.
    Url,
}

impl Fate {
    fn parse(area: &str, cell: &str) -> Fate {
        let paths = |text: &str| text.split_whitespace().map(str::to_owned).collect();
        if cell == "." {
            return Fate::Nothing;
        }
        if cell == "@url" {
            return Fate::Url;
        }
        if let Some(code) = cell.strip_prefix('!') {
            return Fate::Incapable(code.to_owned());
        }
        if let Some(code) = cell.strip_prefix('-') {
            let general = if area == "request" { "param_dropped" } else { "reply_field_dropped" };
            return Fate::Dropped(if code.is_empty() { general } else { code }.to_owned());
        }
        if let Some(rest) = cell.strip_prefix('~') {
            let (found, rule) = rest.split_once('(').unwrap_or((rest, ""));
            return Fate::Mapped(paths(found), rule.trim_end_matches(')').to_owned());
        }
        Fate::Carried(paths(cell))
    }

    pub(crate) fn paths(&self) -> &[String] {
        match self {
            Fate::Carried(paths) | Fate::Mapped(paths, _) => paths,
            _ => &[],
        }
    }
}

/// One row.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) area: String,
    pub(crate) name: String,
    pub(crate) fates: BTreeMap<&'static str, Fate>,
}

/// All rows but the aliases.
pub(crate) fn rows() -> Vec<Row> {
    cells()
        .filter(|(area, ..)| area != "alias")
        .map(|(area, name, cells)| {
            let fates = COLUMNS.iter().copied().zip(cells.iter().map(|c| Fate::parse(&area, c))).collect();
            Row { area, name, fates }
        })
        .collect()
}

/// The row of this name.
pub(crate) fn row(area: &str, name: &str) -> Row {
    rows()
        .into_iter()
        .find(|r| r.area == area && r.name == name)
        .unwrap_or_else(|| panic!("no row {area} {name}"))
}

fn cells() -> impl Iterator<Item = (String, String, Vec<String>)> {
    MATRIX.lines().filter(|l| !l.starts_with('#')).skip(1).map(|line| {
        let all: Vec<String> = line.split('\t').map(str::to_owned).collect();
        assert_eq!(all.len(), 9, "a row has 9 cells: {line}");
        (all[0].clone(), all[1].clone(), all[2..].to_vec())
    })
}

/// The paths that rows know, of one wire and one area.
pub(crate) struct Known {
    exact: BTreeSet<String>,
    below: Vec<String>,
    aliases: Vec<(String, String)>,
}

impl Known {
    pub(crate) fn of(wire: &str, area: &str) -> Known {
        let column = COLUMNS.iter().position(|w| *w == wire).unwrap();
        let mut known = Known { exact: BTreeSet::new(), below: Vec::new(), aliases: Vec::new() };
        for (row_area, _, cells) in cells() {
            let cell = &cells[column];
            if row_area == "alias" && area == "event" {
                let pairs = cell.split_whitespace().filter_map(|p| p.split_once("=>"));
                known.aliases.extend(pairs.map(|(from, to)| (from.to_owned(), to.to_owned())));
            }
            // Events repeat pieces of whole replies.
            if row_area != area && !(area == "event" && row_area == "reply") {
                continue;
            }
            for path in Fate::parse(&row_area, cell).paths() {
                match path.strip_suffix(".*").or_else(|| path.strip_suffix('*').filter(|p| p.ends_with('/')))
                {
                    Some(prefix) => known.below.push(prefix.to_owned()),
                    None => drop(known.exact.insert(path.clone())),
                }
            }
        }
        known
    }

    /// Whether a row knows this path, or something below it (then it is only a container).
    pub(crate) fn covers(&self, path: &str) -> bool {
        if self.direct(path) {
            return true;
        }
        self.aliases.iter().any(|(from, to)| {
            let Some(rest) = path.strip_prefix(from.as_str()) else { return false };
            if rest.is_empty() {
                return true;
            }
            let rest =
                if to.is_empty() { rest.trim_start_matches('.').to_owned() } else { format!("{to}{rest}") };
            self.direct(&rest)
        })
    }

    fn direct(&self, path: &str) -> bool {
        let under = |prefix: &str| {
            path.strip_prefix(prefix)
                .is_some_and(|r| r.is_empty() || r.starts_with(['.', '[']) || prefix.ends_with('/'))
        };
        let holds = |longer: &str| longer.strip_prefix(path).is_some_and(|r| r.starts_with(['.', '[']));
        self.exact.contains(path)
            || self.below.iter().any(|p| under(p) || holds(p))
            || self.exact.iter().any(|p| holds(p))
    }
}

#[test]
fn names_are_unique_and_areas_known() {
    let mut seen = BTreeSet::new();
    for row in rows() {
        assert!(["request", "reply", "event", "error"].contains(&row.area.as_str()), "{}", row.area);
        assert!(
            seen.insert((row.area.clone(), row.name.clone())),
            "{} {} is there twice",
            row.area,
            row.name
        );
    }
    let header = MATRIX.lines().find(|l| !l.starts_with('#')).unwrap();
    assert_eq!(header, format!("area\tfield\t{}", COLUMNS.join("\t")));
}

#[test]
fn cells_say_what_they_mean() {
    assert_eq!(row("request", "top_k").fates["openai-chat"], Fate::Dropped("param_dropped".into()));
    assert_eq!(row("request", "candidates").fates["cohere"], Fate::Incapable("unsupported_param".into()));
    let Fate::Mapped(paths, rule) = &row("request", "top_p").fates["cohere"] else { panic!("a mapping") };
    assert_eq!((paths.as_slice(), rule.as_str()), (&["p".to_owned()][..], "param_clamped 0.01..0.99"));
}
