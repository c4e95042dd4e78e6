//! The README shows this program and its output as they are.

use std::process::Command;

const README: &str = include_str!("../../../README.md");

#[test]
fn readme_shows_the_program() {
    let program = include_str!("../src/main.rs");
    let wanted: Vec<&str> = program
        .lines()
        .skip_while(|line| !line.starts_with("use "))
        .map(str::trim)
        .filter(|l| !l.is_empty())
        .collect();
    let mut shown = README.lines().map(str::trim);
    for line in wanted {
        assert!(shown.any(|l| l == line), "the README does not show this line, or not in its place: {line}");
    }
}

#[test]
fn readme_shows_the_output() {
    let out = Command::new(env!("CARGO_BIN_EXE_compress-a-prompt")).output().expect("runs");
    let printed = String::from_utf8(out.stdout).expect("is text");
    assert!(README.contains(printed.trim()), "the program prints {printed:?}");
}
