//! Laws: no view gets layout rules, lexing is linear, nothing panics; and tables of the lexer itself.

use proptest::prelude::*;

use super::super::class::ResultClass;
use super::super::lex::{self, MAX_COMMANDS, MAX_DEPTH};
use super::super::print::{Printed, printing};
use super::super::script::Expands;
use super::{PLAIN, class};

#[test]
fn printing_segments_are_stripped_and_resolved() {
    for (command, expected) in [
        ("cd x; mkdir y", "cd x|mkdir y"),
        ("cargo build >/dev/null 2>&1; ls", "ls"),
        ("cargo build 2>&1 >/dev/null", "cargo build"),
        ("cargo build &> log; (ls; pwd) > f 2>/dev/null", ""),
        ("a | b > f 2>&1", "a"),
        ("{ a | b; } > f 2>&1", ""),
        ("sudo -u me env X=1 timeout -k 3 5 npx -y tsc -p .", "tsc -p ."),
        ("bash -c 'a; b \"c d\"' | head", "a|b c d"),
        ("a | while read x; do b; done | c", "a|read x|b"),
        ("a \"it's\" 'b c' $'d' e\\ f", "a it's b c d e f"),
    ] {
        let script = lex::parse(command);
        let printed = printing(&script);
        let words = printed
            .iter()
            .map(|p| p.words.iter().map(|word| word.text.as_ref()).collect::<Vec<_>>().join(" "));
        assert_eq!(words.collect::<Vec<_>>().join("|"), expected, "{command}");
        assert!(script.certain, "{command}");
    }
    let partial = |command: &str| printing(&lex::parse(command)).iter().any(Printed::is_partial);
    assert!(partial("a 2>&1 | tail -5"));
    assert!(!partial("a 2>&1 | tee f | cat"));
}

#[test]
fn the_lexer_knows_where_it_is_lost() {
    for (command, certain) in [
        ("a 'b", false),
        ("a \"b $(c", false),
        ("a <<EOF\nb", false),
        ("a <<EOF\nb\nEOF", true),
        ("a <<-'E F' | b\n\tx\n\tE F\nc", true),
        ("( a", false),
        ("a )", false),
        ("if a; then b", false),
        ("if a; then b; fi", true),
        ("| a", false),
        ("a # don't", true),
        ("x=(a 'b c') y", true),
        ("", true),
    ] {
        assert_eq!(lex::parse(command).certain, certain, "{command}");
    }
    let script = lex::parse("a \"$?\" \"$x\" \"`y`\" '$z' \\$q");
    let expands: Vec<_> = script.segments[0].words.iter().map(|word| word.expands).collect();
    assert_eq!(
        expands,
        [Expands::No, Expands::Status, Expands::Variable, Expands::Command, Expands::No, Expands::No]
    );
    assert!(!lex::parse(&"( ".repeat(MAX_DEPTH + 1)).certain);
    assert!(lex::parse(&"a;".repeat(MAX_COMMANDS - 1)).certain);
    assert!(!lex::parse(&"a;".repeat(MAX_COMMANDS + 1)).certain);
}

/// Every view in every surrounding that shows it; the places where a class gave it layout rules.
fn layout_for_views(classify: impl Fn(&str) -> ResultClass) -> Vec<String> {
    let views = [
        "cat a.rs",
        "sed -n 1,9p a.rs",
        "git show HEAD:a",
        "grep -n x a.rs",
        "git diff",
        "find . -exec cat {} +",
        "awk 1 a.rs",
    ];
    let around = [
        "@",
        "cargo build && @",
        "@; cargo build",
        "@ | head",
        "@ | grep x",
        "@ | sort | cut -c1-9",
        "@ 2>&1",
        "@ || ls",
        "(@)",
        "{ ls; @; }",
        "bash -c '@'",
        "sudo timeout 5 @",
        "if ls; then @; fi",
        "for f in a; do @; done",
        "ls | while read f; do @; done",
        "@ | tee b",
        "ls > a; @",
        "@ 2> b",
        "npx x; @; cd y",
        "X=1 @",
        "docker exec c @",
        "case x in a) @ ;; esac",
        "@ & wait",
        "! @",
        "time @",
    ];
    let all = views.iter().flat_map(|view| around.iter().map(move |around| around.replace('@', view)));
    all.filter(|command| allows_layout(classify(command))).collect()
}

#[test]
fn no_view_or_diff_gets_layout_and_the_check_sees_one_that_does() {
    assert_eq!(layout_for_views(|command| class(command, PLAIN)), Vec::<String>::new());
    // The last command decides, as a simpler engine would have it.
    let broken = |command: &str| class(command.rsplit([';', '&', '|']).next().unwrap_or(command), PLAIN);
    assert!(!layout_for_views(broken).is_empty());
}

/// Steps of a lexer may grow with the text, not with its square: `work(20n) <= 40 * work(n)`.
fn grows_linearly(work: impl Fn(&str) -> usize, piece: &str) -> bool {
    let (small, large) = (work(&piece.repeat(50)), work(&piece.repeat(1000)));
    large <= 40 * small.max(1)
}

#[test]
fn lexing_is_linear_and_the_check_sees_what_is_not() {
    let pieces = [
        "a b ",
        "a;",
        "a|",
        "(",
        "((",
        "$(",
        "`",
        "'",
        "\"",
        "\\",
        "{ a; ",
        "if a; then ",
        "a <<E\n",
        "<(",
        "${",
        "$((",
        "a\n",
        "case x in ",
        "[[ ",
        "f()",
        "(( a b )) ",
        "x=(",
        ")",
        "a && ",
        "> f ",
        "2>&1 ",
        "bash -c '",
        "[[ $( ",
        "é",
    ];
    for piece in pieces {
        assert!(grows_linearly(|text| lex::parse(text).steps, piece), "{piece}");
    }
    // A lexer that looks for the end of each substitution again at every level.
    let broken = |text: &str| text.match_indices("$(").map(|(at, _)| text.len() - at).sum::<usize>();
    assert!(!grows_linearly(broken, "$("));
}

#[test]
fn wide_and_deep_scripts_stay_small() {
    let many = format!("{{ {} }} | {}", "a; ".repeat(3000), "head | ".repeat(200));
    assert_eq!(class(&many, PLAIN), ResultClass::Unknown);
    let nested = (0..40).fold(String::from("cat a"), |inner, _| {
        format!("bash -c {}", quote(&inner)).chars().take(20_000).collect()
    });
    assert_eq!(class(&nested, PLAIN), ResultClass::Unknown);
    assert_eq!(class(&"find -exec ".repeat(2000), PLAIN), ResultClass::Unknown);
    assert_eq!(class(&"sudo ".repeat(3000), PLAIN), ResultClass::Unknown);
}

fn quote(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, rng_seed: proptest::test_runner::RngSeed::Fixed(7), ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_lexed_and_classified(command in "\\PC{0,80}", text in "\\PC{0,80}") {
        let script = lex::parse(&command);
        prop_assert!(script.steps <= 8 * command.len() + 64);
        class(&command, &text);
    }

    #[test]
    fn shell_like_text_is_lexed(parts in proptest::collection::vec(prop_oneof![
        Just("a"), Just(" "), Just("'"), Just("\""), Just("$("), Just(")"), Just("("), Just("`"), Just("|"), Just("&"), Just(";"), Just("\n"), Just(">"),
        Just("<<E"), Just("E"), Just("{ "), Just("}"), Just("if "), Just("fi"), Just("case x in "), Just("esac"), Just("[[ "), Just("]]"), Just("\\"),
        Just("é"), Just("2>&1"), Just("f()"), Just("cat "), Just("cargo build"), Just("bash -c "), Just("#"), Just("${"), Just("=("),
    ], 0..60)) {
        let command = parts.concat();
        let script = lex::parse(&command);
        prop_assert!(script.steps <= 8 * command.len() + 64);
        class(&command, PLAIN);
    }

    /// A view next to anything is never raw output.
    #[test]
    fn a_shown_view_never_gets_layout(before in "[a-z ;|&\n]{0,30}", after in "[a-z ;|&\n]{0,20}") {
        let command = format!("{before}\ncat a.rs\n{after}");
        prop_assert!(!allows_layout(class(&command, PLAIN)), "{}", command);
    }
}

/// Layout rules run on these classes only.
fn allows_layout(class: ResultClass) -> bool {
    matches!(class, ResultClass::Command | ResultClass::Log)
}
