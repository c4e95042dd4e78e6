//! All built-in engines. Plans, docs and bindings read this list.

use crate::engines;
use crate::entry::EngineEntry;

/// All built-in engines, by priority.
pub const ENGINES: &[EngineEntry] = &[
    engines::repeat::ENTRY,
    engines::ionizer::ENTRY,
    engines::lite::ENTRY,
    engines::rtk::ENTRY,
    engines::responses::ENTRY,
    engines::rows::ENTRY,
    engines::session_dedup::ENTRY,
    engines::caveman::ENTRY,
    engines::read_lifecycle::ENTRY,
    engines::ccr::ENTRY,
    engines::relevance::ENTRY,
    engines::aggressive::ENTRY,
    engines::ultra::ENTRY,
];

/// The engine with this id or alias.
pub fn engine(name: &str) -> Option<&'static EngineEntry> {
    ENGINES.iter().find(|e| e.info.id == name || e.aliases.contains(&name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_unique_and_well_formed() {
        let mut names = Vec::new();
        for entry in ENGINES {
            names.push(entry.info.id);
            names.extend(entry.aliases);
            assert!(!entry.info.summary.is_empty(), "{} has no summary", entry.info.id);
            assert_eq!(
                (entry.build)(
                    &crate::Step::new("x").resolve(entry.fields, &mut Vec::new()),
                    &Default::default()
                )
                .info(),
                &entry.info
            );
        }
        for name in &names {
            let ok = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
            assert!(
                name.len() <= 32 && name.bytes().all(ok) && name.as_bytes()[0].is_ascii_lowercase(),
                "{name}"
            );
        }
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
        assert!(ENGINES.is_sorted_by_key(|e| e.info.priority));
    }
}
