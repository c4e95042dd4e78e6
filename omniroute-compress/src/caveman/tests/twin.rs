//! A pack with a rule that deletes a negation: the reader refuses it, the check of edits refuses what it does, and
//! without both the laws find it.

use std::sync::Arc;

use super::super::class::{Language, Level};
use super::super::pack::Pack;
use super::super::{Condenser, packs};
use super::{facts, laws};

fn with_rule(language: Language, phrase: &str, example: &str, out: &str) -> String {
    let rule = format!(
        "\n[[rules]]\nid = \"bug\"\nclass = \"filler\"\nlevel = \"lite\"\nfrom = \"{phrase}\"\nin = \"{example}\"\nout = \"{out}\"\nkeep = [\"x\"]\n"
    );
    packs::text(language).to_owned() + &rule
}

const BUGS: [(Language, &str); 8] = [
    (Language::En, "not"),
    (Language::De, "nicht"),
    (Language::Es, "nunca"),
    (Language::PtBr, "não"),
    (Language::Fr, "jamais"),
    (Language::Id, "tidak"),
    (Language::Ja, "ません"),
    (Language::Zh, "不"),
];

#[test]
fn a_rule_against_a_negation_is_refused() {
    for (language, word) in BUGS {
        let error = Pack::compile(&with_rule(language, word, "x", "x")).unwrap_err();
        assert!(error.to_string().contains("rule \"bug\": "), "{error}");
        assert!(error.line > 50, "{error}");
    }
}

#[test]
fn the_laws_catch_it_where_nothing_else_does() {
    for (language, word) in BUGS {
        let text = with_rule(language, word, "x", "x");
        let pack = Arc::new(Pack::build(&text, false).unwrap());
        let broken = Condenser::new(Level::Lite).pack(pack.clone()).unchecked();
        let complaint =
            laws::search(language, 200, |text| facts::changed(language, text, &broken.condense(text).text));
        assert!(complaint.is_some_and(|c| c.contains("negations") || c.contains("conditions")), "{language}");
        let checked = Condenser::new(Level::Lite).pack(pack);
        let complaint =
            laws::search(language, 200, |text| facts::changed(language, text, &checked.condense(text).text));
        assert_eq!(complaint, None, "{language}: the check of edits lets nothing pass");
    }
}

#[test]
fn mistakes_in_packs_name_the_line_and_the_rule() {
    let base = packs::text(Language::En);
    let with = |rule: &str| Pack::compile(&format!("{base}\n[[rules]]\n{rule}")).unwrap_err().to_string();
    let whole =
        "id = \"x\"\nclass = \"filler\"\nlevel = \"lite\"\nfrom = \"word here\"\nin = \"\"\nout = \"\"\n";
    for (rule, part) in [
        (whole.to_owned(), "rule \"x\": there is no text that it leaves alone"),
        (whole.replace("filler", "fillers"), "rule \"x\": \"fillers\" at \"lite\" is no class and level"),
        (whole.replace("\"x\"", "\"article\""), "rule \"article\": the id is empty or used twice"),
        (whole.replace("word here", "Word"), "rule \"x\": \"Word\" is empty or not in small letters"),
        (
            whole.to_owned() + "to = \"word there\"",
            "rule \"x\": \"word there\" is not shorter than \"word here\"",
        ),
        (
            whole.replace("word here", "must go"),
            "rule \"x\": \"must go\" has the kept words [\"must\"], it says []",
        ),
        (whole.replace("word here", "why so"), "has the kept words"),
        (whole.to_owned() + "colour = 1", "unknown field `colour`"),
    ] {
        let error = with(&rule);
        assert!(error.starts_with("pack: line ") && error.contains(part), "{error}");
    }
}
