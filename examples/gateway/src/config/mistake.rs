//! What is wrong with a configuration: a stable code, words, a place, what would do, what was probably meant.

use super::tree::Spot;

/// Stable codes. Those with a C are errors, those with a W warnings.
pub(crate) mod codes {
    macro_rules! codes {
        ($($name:ident $id:literal $what:literal;)*) => {
            $(pub(crate) const $name: &str = $id;)*
            /// Every code with what it is about.
            #[cfg(test)]
            pub(crate) const ALL: &[(&str, &str)] = &[$(($id, $what)),*];
        };
    }
    codes! {
        SYNTAX "C001" "the file is no TOML";
        KIND "C002" "a value of another kind";
        UNKNOWN "C003" "a key that nobody reads";
        RANGE "C004" "a number outside its range";
        WORD "C005" "a word that is not one of those allowed";
        MISSING "C006" "a key that has to be there";
        SPAN "C007" "a time that cannot be read, or outside its range";
        SIZE "C008" "a size that cannot be read, or outside its range";
        TWICE "C009" "an id or a name that is there twice";
        CONNECTION "C010" "a connection that is not configured";
        PROVIDER "C011" "a provider that is neither in the catalogue nor declared";
        STRATEGY "C012" "a strategy that does not exist";
        COMBO "C013" "a combo that does not exist";
        MODEL "C014" "a model of no configured provider";
        OPTION "C015" "a setting that the strategy does not take";
        COMPRESSION "C016" "a setting of compression";
        RESILIENCE "C017" "a setting of resilience";
        WEIGHT "C018" "a weight";
        DEPTH "C019" "combos nested too deeply, or in a way that makes no order";
        CYCLE "C020" "combos that lead back to themselves";
        NAME "C021" "an id or a name that is not well formed";
        LISTEN "C022" "an address to listen on";
        OPEN "C023" "open to other machines without a key";
        ORIGIN "C024" "an origin of pages";
        HASH "C025" "the hash of a key";
        SCOPE "C026" "a scope that does not exist";
        LEASE "C027" "a key for leases without connections";
        BASE_URL "C028" "a base URL";
        SECRET "C029" "a secret that is not said in one of the ways allowed";
        MODE "C030" "a file with a secret that others can read";
        STORE "C031" "a store that cannot be used";
        INCLUDE "C032" "a file that is included";
        FILE "C033" "a file that cannot be read";
        ALIAS "C034" "another name of a model";
        UNCALLABLE "C035" "a provider that cannot be called";
        CONFLICT "C036" "keys that say the same, or do not go together";
        FOREIGN "C037" "a key of one host that would be sent to another";
        VERSION "C038" "a version of the file that this program does not know";
        STEP "C039" "a step of a combo";
        UNSET "W001" "a variable that is not set";
        NO_FILE "W002" "a file with a secret that cannot be read";
        ODD "W003" "something odd in routes that is not wrong";
        PLAIN "W004" "a secret in the file itself";
        READABLE "W005" "a file with secrets in it that others can read";
    }
}

/// One mistake.
#[derive(Debug, Clone)]
pub(crate) struct Mistake {
    pub(crate) code: &'static str,
    pub(crate) message: String,
    pub(crate) path: String,
    pub(crate) spot: Option<Spot>,
    pub(crate) allowed: Option<String>,
    pub(crate) suggestion: Option<String>,
    /// What to do, where neither rule nor suggestion say it.
    pub(crate) help: Option<String>,
}

impl Mistake {
    pub(crate) fn new(code: &'static str, message: impl Into<String>) -> Mistake {
        let message = message.into();
        Mistake {
            code,
            message,
            path: String::new(),
            spot: None,
            allowed: None,
            suggestion: None,
            help: None,
        }
    }

    pub(crate) fn at(mut self, spot: Spot) -> Mistake {
        self.spot = Some(spot);
        self
    }

    /// With its way and its place.
    pub(crate) fn placed(mut self, (path, spot): (String, Spot)) -> Mistake {
        (self.path, self.spot) = (path, Some(spot));
        self
    }

    pub(crate) fn allowed(mut self, allowed: impl Into<String>) -> Mistake {
        self.allowed = Some(allowed.into());
        self
    }

    pub(crate) fn help(mut self, help: impl Into<String>) -> Mistake {
        self.help = Some(help.into());
        self
    }

    /// With the nearest of some names, if one is near.
    pub(crate) fn meant<'n>(mut self, word: &str, known: impl IntoIterator<Item = &'n str>) -> Mistake {
        self.suggestion = nearest(word, known);
        self
    }

    pub(crate) fn is_error(&self) -> bool {
        self.code.starts_with('C')
    }
}

/// The nearest name: at most two edits away, three if it has more than eight letters.
pub(crate) fn nearest<'n>(word: &str, known: impl IntoIterator<Item = &'n str>) -> Option<String> {
    let word: Vec<char> = word.chars().take(64).flat_map(char::to_lowercase).collect();
    let near = known.into_iter().filter_map(|name| {
        let most = if name.chars().count() > 8 { 3 } else { 2 };
        let far = distance(&word, name);
        // Two edits turn any two letters into any others.
        (far <= most && far * 2 <= name.chars().count().max(2)).then_some((far, name))
    });
    near.min().map(|(_, name)| name.to_owned())
}

/// Letters to insert, delete, replace or swap with their neighbour.
fn distance(word: &[char], name: &str) -> usize {
    let name: Vec<char> = name.chars().take(64).flat_map(char::to_lowercase).collect();
    let mut rows: [Vec<usize>; 2] = [Vec::new(), (0..=name.len()).collect()];
    for (at, letter) in word.iter().enumerate() {
        let mut row = vec![at + 1];
        for (column, other) in name.iter().enumerate() {
            let replaced = rows[1][column] + usize::from(letter != other);
            let mut best = replaced.min(rows[1][column + 1] + 1).min(row[column] + 1);
            let swapped = at > 0 && column > 0 && word[at - 1] == *other && *letter == name[column - 1];
            if swapped {
                best = best.min(rows[0][column - 1] + 1);
            }
            row.push(best);
        }
        rows.swap(0, 1);
        rows[1] = row;
    }
    rows[1].last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_near_are_meant_and_others_are_not() {
        let known = ["priority", "p2c", "random", "round-robin"];
        let near = |word: &str| nearest(word, known);
        assert_eq!(near("round-robbin").as_deref(), Some("round-robin"));
        assert_eq!(near("priroity").as_deref(), Some("priority"));
        assert_eq!(near("p3c").as_deref(), Some("p2c"));
        assert_eq!(near("RANDOM").as_deref(), Some("random"));
        assert_eq!((near(""), near("xyz"), near("robin")), (None, None, None));
    }

    #[test]
    fn codes_are_in_order_and_unique() {
        for kind in ["C", "W"] {
            let numbers: Vec<usize> = codes::ALL
                .iter()
                .filter_map(|(code, _)| code.strip_prefix(kind))
                .map(|number| number.parse().unwrap())
                .collect();
            assert_eq!(numbers, (1..=numbers.len()).collect::<Vec<_>>());
        }
    }
}
