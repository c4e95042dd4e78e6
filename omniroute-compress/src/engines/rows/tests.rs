//! The laws of `rows`: round trip over random tables, refusals, hostile blocks, exact restoring.
//!
//! The reader and the printers here are naive and share no code with the engine.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use super::verify::verify;
use super::*;

/// JSON as it is meant: ordered keys, numbers as spelled.
#[derive(Debug, Clone, PartialEq)]
enum V {
    Null,
    Bool(bool),
    Num(String),
    Str(String),
    Arr(Vec<V>),
    Obj(Vec<(String, V)>),
}

/// Printing styles: gap after a comma, gap after a colon, indent unit, ASCII only.
#[derive(Debug, Clone, Copy)]
struct Style(&'static str, &'static str, Option<&'static str>, bool);

const COMPACT: Style = Style("", "", None, false);
const STYLES: [Style; 9] = [
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

fn print(v: &V, style: Style) -> String {
    let mut out = String::new();
    show(v, style, 0, &mut out);
    out
}

fn text() -> impl Strategy<Value = String> {
    const ODD: [&str; 29] = [
        "", "-", "~", "@1", "null", "true", "00123", "a|b", "say \"hi\"", "two\nlines", " lead", "trail ", "[x]",
        "{x}", "x ; -=null", "日本", "é", "😀", "\u{a0}nb", "\u{85}", "\u{2028}", "\u{7f}", "tab\t", "\\n", "back\\",
        "a:b=c", "a.b", "\0\u{1f}", "-5",
    ];
    prop_oneof![3 => select(&ODD[..]).prop_map(str::to_owned), 2 => "[a-z ]{0,12}", 1 => any::<String>()]
}

fn number() -> impl Strategy<Value = String> {
    const ODD: [&str; 10] =
        ["1E5", "1e+5", "-0", "0.10", "1.0", "12345678901234567890", "1e400", "0", "-7", "3.141592653589793238462643"];
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

fn unique<T>(members: Vec<(String, T)>) -> Vec<(String, T)> {
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

fn table() -> impl Strategy<Value = V> {
    (8usize..14).prop_flat_map(|rows| vec((key(), column(rows)), 1..7).prop_map(move |columns| {
        let columns = unique(columns);
        let row = |i: usize| {
            let cell = |(key, cells): &(String, Vec<Option<V>>)| Some((key.clone(), cells[i].clone()?));
            V::Obj(columns.iter().filter_map(cell).collect())
        };
        V::Arr((0..rows).map(row).collect())
    }))
}

fn document() -> impl Strategy<Value = V> {
    let wrapped = (table(), table(), value()).prop_map(|(a, b, v)| {
        let inner = V::Obj(vec![("items".to_owned(), b), ("@1".to_owned(), V::Str("@2".to_owned()))]);
        V::Obj(vec![("total".to_owned(), v.clone()), ("items".to_owned(), a), ("more".to_owned(), inner), ("next".to_owned(), v)])
    });
    prop_oneof![3 => table(), 1 => wrapped]
}

fn open_gates() -> Options {
    Options { min_chars: 0, min_saving_percent: 0, min_saving_tokens: 0, ..Options::default() }
}

fn bytes(text: &str) -> u32 {
    text.len() as u32
}

fn encode_open(text: &str) -> Result<Encoded, Refusal> {
    encode(text, &bytes, &open_gates())
}

fn block(encoded: &Encoded) -> &str {
    encoded.text.get(encoded.block.clone()).unwrap()
}

fn run<S: Strategy>(cases: u32, strategy: S, test: impl Fn(S::Value) -> Result<(), TestCaseError>) {
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    TestRunner::new_with_rng(config, rng).run(&strategy, test).unwrap();
}

/// The round-trip law as a check on any encoder.
fn round_trips(v: &V, block: &str) -> bool {
    decode(block).is_ok_and(|json| json == print(v, COMPACT))
}

#[test]
fn random_tables_round_trip() {
    let accepted = std::cell::Cell::new((0u32, 0u32));
    run(400, (document(), select(&STYLES[..])), |(v, style)| {
        let source = print(&v, style);
        let (all, done) = accepted.get();
        accepted.set((all + 1, done));
        match encode_open(&source) {
            Ok(encoded) => {
                accepted.set((all + 1, done + 1));
                prop_assert!(round_trips(&v, block(&encoded)), "{source}\n{}", encoded.text);
                match restore(&encoded.text, &encoded.edit()) {
                    Some(restored) => prop_assert_eq!(&restored, &source),
                    None => prop_assert!(encoded.printer.is_none()),
                }
                let regular = style.0 != " , " && style.0 != ",\n";
                let empty_ascii = encoded.printer.is_some() || !regular;
                prop_assert!(empty_ascii, "{source}");
            }
            Err(Refusal::SparseColumns | Refusal::NoGain) => {}
            Err(refusal) => prop_assert!(false, "{refusal}: {source}"),
        }
        Ok(())
    });
    let (all, done) = accepted.get();
    assert!(done * 10 > all * 8, "only {done} of {all} documents became tables");
}

#[test]
fn json_lines_round_trip() {
    run(100, (table(), any::<bool>()), |(v, spaced)| {
        let V::Arr(rows) = &v else { return Ok(()) };
        let lines: Vec<_> = rows.iter().map(|row| print(row, STYLES[usize::from(spaced)])).collect();
        let source = format!("\n{}\n", lines.join("\n"));
        if let Ok(encoded) = encode_open(&source) {
            prop_assert!(round_trips(&v, block(&encoded)), "{source}\n{}", encoded.text);
            prop_assert!(encoded.printer.is_some_and(|p| p.lines));
            prop_assert_eq!(restore(&encoded.text, &encoded.edit()), Some(source));
        }
        Ok(())
    });
}

/// The example of the specification, byte for byte.
const EXAMPLE: &str = r#"[
{"id":1,"name":"Fix login","state":"open","owner":{"login":"mia","id":7},"size":1.0,"note":null},
{"id":2,"name":"a|b pipe","state":"open","owner":{"login":"li","id":9},"size":2.50,"note":""},
{"id":3,"name":"-","state":"open","owner":{"login":"mia","id":7},"size":1E5},
{"id":4,"name":"null","state":"open","owner":{"login":"mia","id":7},"size":0,"note":"two\nlines"},
{"id":5,"name":"00123","state":"open","owner":{"login":"li","id":9},"size":-0,"note":"end "},
{"id":6,"name":"日本","state":"open","owner":{"login":"li","id":9},"size":12345678901234567890,"note":"ok"},
{"id":7,"name":"[x]","state":"open","owner":{"login":"li","id":9},"size":3,"note":"ok"},
{"id":8,"name":"@1","state":"open","owner":{"login":"li","id":9},"size":3,"note":"~"}
]"#;

#[test]
fn example_of_the_specification() {
    let encoded = encode(EXAMPLE, &|t| t.len() as u32 / 3, &Options::default()).unwrap();
    assert_eq!(
        encoded.text,
        r#"[8 rows] id:n|name:s|state="open"|owner.login:s|owner.id:n|size:n|note:s? ; -=null ~=absent
1|Fix login|mia|7|1.0|-
2|"a|b pipe"|li|9|2.50|""
3|"-"|mia|7|1E5|~
4|null|mia|7|0|"two\nlines"
5|00123|li|9|-0|"end "
6|日本|li|9|12345678901234567890|ok
7|"[x]"|li|9|3|ok
8|"@1"|li|9|3|"~""#
    );
    assert_eq!(decode(&encoded.text).unwrap(), EXAMPLE.replace('\n', ""));
    assert_eq!((encoded.rows, encoded.tables, encoded.form), (8, 1, Form::Table));
}

#[test]
fn nested_document_and_text_around() {
    let rows: Vec<_> = (0..240).map(|i| format!("{{\"id\":{i},\"ok\":true}}")).collect();
    let json = format!("{{\"total\":240,\"next\":null,\"items\":[{}]}}", rows.join(","));
    for (before, after) in [("", ""), ("< HTTP/2 200\n<\n", "\n* done"), ("see:\n```json\n", "\n```\n"), (" \n", " \n")] {
        let source = format!("{before}{json}{after}");
        let encoded = encode(&source, &bytes, &Options::default()).unwrap();
        let head = "{\"total\":240,\"next\":null,\"items\":@1}\n@1 [240 rows] id:n|ok=true\n0\n1\n";
        assert!(encoded.text.starts_with(&format!("{before}{head}")), "{}", encoded.text);
        assert!(encoded.text.ends_with(&format!("\n239{after}")));
        assert_eq!(source.get(encoded.place.clone()), Some(json.as_str()));
        assert_eq!(decode(block(&encoded)).unwrap(), json);
        assert_eq!(restore(&encoded.text, &encoded.edit()), Some(source));
    }
}

#[test]
fn number_spelling_is_kept() {
    let spelled = ["1E5", "1e+5", "-0", "0.10", "1.0", "12345678901234567890", "1e400", "0"];
    let rows: Vec<_> = spelled.iter().map(|n| format!("{{\"n\":{n},\"mixed\":[{n}]}}")).collect();
    let source = format!("[{}]", rows.join(","));
    let encoded = encode_open(&source).unwrap();
    let lines: Vec<_> = encoded.text.lines().skip(1).map(str::to_owned).collect();
    assert_eq!(lines, spelled.map(|n| format!("{n}|[{n}]")));
    assert_eq!(decode(&encoded.text).unwrap(), source);
}

#[test]
fn refusals() {
    let list = |row: &dyn Fn(usize) -> String| {
        format!("[{}]", (0..40).map(row).collect::<Vec<_>>().join(","))
    };
    let good = list(&|i| format!("{{\"id\":{i},\"name\":\"row {i}\",\"kind\":\"something\"}}"));
    assert!(encode(&good, &bytes, &Options::default()).is_ok());
    let deep = format!("{}1{}", "[".repeat(31), "]".repeat(31));
    let few = format!("[{}]", (0..7).map(|i| format!("{{\"id\":{i}}}")).collect::<Vec<_>>().join(","));
    let cases: Vec<(Refusal, String, Options)> = vec![
        (Refusal::NotJson, good.replace("]", ""), open_gates()),
        (Refusal::TooSmall, "[{\"a\":1}]".to_owned(), Options::default()),
        (Refusal::TooFewRows, few, open_gates()),
        (Refusal::TooFewRows, "{\"a\":1}".to_owned(), open_gates()),
        (Refusal::NotObjects, list(&|i| i.to_string()), open_gates()),
        (Refusal::NotObjects, list(&|i| if i == 30 { "null".to_owned() } else { "{\"a\":1}".to_owned() }), open_gates()),
        (Refusal::DuplicateKey, list(&|i| format!("{{\"a\":{i},\"b\":1,\"\\u0061\":2}}")), open_gates()),
        (Refusal::DuplicateKey, list(&|i| format!("{{\"a\":{i},\"b\":{{\"x\":1,\"x\":1}}}}")), open_gates()),
        (Refusal::DuplicateKey, list(&|i| format!("{{\"a\":{i},\"b\":[{{\"x\":1,\"x\":1}}]}}")), open_gates()),
        (Refusal::DuplicateKey, format!("{{\"a\":{good},\"a\":1}}"), open_gates()),
        (Refusal::Surrogate, good.replace("row 3", "\\udc00"), open_gates()),
        (Refusal::TooDeep, good.replace("\"row 7\"", &deep), open_gates()),
        (Refusal::TooLarge, good.clone(), Options { max_bytes: 100, ..open_gates() }),
        (Refusal::TooManyColumns, good.clone(), Options { max_columns: 2, ..open_gates() }),
        (Refusal::TooManyCells, good.clone(), Options { max_cells: 119, ..open_gates() }),
        (Refusal::SparseColumns, list(&|i| format!("{{\"k{}\":1}}", i % 3)), open_gates()),
        (Refusal::SparseColumns, list(&|_| "{}".to_owned()), open_gates()),
        (Refusal::KeyOrder, good.replace("{\"id\":9,\"name\":\"row 9\"", "{\"name\":\"row 9\",\"id\":9"), open_gates()),
        (Refusal::NoGain, list(&|i| format!("{{\"a\":\"{}{i}\"}}", "x".repeat(300))), Options::default()),
        (Refusal::AlreadyCompressed, format!("[8 rows] a:n\n{good}"), open_gates()),
        (Refusal::AlreadyCompressed, good.replace("row 5", "[CCR retrieve hash=0 chars=9]"), open_gates()),
    ];
    for (expected, source, options) in cases {
        let got = encode(&source, &bytes, &options).map(|e| e.text);
        assert_eq!(got, Err(expected), "{expected}: {source}");
    }
    // Depth 32 in all is fine.
    let deep = format!("{}1{}", "[".repeat(30), "]".repeat(30));
    assert!(encode_open(&good.replace("\"row 7\"", &deep)).is_ok());
}

#[test]
fn one_list_of_several_may_be_refused() {
    let rows: Vec<_> = (0..9).map(|i| format!("{{\"id\":{i},\"name\":\"n{i}\"}}")).collect();
    let source = format!("{{\"a\":[1,2,3],\"b\":[{0}],\"c\":[{0},null]}}", rows.join(","));
    let encoded = encode_open(&source).unwrap();
    assert_eq!(encoded.tables, 1);
    assert!(encoded.text.starts_with("{\"a\":[1,2,3],\"b\":@1,\"c\":[{\"id\":0,"), "{}", encoded.text);
    assert_eq!(decode(&encoded.text).unwrap(), source);
}

#[test]
fn compact_form_where_white_space_is_all_there_is_to_save() {
    let filler = "word ".repeat(60);
    let rows: Vec<_> = (0..20).map(|i| format!("{{{:400}\"a\":\"{i} {filler}\"}}", "")).collect();
    let source = format!("[{}]", rows.join(","));
    let encoded = encode(&source, &bytes, &Options::default()).unwrap();
    assert_eq!(encoded.form, Form::CompactJson);
    assert_eq!(encoded.text, source.replace(&format!("{:400}", ""), ""));
    assert_eq!(decode(&encoded.text).unwrap(), encoded.text);
}

#[test]
fn null_and_absent_stay_apart() {
    for (first, second) in [("{\"a\":null}", "{}"), ("{}", "{\"a\":null}"), ("{\"a\":\"\"}", "{\"a\":null}")] {
        let rows: Vec<_> = (0..9).map(|i| if i == 4 { second } else { first }).collect();
        let source = format!("[{}]", rows.join(","));
        if let Ok(encoded) = encode_open(&source) {
            assert_eq!(decode(&encoded.text).unwrap(), source);
            assert!(!verify(&encoded.text, source.replacen(second, first, 1).as_bytes(), false));
        }
    }
}

/// Rewrites the cells of a block whose cells hold no `|`, as a broken encoder would have written them.
fn rewrite(block: &str, change: impl Fn(&str) -> String) -> String {
    let (head, rows) = block.split_once('\n').unwrap();
    let row = |line: &str| line.split('|').map(&change).collect::<Vec<_>>().join("|");
    format!("{head}\n{}", rows.lines().map(row).collect::<Vec<_>>().join("\n"))
}

#[test]
fn broken_encoders_are_caught() {
    let row = |i: usize| {
        let mut members = vec![("id".to_owned(), V::Num(format!("{i}.0")))];
        members.push(("text".to_owned(), if i % 3 == 0 { V::Null } else { V::Str(format!("t{i}")) }));
        if i % 4 != 0 {
            members.push(("big".to_owned(), V::Num(format!("1234567890123456789{i}"))));
        }
        V::Obj(members)
    };
    let v = V::Arr((0..12).map(row).collect());
    let source = print(&v, STYLES[1]);
    let good = encode_open(&source).unwrap().text;
    let float = |cell: &str| cell.parse::<f64>().map_or(cell.to_owned(), |n| n.to_string());
    for (name, block, right) in [
        ("ours", good.clone(), true),
        ("ours, untouched", rewrite(&good, str::to_owned), true),
        ("null becomes the empty string", rewrite(&good, |c| if c == "-" { "\"\"".into() } else { c.into() }), false),
        ("numbers through f64", rewrite(&good, float), false),
        ("absent becomes null", rewrite(&good, |c| if c == "~" { "-".into() } else { c.into() }), false),
        ("absent marker dropped", good.replace("|~", ""), false),
        ("a row is lost", good.rsplit_once('\n').unwrap().0.replace("[12 rows]", "[11 rows]"), false),
    ] {
        assert_eq!(round_trips(&v, &block), right, "law: {name}\n{block}");
        assert_eq!(verify(&block, source.as_bytes(), false), right, "run-time proof: {name}\n{block}");
    }
}

#[test]
fn hostile_blocks_are_errors() {
    const LIMIT: usize = 1 << 16;
    let sane = |block: &str| match decode_with_limit(block, LIMIT) {
        Ok(json) => json.len() <= LIMIT && omniroute_core::Doc::check(&json).is_ok(),
        Err(error) => error.line() > 0,
    };
    run(300, any::<String>(), |text| {
        prop_assert!(sane(&text));
        for head in ["[8 rows] ", "[1 rows] a:", "{\"a\":@1}\n@1 [1 rows] ", "[3 rows] a:s|b:n?\n"] {
            let block = format!("{head}{text}");
            prop_assert!(sane(&block));
        }
        Ok(())
    });
    let edits = vec((any::<prop::sample::Index>(), 0u8..3, select(&b"\"|\n~-@[]{}:=?;,.\\0 9ns\xc3"[..])), 1..6);
    run(300, (document(), edits), |(v, edits)| {
        let Ok(encoded) = encode_open(&print(&v, COMPACT)) else { return Ok(()) };
        let mut bytes = encoded.text.into_bytes();
        for (index, what, byte) in edits {
            let at = index.index(bytes.len());
            match what {
                0 => bytes[at] = byte,
                1 => bytes.insert(at, byte),
                _ => drop(bytes.remove(at)),
            }
        }
        prop_assert!(sane(&String::from_utf8_lossy(&bytes)));
        Ok(())
    });
}
