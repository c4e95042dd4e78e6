//! Every rule of every pack does what its examples say, alone.

use std::sync::Arc;

use super::super::class::Language;
use super::super::pack::Pack;
use super::super::packs;

#[test]
fn every_example_of_every_rule_holds() {
    let mut wrong = Vec::new();
    for language in Language::ALL {
        let text = packs::text(language);
        let pack = match Pack::compile(text) {
            Ok(pack) => Arc::new(pack),
            Err(error) => {
                wrong.push(format!("{language}: {error}"));
                continue;
            }
        };
        wrong.extend(
            pack.try_examples(0).iter().map(|(at, e)| format!("{language}: {}: {e}", pack.rules[*at].id)),
        );
        let phrases: usize = pack.rules.iter().map(|rule| rule.phrases()).sum();
        let least = if language == Language::En { 60 } else { 25 };
        assert!(phrases >= least, "{language} has {phrases} phrases");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
