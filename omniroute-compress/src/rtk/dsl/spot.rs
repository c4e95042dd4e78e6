//! Where filters and their tests stand in a file, for mistakes that show when they run.

use super::error::FilterErrorKind;
use super::model::FilterDef;

/// A place in a file: the byte offset, and line and column once they are known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Spot {
    /// Byte offset from 0.
    pub(crate) offset: usize,
    /// Line from 1; 0 if not known.
    line: u32,
    /// Column in characters from 1; 0 if not known.
    column: u32,
}

impl Spot {
    /// A place of which only the offset is known.
    pub(crate) fn at(offset: usize) -> Spot {
        Spot { offset, ..Spot::default() }
    }
}

/// Finds line and column of all filters and tests, in one pass over the text.
pub(crate) fn locate(text: &str, filters: &mut [FilterDef]) {
    let mut spots: Vec<&mut Spot> = Vec::new();
    for filter in filters {
        spots.push(&mut filter.at);
        spots.extend(filter.tests.iter_mut().map(|test| &mut test.at));
    }
    spots.sort_by_key(|spot| spot.offset);
    let bytes = text.as_bytes();
    let (mut done, mut line, mut column) = (0, 1, 1);
    for spot in spots {
        let passed = bytes.get(done..spot.offset.min(bytes.len())).unwrap_or(&[]);
        let characters = |bytes: &[u8]| bytes.iter().filter(|&&b| b & 0xC0 != 0x80).count() as u32;
        match memchr::memrchr(b'\n', passed) {
            Some(end) => {
                line += memchr::memchr_iter(b'\n', passed).count() as u32;
                column = 1 + characters(passed.get(end + 1..).unwrap_or(&[]));
            }
            None => column += characters(passed),
        }
        done += passed.len();
        (spot.line, spot.column) = (line, column);
    }
}

/// Line and column for a mistake of this filter: those of the test that showed it, or those of the filter.
pub(crate) fn of_mistake(def: &FilterDef, kind: &FilterErrorKind) -> (u32, u32) {
    let test = match kind {
        FilterErrorKind::TestFailed { name, .. } => name.strip_suffix(super::check::TWICE).unwrap_or(name),
        FilterErrorKind::HidesErrors { sample, .. } => sample,
        _ => "",
    };
    let spot = def.tests.iter().find(|t| t.name == test).map_or(def.at, |t| t.at);
    (spot.line, spot.column)
}

#[cfg(test)]
mod tests {
    use super::super::error::{FilterFormat, FilterSource};
    use super::super::reader::place;
    use super::super::set::FilterSet;
    use super::super::{json, toml};

    const TOML: &str = "schema_version = 2\n\n# \u{e4}\n[filters.a]\ncategory = \"generic\"\ncommands = [\"a\"]\nstrip_lines_matching = ['x']\n\n[[tests.a]]\nname = \"good\"\ninput = \"y\"\nexpected = \"y\"\n\n[[tests.a]]\nname = \"bad\"\ninput = \"y\"\nexpected = \"z\"\n";

    #[test]
    fn one_pass_finds_what_single_searches_find() {
        let one = |id: &str| {
            format!(
                "{{\"id\": \"{id}\", \"label\": \"\u{e9}\", \"category\": \"generic\", \"tests\": [{{\"name\": \"\u{e4}\", \"input\": \"\", \"expected\": \"\"}}, \n {{\"name\": \"b\", \"input\": \"\", \"expected\": \"\"}}]}}"
            )
        };
        let pack = format!("[{},\n\n  {}, {}]", one("a"), one("b"), one("c"));
        for (text, parsed) in [
            (TOML, toml::read(FilterSource::User, "f", TOML.as_bytes())),
            (&pack, json::read(FilterSource::User, "f", pack.as_bytes())),
        ] {
            assert!(!parsed.filters.is_empty(), "{:?}", parsed.errors);
            for filter in &parsed.filters {
                for spot in filter.tests.iter().map(|t| t.at).chain([filter.at]) {
                    assert_eq!((spot.line, spot.column), place(text, spot.offset), "{text}");
                }
            }
        }
    }

    #[test]
    fn a_failed_test_has_its_place() {
        let loaded = FilterSet::builder()
            .file(FilterSource::User, FilterFormat::Toml, "f.toml", TOML.as_bytes())
            .build();
        let error = loaded.errors.first().map(ToString::to_string).unwrap_or_default();
        assert!(error.starts_with("user filters f.toml:14:"), "{error}");
    }
}
