//! What people read: plain text from values, and the same values as structs for JSON.
//!
//! Functions here take values and return a `String`. They print nothing, know no terminal, and use no colour unless
//! [`Style`] asks for it. Widths are those of the characters on a screen. Control characters of names are replaced,
//! so that nothing that came from outside can steer a terminal.

mod bar;
mod free_tiers;
mod numbers;
mod table;

pub use bar::bar;
pub use free_tiers::FreeTiersReport;
pub use numbers::{grouped, percent, short};
pub use table::{Column, Table};

/// How text is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Style {
    /// Columns of the screen; none: as wide as it comes.
    pub width: Option<usize>,
    /// Bars of `#` instead of block characters.
    pub ascii: bool,
    /// Escape sequences for bold, yellow and red.
    pub colour: bool,
}

impl Style {
    /// `text` in bold, if colour was asked for.
    fn bold(self, text: &str) -> String {
        self.paint("1", text)
    }

    /// `text` as a warning, if colour was asked for.
    fn warn(self, text: &str) -> String {
        self.paint("33", text)
    }

    fn paint(self, code: &str, text: &str) -> String {
        if self.colour { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }
}
