//! The progress bar: for large inputs, on standard error, only if that is a terminal.

use std::io::{self, IsTerminal};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

/// Inputs up to this many bytes are done before a bar could be read.
const SHOWN_ABOVE: u64 = 1 << 20;

/// A bar that may never show.
#[derive(Debug)]
pub(crate) struct Progress {
    wanted: bool,
    bar: Option<ProgressBar>,
}

impl Progress {
    /// `wanted` is what the user asked for; without a terminal there is no bar anyway.
    pub(crate) fn new(wanted: bool) -> Progress {
        Progress { wanted: wanted && io::stderr().is_terminal(), bar: None }
    }

    /// `done` bytes are read, of `whole` if that is known.
    pub(crate) fn read(&mut self, done: u64, whole: Option<u64>) {
        if !self.wanted || done.max(whole.unwrap_or(0)) <= SHOWN_ABOVE {
            return;
        }
        let bar = self.bar.get_or_insert_with(|| start(whole));
        bar.set_position(done);
    }

    /// Reading is over, work begins: its end is not known.
    pub(crate) fn working(&mut self, word: &'static str) {
        if let Some(bar) = &self.bar {
            bar.set_style(style("{spinner} {msg} {total_bytes}"));
            bar.set_length(bar.position());
            bar.set_message(word);
            bar.tick();
            bar.enable_steady_tick(Duration::from_millis(100));
        }
    }

    /// Takes the bar off the screen.
    pub(crate) fn done(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.done();
    }
}

fn start(whole: Option<u64>) -> ProgressBar {
    let bar = match whole {
        Some(bytes) => ProgressBar::new(bytes).with_style(style("{msg} [{bar:30}] {bytes}/{total_bytes}")),
        None => ProgressBar::no_length().with_style(style("{spinner} {msg} {bytes}")),
    };
    bar.set_message("reading");
    bar.tick();
    bar
}

fn style(template: &str) -> ProgressStyle {
    let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    style.progress_chars("=> ").tick_chars("|/-\\ ")
}
