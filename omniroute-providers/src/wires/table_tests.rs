//! Tables of parameters against the matrix, for the tests of every wire.

use omniroute_core::hub::Param;
use omniroute_core::wire::{Fate, MATRIX, ParamTable};

fn cell(param: Param, wire: &str) -> &'static str {
    let mut lines = MATRIX.lines().filter(|l| !l.starts_with('#'));
    let column = lines.next().and_then(|head| head.split('\t').position(|name| name == wire)).unwrap();
    let row = lines.find(|l| l.starts_with(&format!("request\t{}\t", param.row())));
    row.unwrap_or_else(|| panic!("no row for {param:?}")).split('\t').nth(column).unwrap()
}

/// Whether a table and a cell of the matrix say the same.
fn agree(fate: Fate, cell: &str) -> bool {
    match fate {
        Fate::Drop | Fate::Host(_) => cell == "-",
        Fate::Silent => cell == ".",
        Fate::Incapable(code) => cell == format!("!{code}"),
        Fate::Own => !["-", ".", "!"].iter().any(|mark| cell.starts_with(mark)),
        Fate::Key(key) => cell.split(' ').any(|path| names(path, key)),
        Fate::Clamp(key, low, high) => names(cell, key) && cell.contains(&format!("{low}..{high}")),
        Fate::List(key, most) => names(cell, key) && (most == usize::MAX || cell.contains(&most.to_string())),
    }
}

fn names(cell: &str, key: &str) -> bool {
    cell.split([' ', '.', '~', '*']).any(|word| word.trim_end_matches("[]") == key)
}

/// Every parameter has one row, and it says what the matrix says.
pub(super) fn check(table: &ParamTable) {
    for param in Param::ALL {
        assert_eq!(table.rows.iter().filter(|(p, _)| *p == param).count(), 1, "{param:?}");
        let (fate, cell) = (table.fate(param), cell(param, table.wire));
        assert!(agree(fate, cell), "{} {param:?}: {fate:?} and {cell:?}", table.wire);
    }
}

/// The twin: a table that drops what the matrix carries is caught.
#[test]
fn a_table_that_disagrees_is_caught() {
    assert!(!agree(Fate::Drop, cell(Param::Seed, "cohere")));
    assert!(!agree(Fate::Key("top_k"), cell(Param::TopK, "cohere")));
    assert!(!agree(Fate::Clamp("temperature", "0", "2"), cell(Param::Temperature, "bedrock-converse")));
}
