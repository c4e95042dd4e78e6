//! Work grows with the input, not faster, whatever is thrown at a filter.

use super::*;

/// A filter with many patterns of all kinds.
fn busy() -> String {
    let drop: Vec<String> = (0..10).map(|n| format!(r#""^drop{n} .*(x|y)+z$""#)).collect();
    let rules = format!(
        r#""dropPatterns": [{}], "includePatterns": ["keep", "(a|aa)+b", "^\\s*\\d+"], "collapsePatterns": ["same"],
           "replace": [{{"pattern": "a", "replacement": "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}}, {{"pattern": "aa", "replacement": "aaaaaaaaaaaaaaaaaaaaaaaa"}}],
           "deduplicate": true, "truncateLineAt": 200, "maxLines": 50"#,
        drop.join(",")
    );
    tool(&rules, r#""errorPatterns": ["(x+x+)+y"]"#)
}

#[test]
fn hostile_outputs_end_and_stay_small() {
    let loaded = json(&busy());
    assert_eq!(messages(&loaded), [""; 0]);
    for (name, text) in [
        ("one long line", "a".repeat(300_000)),
        ("one line that nearly matches", "x".repeat(300_000)),
        ("empty lines", "\n".repeat(300_000)),
        ("one-letter lines", "a\n".repeat(150_000)),
        ("parentheses", "(".repeat(300_000)),
        ("equal lines", "same line of text\n".repeat(15_000)),
        ("different lines", (0..15_000).map(|n| format!("same {n}\n")).collect()),
        ("nul bytes", "\0".repeat(100_000)),
        ("combining marks", "\u{301}".repeat(100_000)),
    ] {
        let result = run(&loaded.set, "tool", None, Level::Standard, &text).unwrap();
        assert!(result.len() <= 2 * text.len() + 100_000, "{name}: {} from {}", result.len(), text.len());
    }
}

/// Replacements that feed each other would grow without end; they are bounded by the size of the line and the text.
#[test]
fn replacements_cannot_multiply() {
    let rule = r#"{"pattern": "a", "replacement": "aaaaaaaaaa"}"#;
    let rules = format!(r#""replace": [{}]"#, vec![rule; 60].join(","));
    let loaded = json(&tool(&rules, ""));
    let text = "a b c\n".repeat(20_000);
    let result = run(&loaded.set, "tool", None, Level::Standard, &text).unwrap();
    assert!(result.len() < 3 * text.len() + 70_000, "{}", result.len());
}
