//! Builds driven by make, ninja or cmake, and C compilers: progress is counted, the command of a failed step stays,
//! warnings of one text stand once.

use crate::rtk::kit::{Draft, Level, Output, Verdict, What};

use super::emit::{Policy, emit};
use super::lint::{is_short, level};
use super::model::{Bound, Kind, Parsed};
use super::parse::parse;
use super::scan::{digits, position};

/// Longest command line of a failed step that is shown whole.
const MAX_COMMAND: usize = 200;

/// `make`, `ninja`, `cmake` (configure and build), `gcc`, `g++`, `clang`, `javac`.
pub(crate) fn build(out: &Output<'_>, draft: &mut Draft) -> Verdict {
    if is_short(out) {
        return Verdict::Done;
    }
    let parsed = parse(out);
    let steps = steps(out, draft, &parsed);
    if steps == 0 && parsed.findings.is_empty() {
        return Verdict::NotMine;
    }
    if level(out) != Level::Minimal {
        shorten_commands(out, draft);
        emit(out, draft, &parsed, Policy { by_file: false, drop_frames: false, level: level(out) });
    }
    Verdict::Done
}

/// What a line of a build log is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    /// `[ 12%] Building x`, `-- Looking for x - found`.
    Progress,
    /// The command that make runs.
    Command,
    /// `make[1]: Entering directory`.
    Enter,
    /// `make[1]: Leaving directory`.
    Leave,
}

/// Counts steps; the number of them. The command and the directory of a step that fails stay.
fn steps(out: &Output<'_>, draft: &mut Draft, parsed: &Parsed<'_>) -> usize {
    let mut count = 0;
    let mut command: Option<usize> = None;
    let mut entered: Option<usize> = None;
    for i in 0..out.len() {
        let is_finding = match parsed.kinds.get(i) {
            Some(Kind::Finding(n)) => parsed.findings.get(*n as usize).map(|f| f.bound),
            _ => None,
        };
        let line = out.line(i);
        if is_finding.is_some() || is_failure(line) {
            if let Some(at) = entered.take() {
                draft.keep(at);
            }
            if let Some(at) = command.take_if(|_| is_finding.is_none_or(|bound| bound == Bound::Line)) {
                draft.keep(at);
            }
            continue;
        }
        if matches!(parsed.kinds.get(i), Some(Kind::Frame(_) | Kind::Lead)) {
            continue;
        }
        let Some(step) = step(line) else { continue };
        draft.drop_known(i, What::Steps);
        count += 1;
        match step {
            Step::Progress => {}
            Step::Command => command = Some(i),
            Step::Enter => entered = Some(i),
            Step::Leave => entered = None,
        }
    }
    count
}

/// `make: *** [x] Error 1`, `FAILED: x`, an undefined reference.
fn is_failure(line: &str) -> bool {
    !line.is_empty()
        && (line.contains(": *** ")
            || line.starts_with("FAILED: ")
            || line.contains("undefined reference")
            || line.starts_with("collect2: "))
}

const COMPILERS: &[&str] = &[
    "cc", "gcc", "g++", "c++", "clang", "clang++", "c99", "c89", "ar", "ranlib", "ld", "as", "nvcc",
    "gfortran", "libtool:", "ccache", "strip", "objcopy", "windres", "moc", "javac", "rustc", "tsc",
    "cython",
];
const TOOLS: &[&str] = &["rm", "mkdir", "cp", "mv", "ln", "touch", "install", "chmod", "cd"];

fn step(line: &str) -> Option<Step> {
    let bytes = line.as_bytes();
    match bytes {
        [b'[', ..] => {
            let inner = line.get(1..)?.trim_start();
            let (_, rest) = digits(inner)?;
            let rest = rest.strip_prefix('%').or_else(|| digits(rest.strip_prefix('/')?).map(|(_, r)| r))?;
            rest.starts_with("] ").then_some(Step::Progress)
        }
        [b'-', b'-', b' ', ..] => {
            let text = line.get(3..)?;
            let checks =
                ["Detecting ", "Check ", "Check for ", "Checking ", "Looking for ", "Performing Test "];
            let is_check = checks.iter().any(|c| text.starts_with(c));
            (is_check && !text.ends_with("not found") && !text.ends_with("Failed")).then_some(Step::Progress)
        }
        [b' ', b' ', third, ..] if third.is_ascii_uppercase() => {
            let (word, rest) = line.trim_start().split_once(' ')?;
            let is_verb = (2..=8).contains(&word.len())
                && word.bytes().all(|b| b.is_ascii_uppercase() || b == b'[' || b == b']');
            let path = rest.trim_start();
            (is_verb && rest.len() > path.len() && !path.contains(' ') && path.contains(['.', '/']))
                .then_some(Step::Command)
        }
        _ => command(line),
    }
}

fn command(line: &str) -> Option<Step> {
    let (first, rest) = line.split_once(' ')?;
    if let Some((maker, _)) = first.split_once('[')
        && first.ends_with("]:")
        && matches!(maker, "make" | "gmake" | "mingw32-make")
    {
        return match rest.split_once(' ')?.0 {
            "Entering" => Some(Step::Enter),
            "Leaving" => Some(Step::Leave),
            _ => None,
        };
    }
    if matches!(first, "make:" | "gmake:" | "ninja:") {
        return match rest.split_once(' ')?.0 {
            "Entering" => Some(Step::Enter),
            "Leaving" => Some(Step::Leave),
            _ => None,
        };
    }
    let name = first.rsplit('/').next().unwrap_or(first);
    let name = name.rsplit_once("-linux-gnu-").map_or(name, |(_, n)| n);
    let stem =
        name.split_once('-').filter(|(_, v)| v.bytes().all(|b| b.is_ascii_digit())).map_or(name, |(n, _)| n);
    let is_compiler = COMPILERS.contains(&stem) && rest.contains(['-', '.', '/']) && !rest.starts_with(": ");
    let is_tool = TOOLS.contains(&name)
        && rest.split(' ').next().is_some_and(|w| w.starts_with('-') || w.contains(['/', '.']));
    (is_compiler || is_tool).then_some(Step::Command)
}

/// The command of a step that ninja reports as failed, if it is very long.
fn shorten_commands(out: &Output<'_>, draft: &mut Draft) {
    for i in 0..out.len() {
        let line = out.line(i + 1);
        if !out.line(i).starts_with("FAILED: ") || line.len() <= MAX_COMMAND + 20 || position(line).is_some()
        {
            continue;
        }
        let end = (0..=MAX_COMMAND).rev().find(|n| line.is_char_boundary(*n)).unwrap_or(0);
        let head = line.get(..end).unwrap_or(line);
        draft.replace(i + 1, &format!("{head} ..."));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rtk::kit::assemble;

    fn run(text: &str) -> String {
        let out = Output::new(text, Level::Standard);
        let mut draft = Draft::new(out.len());
        assert_eq!(build(&out, &mut draft), Verdict::Done);
        assemble(&out, &mut draft, &mut || None).text
    }

    #[test]
    fn tells_steps() {
        for (line, expected) in [
            ("[ 12%] Building C object x.o", Some(Step::Progress)),
            ("[12/45] Linking x", Some(Step::Progress)),
            ("[INFO] x", None),
            ("-- Looking for pthread.h - found", Some(Step::Progress)),
            ("-- Looking for zlib.h - not found", None),
            ("-- Configuring incomplete, errors occurred!", None),
            ("gcc -Wall -c a.c -o a.o", Some(Step::Command)),
            ("/usr/bin/x86_64-linux-gnu-g++-12 -c a.c", Some(Step::Command)),
            ("  CC      drivers/a.o", Some(Step::Command)),
            ("rm -f a.o", Some(Step::Command)),
            ("gcc: error: x.c: No such file", None),
            ("rm the old files", None),
            ("make[2]: Entering directory '/x'", Some(Step::Enter)),
            ("make[2]: Nothing to be done for 'all'.", None),
            ("make: *** [x] Error 1", None),
        ] {
            assert_eq!(step(line), expected, "{line}");
        }
    }

    #[test]
    fn repeated_warnings_stand_once_and_failures_keep_their_command() {
        let one = |n: u32| {
            format!(
                "gcc -Wall -Wextra -O2 -c src/m{n}.c -o src/m{n}.o\nsrc/m{n}.c: In function \u{2018}m{n}\u{2019}:\n\
             src/m{n}.c:2:24: warning: unused variable \u{2018}u_{n}\u{2019} [-Wunused-variable]\n    2 | int u_{n};\n      |     ^~~\n"
            )
        };
        let mut text: String = (1..=9).map(one).collect();
        text.push_str("gcc -Wall -c src/bad.c -o src/bad.o\nsrc/bad.c:2:21: error: unknown type name\n    2 | x\n      | ^\nmake: *** [Makefile:7: src/bad.o] Error 1\n");
        let shown = run(&text);
        assert_eq!(shown.matches("warning:").count(), 1, "{shown}");
        assert!(shown.contains("src/m1.c:2:24: warning: unused variable \u{2018}u_1\u{2019} [-Wunused-variable] (+8 more):\n src/m2.c: 2:24 u_2\n"));
        assert!(shown.contains("gcc -Wall -c src/bad.c -o src/bad.o\nsrc/bad.c:2:21: error: unknown type name\n    2 | x\nmake: ***"));
        assert_eq!(run(&shown), shown);
    }
}
