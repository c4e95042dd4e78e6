//! Random tables and a printer that share no code with the engine.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

/// JSON as it is meant: ordered keys, numbers as spelled.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum V {
    Null,
    Bool(bool),
    Num(String),
    Str(String),
    Arr(Vec<V>),
    Obj(Vec<(String, V)>),
}

/// Printing styles: gap after a comma, gap after a colon, indent unit, ASCII only.
#[derive(Debug, Clone, Copy)]
pub(super) struct Style(pub(super) &'static str, pub(super) &'static str, Option<&'static str>, bool);

pub(super) const COMPACT: Style = Style("", "", None, false);
pub(super) const STYLES: [Style; 9] = [
    COMPACT,
    Style(", ", ": ", None, true),
    Style(", ", ": ", None, false),
    Style("", "", None, true),
    Style("", ": ", Some("  "), false),
    Style("", ": ", Some("    "), true),
    Style("", ": ", Some("\t"), false),
    Style(" , ", "\t:\r\n", None, false),
    Style(",\n", ":", None, true),
];

fn show(v: &V, style: Style, depth: usize, out: &mut String) {
    let line = |depth: usize, out: &mut String| {
        if let Some(unit) = style.2 {
            out.push('\n');
            out.push_str(&unit.repeat(depth));
        }
    };
    let comma = if style.0.is_empty() { "," } else { style.0 };
    let colon = if style.1.is_empty() { ":" } else { style.1 };
    match v {
        V::Null => out.push_str("null"),
        V::Bool(b) => out.push_str(if *b { "true" } else { "false" }),
        V::Num(n) => out.push_str(n),
        V::Str(s) => show_str(s, style.3, out),
        V::Arr(items) if items.is_empty() => out.push_str("[]"),
        V::Obj(members) if members.is_empty() => out.push_str("{}"),
        V::Arr(items) => {
            out.push('[');
            for (i, item) in items.iter().enumerate() {
                out.push_str(if i > 0 { comma } else { "" });
                line(depth + 1, out);
                show(item, style, depth + 1, out);
            }
            line(depth, out);
            out.push(']');
        }
        V::Obj(members) => {
            out.push('{');
            for (i, (key, item)) in members.iter().enumerate() {
                out.push_str(if i > 0 { comma } else { "" });
                line(depth + 1, out);
                show_str(key, style.3, out);
                out.push_str(colon);
                show(item, style, depth + 1, out);
            }
            line(depth, out);
            out.push('}');
        }
    }
}

fn show_str(s: &str, ascii: bool, out: &mut String) {
    out.push('"');
    for c in s.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            c if c < ' ' || (ascii && !(' '..='~').contains(&c)) => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    out.push_str(&format!("\\u{unit:04x}"));
                }
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

pub(super) fn print(v: &V, style: Style) -> String {
    let mut out = String::new();
    show(v, style, 0, &mut out);
    out
}

fn text() -> impl Strategy<Value = String> {
    const ODD: [&str; 29] = [
        "",
        "-",
        "~",
        "@1",
        "null",
        "true",
        "00123",
        "a|b",
        "say \"hi\"",
        "two\nlines",
        " lead",
        "trail ",
        "[x]",
        "{x}",
        "x ; -=null",
        "日本",
        "é",
        "😀",
        "\u{a0}nb",
        "\u{85}",
        "\u{2028}",
        "\u{7f}",
        "tab\t",
        "\\n",
        "back\\",
        "a:b=c",
        "a.b",
        "\0\u{1f}",
        "-5",
    ];
    prop_oneof![3 => select(&ODD[..]).prop_map(str::to_owned), 2 => "[a-z ]{0,12}", 1 => any::<String>()]
}

fn number() -> impl Strategy<Value = String> {
    const ODD: [&str; 10] = [
        "1E5",
        "1e+5",
        "-0",
        "0.10",
        "1.0",
        "12345678901234567890",
        "1e400",
        "0",
        "-7",
        "3.141592653589793238462643",
    ];
    prop_oneof![select(&ODD[..]).prop_map(str::to_owned), any::<i32>().prop_map(|n| n.to_string())]
}

fn value() -> impl Strategy<Value = V> {
    let leaf = prop_oneof![
        Just(V::Null),
        any::<bool>().prop_map(V::Bool),
        number().prop_map(V::Num),
        text().prop_map(V::Str),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(V::Arr),
            vec((key(), inner), 0..4).prop_map(|members| V::Obj(unique(members))),
        ]
    })
}

fn key() -> impl Strategy<Value = String> {
    const PLAIN: [&str; 8] = ["id", "name", "state", "owner", "size", "x", "y", "note"];
    const ODD: [&str; 10] = ["a b", "a.b", "", "a|b", "k:n", "k=1", "日本", "q\"", "@1", "n\nl"];
    prop_oneof![9 => select(&PLAIN[..]).prop_map(str::to_owned), 1 => select(&ODD[..]).prop_map(str::to_owned)]
}

pub(super) fn unique<T>(members: Vec<(String, T)>) -> Vec<(String, T)> {
    let mut seen = std::collections::HashSet::new();
    members.into_iter().filter(|(key, _)| seen.insert(key.clone())).collect()
}

/// Cells of one column; `None` is an absent key.
fn column(rows: usize) -> BoxedStrategy<Vec<Option<V>>> {
    let nested = (number(), text()).prop_map(|(n, s)| {
        let deep = V::Obj(vec![("z".to_owned(), V::Num(n.clone()))]);
        V::Obj(vec![("login".to_owned(), V::Str(s)), ("id".to_owned(), V::Num(n)), ("deep".to_owned(), deep)])
    });
    let full = prop_oneof![
        3 => vec(number().prop_map(V::Num), rows),
        3 => vec(text().prop_map(V::Str), rows),
        1 => vec(any::<bool>().prop_map(V::Bool), rows),
        2 => vec(value(), rows),
        2 => vec(nested, rows),
        2 => value().prop_map(move |v| vec![v; rows]),
    ];
    let holes = prop_oneof![4 => Just(0u8), 1 => Just(1), 1 => Just(2), 1 => Just(3)];
    (full, holes, vec(any::<u8>(), rows))
        .prop_map(|(full, holes, dice)| {
            let cut = |(v, die): (V, u8)| match (holes, die % 5) {
                (1 | 3, 0) => None,
                (2 | 3, 1) => Some(V::Null),
                _ => Some(v),
            };
            full.into_iter().zip(dice).map(cut).collect()
        })
        .boxed()
}

pub(super) fn table() -> impl Strategy<Value = V> {
    (8usize..14).prop_flat_map(|rows| {
        vec((key(), column(rows)), 1..7).prop_map(move |columns| {
            let columns = unique(columns);
            let row = |i: usize| {
                let cell = |(key, cells): &(String, Vec<Option<V>>)| Some((key.clone(), cells[i].clone()?));
                V::Obj(columns.iter().filter_map(cell).collect())
            };
            V::Arr((0..rows).map(row).collect())
        })
    })
}

pub(super) fn document() -> impl Strategy<Value = V> {
    let wrapped = (table(), table(), value()).prop_map(|(a, b, v)| {
        let inner = V::Obj(vec![("items".to_owned(), b), ("@1".to_owned(), V::Str("@2".to_owned()))]);
        V::Obj(vec![
            ("total".to_owned(), v.clone()),
            ("items".to_owned(), a),
            ("more".to_owned(), inner),
            ("next".to_owned(), v),
        ])
    });
    prop_oneof![3 => table(), 1 => wrapped]
}
