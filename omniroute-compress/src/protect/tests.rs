//! What is protected, what is not, and that no text costs more than its length.

use proptest::prelude::*;

use super::*;

fn found(text: &str) -> Vec<(Kind, &str)> {
    spans(text).iter().map(|s| (s.kind, text.get(s.start..s.end).unwrap())).collect()
}

#[test]
fn each_kind_is_found() {
    use Kind::*;
    for (text, kind, part) in [
        ("See:\n```sh\nplease run\n```\nDone", Fence, "```sh\nplease run\n```\n"),
        ("~~~\nopen to the end", Fence, "~~~\nopen to the end"),
        ("Text\n\n    let a = b\n    and so on\n", IndentedCode, "    let a = b\n"),
        ("run `make all` now", InlineCode, "`make all`"),
        ("run ``a ` b`` now", InlineCode, "``a ` b``"),
        ("for more about it see https://a.example/x_(y)?q=1.", Url, "https://a.example/x_(y)?q=1"),
        ("see www.a.example, or so", Url, "www.a.example"),
        ("mail joe@a.example today", Email, "joe@a.example"),
        ("open /etc/hosts now", Path, "/etc/hosts"),
        ("open src/main.rs:10:4 now", Path, "src/main.rs:10:4"),
        ("open C:\\tmp\\a.txt now", Path, "C:\\tmp\\a.txt"),
        ("send {\"a\": [1, \"]\"]} to it", Json, "{\"a\": [1, \"]\"]}"),
        ("| a | b |\n", Table, "| a | b |\n"),
        ("┌──┐\n", Table, "┌──┐\n"),
        ("---\ntitle: a\n---\nText", Frontmatter, "---\ntitle: a\n---\n"),
        ("# The title\nText", Heading, "# The title\n"),
        ("so $x + y$ holds", Math, "$x + y$"),
        ("so $$a\nb$$ holds", Math, "$$a\nb$$"),
        ("so \\begin{a}b\\end{a} holds", Math, "\\begin{a}b\\end{a}"),
        ("he said \"please stop the car\" twice", Quote, "\"please stop the car\""),
        ("he said 'please stop' twice", Quote, "'please stop'"),
        ("er sagte „bitte nicht“ laut", Quote, "„bitte nicht“"),
        ("il dit « merci beaucoup » ici", Quote, "« merci beaucoup »"),
        ("请说「谢谢你」三次", Quote, "「谢谢你」"),
        ("set max_size here", Identifier, "max_size"),
        ("set maxSize here", Identifier, "maxSize"),
        ("call std::fmt here", Identifier, "std::fmt"),
        ("call f(x) here", Identifier, "f(x)"),
        ("use --force here", Identifier, "--force"),
        ("set ${HOME} here", Json, "{HOME}"),
        ("see #123 there", Identifier, "#123"),
        ("the API is up", Identifier, "API"),
        ("at version v1.2.3-rc.1 now", Identifier, "v1.2.3-rc.1"),
        ("wait 5 ms now", Number, "5 ms"),
        ("wait -3.5e4 now", Number, "-3.5e4"),
        ("pay $3,500 now", Number, "$3,500"),
        ("grow by 12% now", Number, "12%"),
        ("on 2024-05-01 then", Number, "2024-05-01"),
        ("请等 5ms 再试", Number, "5ms"),
        ("a\nthe build failed again\nb", ErrorLine, "the build failed again\n"),
        ("a TypeError came up", ErrorLine, "a TypeError came up"),
        ("at f (a.js:1:2)\n", StackFrame, "at f (a.js:1:2)\n"),
        ("@@ -1 +1 @@\n-please\n+the\nText", Diff, "-please\n"),
        ("[omitted: 5 lines, see above]\n", Marker, "[omitted: 5 lines, see above]\n"),
        ("$ please run it\n", Command, "$ please run it\n"),
        ("git commit -m please\n", Command, "git commit -m please\n"),
        ("int main() {\n", Command, "int main() {\n"),
        ("> please quote me\n", Command, "> please quote me\n"),
        ("2024-05-01 please log\n", Command, "2024-05-01 please log\n"),
        ("keep <b> here", Markup, "<b>"),
    ] {
        assert!(found(text).contains(&(kind, part)), "{text:?}: {:?}", found(text));
    }
}

#[test]
fn prose_is_free() {
    for text in [
        "Please don't change the well-known order, it’s fine.",
        "Könnten Sie bitte die Datei öffnen?",
        "¿Podrías revisar esto, por favor?",
        "请检查这个文件。",
        "- one thing\n- another thing (really)",
    ] {
        assert_eq!(found(text), [], "{text}");
        assert!(!scan(text).paragraphs.is_empty());
    }
}

fn pieces() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "please ",
        "`",
        "``",
        "```\n",
        "\"",
        "'",
        "[",
        "]",
        "{",
        "}",
        "<",
        ">",
        "$",
        "$$",
        "\\(",
        "\\)",
        "“",
        "”",
        "「",
        "」",
        "é",
        "请",
        "5",
        " ms",
        "a_b",
        "http://x ",
        "\n",
        "\n\n",
        "    ",
        "| ",
        "error ",
        "(",
        ")",
        ".",
        ", ",
        "-",
        "@@ -1",
        "# ",
        "---\n",
        "’",
        "\u{a0}",
        "\r\n",
        "🙂",
        "the ",
        "\\begin{",
        "\\end{a}",
    ]);
    prop::collection::vec(piece, 0..60).prop_map(|p| p.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn spans_are_in_order_and_end_at_characters(text in pieces()) {
        let scan = scan(&text);
        let mut at = 0;
        for s in &scan.spans {
            prop_assert!(s.start >= at && s.start < s.end, "{:?}", scan.spans);
            prop_assert!(text.get(s.start..s.end).is_some(), "{s:?} of {text:?}");
            at = s.end;
        }
        let inside = |w: &Word| scan.spans.iter().any(|s| (w.start as usize) < s.end && s.start < w.end as usize);
        for w in &scan.words {
            prop_assert!(text.get(w.start as usize..w.end as usize).is_some());
            prop_assert!(!inside(w), "{w:?} {:?}", scan.spans);
        }
        prop_assert!(scan.words.is_sorted_by_key(|w| w.start));
    }
}

/// Texts that make careless scanners quadratic. A doubled text may not take much more than twice the looks; looks
/// cannot be counted from outside, so the sizes are such that a quadratic scanner would not come back.
#[test]
fn hostile_texts_come_back() {
    for piece in [
        "(",
        ")",
        "[",
        "{\"",
        "`",
        "a`` ",
        "\"",
        "'a ",
        "<",
        "$a ",
        "“",
        "\\(",
        "a ",
        "))a",
        "\u{2192}",
        "|",
        "-- ",
        "\"'",
        "<a>",
        "$a$",
        r"\begin{a}\end{a}",
        "`a`",
        "«a»",
        "'a'",
        "[]",
        "error ",
    ] {
        let text = piece.repeat(1 << 20);
        assert!(spans(&text).len() <= text.len());
    }
    let mixed = "[".repeat(1 << 19) + &"\"\"".repeat(1 << 19);
    assert!(!spans(&mixed).is_empty());
    let runs: String = (1..600).map(|n| "`".repeat(n) + " ").collect();
    assert!(spans(&runs).len() < 700);
}
