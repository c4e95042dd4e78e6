//! Lines that a harness puts around an output: exit codes, times, the command itself.

use std::ops::Range;

/// Most lines at either end.
const MOST: usize = 6;
/// Longest line that is looked at.
const LONGEST: usize = 400;

/// Lines before the output.
const HEAD: &[&str] = &[
    "Exit code: ",
    "Wall time: ",
    "Chunk ID: ",
    "Process exited with code ",
    "Total output lines: ",
    "Original token count: ",
    "Process running with session ID ",
];
/// Lines behind the output.
const TAIL: &[&str] = &[
    "[exit code ",
    "Exit code: ",
    "Exit Code: ",
    "exit status ",
    "Command exited with code ",
    "Process Group PGID: ",
    "Signal: ",
    "(Open file: ",
    "(Current directory: ",
    "[Command exited with code ",
];

/// The bytes of the output itself. A status line counts as envelope only at the very end or start.
pub(super) fn inside(text: &str, command: Option<&str>) -> Range<usize> {
    let start = head(
        text,
        command.map(str::trim_ascii).filter(|command| command.len() > 3 && !command.contains('\n')),
    );
    start..tail(text, start)
}

fn head(text: &str, command: Option<&str>) -> usize {
    let (mut at, mut end, mut known) = (0, 0, false);
    for line in text.split_inclusive('\n').take(MOST) {
        let body = line.trim_ascii_end();
        if body.len() > LONGEST.max(command.map_or(0, |command| command.len() * 2 + 200)) {
            break;
        }
        at += line.len();
        if body == "Output:" && known {
            return at;
        }
        // The command again, alone or told about in a line of its own.
        let told = command.is_some_and(|command| {
            body == command
                || body.strip_prefix("$ ") == Some(command)
                || body.ends_with("on the next line.") && body.contains(command)
        });
        if told {
            end = at;
        } else if HEAD.iter().any(|head| body.starts_with(head)) {
            known = true;
        } else {
            break;
        }
    }
    end
}

fn tail(text: &str, start: usize) -> usize {
    let mut end = text.len();
    for _ in 0..MOST {
        let body = text.get(start..end).unwrap_or_default();
        let trimmed = body.trim_ascii_end();
        let line = trimmed.rsplit_once('\n').map_or(trimmed, |(_, line)| line);
        let number =
            |rest: &str| rest.trim_start_matches(['-', '+']).starts_with(|c: char| c.is_ascii_digit());
        let known = line.len() < LONGEST
            && (TAIL.iter().any(|mark| {
                line.strip_prefix(mark)
                    .is_some_and(|rest| mark.starts_with('(') || mark.starts_with("Signal") || number(rest))
            }) || line == "bash-$");
        if !known || trimmed.is_empty() {
            break;
        }
        end = start + trimmed.len() - line.len();
    }
    end
}

#[cfg(test)]
mod tests {
    use super::inside;

    #[test]
    fn lines_around_an_output() {
        for (text, command, inner) in [
            ("Exit code: 0\nWall time: 0.1 seconds\nOutput:\na\nb\n", None, "a\nb\n"),
            ("Exit code: 0\na\n", None, "Exit code: 0\na\n"),
            ("a\n[exit code 1]\n", None, "a\n"),
            ("a\n\n\nCommand exited with code 2", None, "a\n\n\n"),
            ("ls -la\ntotal 4\n", Some("ls -la"), "total 4\n"),
            ("Called: ls -la. Output on the next line.\nls -la\ntotal 4\n", Some("ls -la"), "total 4\n"),
            ("a\n(Open file: n/a)\n(Current directory: /x)\nbash-$", None, "a\n"),
            ("a\nexit status two\n", None, "a\nexit status two\n"),
            ("", None, ""),
        ] {
            assert_eq!(text.get(inside(text, command)), Some(inner), "{text:?}");
        }
    }
}
