//! What depends on a terminal: colour, width, and making foreign text safe to show.

use std::io::{self, IsTerminal};

/// Colours in use. Few on purpose.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Colour {
    /// Savings.
    Green,
    /// Nothing was done.
    Yellow,
    /// Failures.
    Red,
}

/// Paints or leaves plain: colour is used on a terminal only, and not if `NO_COLOR` is set.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Paint {
    on: bool,
}

impl Paint {
    /// For what is written to standard error.
    pub(crate) fn stderr() -> Paint {
        Paint::on(io::stderr().is_terminal())
    }

    /// For what is written to standard output.
    pub(crate) fn stdout() -> Paint {
        Paint::on(io::stdout().is_terminal())
    }

    /// Whether there is colour.
    pub(crate) fn is_on(self) -> bool {
        self.on
    }

    fn on(terminal: bool) -> Paint {
        let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        Paint { on: terminal && !set("NO_COLOR") && !dumb }
    }

    /// `text` in bold colour.
    pub(crate) fn bold(self, colour: Colour, text: &str) -> String {
        let code = match colour {
            Colour::Red => 31,
            Colour::Green => 32,
            Colour::Yellow => 33,
        };
        if self.on { format!("\u{1b}[1;{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }
}

/// Columns of the terminal on standard output; `None` if that is none.
pub(crate) fn width() -> Option<usize> {
    if !io::stdout().is_terminal() {
        return None;
    }
    console::Term::stdout().size_checked().map(|(_, columns)| usize::from(columns))
}

/// A table whose lines end at the edge of the terminal; on anything else as it is.
pub(crate) fn fit(table: &str) -> String {
    let Some(width) = width() else { return table.to_owned() };
    table.lines().flat_map(|line| [console::truncate_str(line, width, "..."), "\n".into()]).collect()
}

/// Text of a request without characters that could steer a terminal.
pub(crate) fn harmless(text: &str) -> String {
    text.chars().map(|c| if c.is_control() || is_bidi(c) { '?' } else { c }).collect()
}

/// Characters that change the direction of what follows.
fn is_bidi(c: char) -> bool {
    matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_text_cannot_steer_the_terminal() {
        assert_eq!(harmless("a\u{1b}[31m\nb\u{202e}c\u{e9}"), "a?[31m?b?c\u{e9}");
    }
}
