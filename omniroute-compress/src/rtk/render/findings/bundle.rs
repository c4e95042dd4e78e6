//! Bundlers: vite, rollup, webpack. Errors and warnings stay; of a list of files written the largest stay.

use crate::rtk::kit::{Draft, Level, Output, Verdict, What};

use super::lint::{is_short, level};
use super::scan::digits;

/// Files of a list that are shown.
const LARGEST: usize = 5;

/// `vite build` and what is built on rollup.
pub(crate) fn vite(out: &Output<'_>, draft: &mut Draft) -> Verdict {
    let is_banner = |l: &str| {
        l.contains("building for ") || l.contains("modules transformed") || l.contains("\u{2502} gzip: ")
    };
    if !out.lines.iter().any(|l| is_banner(l)) {
        return Verdict::NotMine;
    }
    if is_short(out) {
        return Verdict::Done;
    }
    for i in 0..out.len() {
        let line = out.line(i).trim();
        let is_phase = matches!(
            line,
            "transforming..." | "rendering chunks..." | "computing gzip size..." | "transforming (1)..."
        );
        if is_phase {
            draft.noise(i);
        } else if is_library_frame(out.line(i)) {
            draft.drop(i, What::LibraryFrames);
        }
    }
    if level(out) != Level::Minimal {
        largest(out, draft, asset_kb);
    }
    Verdict::Done
}

/// `webpack`.
pub(crate) fn webpack(out: &Output<'_>, draft: &mut Draft) -> Verdict {
    let is_mine = |l: &str| {
        l.starts_with("webpack ") && l.contains(" compiled ") || l.starts_with("asset ") && l.contains(" [")
    };
    if !out.lines.iter().any(|l| is_mine(l)) {
        return Verdict::NotMine;
    }
    if is_short(out) {
        return Verdict::Done;
    }
    let mut in_trace = false;
    for i in 0..out.len() {
        let line = out.line(i);
        if !line.starts_with(' ') {
            in_trace = line.starts_with("resolve '");
        } else if in_trace && level(out) != Level::Minimal && !line.ends_with(" doesn't exist") {
            draft.drop_known(i, What::Lines);
        }
        if is_module(line) {
            draft.drop_known(i, What::Steps);
        } else if is_library_frame(line) {
            draft.drop(i, What::LibraryFrames);
        }
    }
    if level(out) != Level::Minimal {
        largest(out, draft, webpack_bytes);
    }
    Verdict::Done
}

/// A stack frame in a library.
fn is_library_frame(line: &str) -> bool {
    line.trim_start().starts_with("at ")
        && line.starts_with("    ")
        && (line.contains("/node_modules/") || line.contains("node:internal"))
}

/// `./src/a.js 58 bytes [built] [code generated]`, `runtime modules 184 bytes 1 module`.
fn is_module(line: &str) -> bool {
    let text = line.trim_start();
    let summary = ["runtime modules ", "cacheable modules ", "orphan modules ", "modules by path "];
    summary.iter().any(|s| text.starts_with(s))
        || text.starts_with("./") && text.contains(" [built]") && !text.contains("error")
}

/// Keeps the largest of the files that `size` knows.
fn largest(out: &Output<'_>, draft: &mut Draft, size: impl Fn(&str) -> Option<u64>) {
    let mut files: Vec<(u64, usize)> = (0..out.len()).filter_map(|i| Some((size(out.line(i))?, i))).collect();
    let shown = if level(out) == Level::Aggressive { 2 } else { LARGEST };
    if files.len() <= shown + 2 {
        return;
    }
    files.sort_by_key(|(size, i)| (std::cmp::Reverse(*size), *i));
    for (_, i) in files.into_iter().skip(shown) {
        draft.drop_known(i, What::Files);
    }
}

/// The size of `dist/a.js   12.34 kB │ gzip: 1.20 kB`, in hundredths of a kilobyte.
fn asset_kb(line: &str) -> Option<u64> {
    let text = line.trim_end();
    let own = text.split_once('\u{2502}').map_or(text, |(own, _)| own).trim_end().strip_suffix(" kB")?;
    let (path, number) = own.rsplit_once(' ')?;
    let path = path.trim();
    (!path.is_empty() && !path.contains(' ') && path.contains(['/', '.'])).then_some(())?;
    hundredths(number)
}

/// The size of `asset main.js 2.18 KiB [emitted]`, in hundredths of a byte.
fn webpack_bytes(line: &str) -> Option<u64> {
    let rest = line.strip_prefix("asset ").filter(|r| !r.contains("[big]"))?;
    let mut words = rest.split(' ').skip(1);
    let number = hundredths(words.next()?)?;
    let unit = match words.next()? {
        "bytes" => 1,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        _ => return None,
    };
    number.checked_mul(unit)
}

/// `1,234.56` times a hundred.
fn hundredths(number: &str) -> Option<u64> {
    let plain: String = number.chars().filter(|c| *c != ',').collect();
    let (whole, part) = plain.split_once('.').unwrap_or((&plain, "0"));
    let (whole, rest) = digits(whole)?;
    let part = part.get(..2).unwrap_or(part);
    let cents = match part.len() {
        1 => part.parse::<u64>().ok()? * 10,
        _ => part.parse::<u64>().ok()?,
    };
    rest.is_empty().then_some(())?;
    whole.parse::<u64>().ok()?.checked_mul(100)?.checked_add(cents)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rtk::kit::assemble;

    #[test]
    fn reads_sizes() {
        assert_eq!(asset_kb("dist/a.js   1,143.66 kB \u{2502} gzip: 46.37 kB"), Some(114_366));
        assert_eq!(asset_kb("dist/a.css  0.5 kB"), Some(50));
        assert_eq!(asset_kb("built 3 files of 12 kB"), None);
        assert_eq!(webpack_bytes("asset main.js 2.18 KiB [emitted] (name: main)"), Some(218 * 1024));
        assert_eq!(webpack_bytes("asset x [big]"), None);
    }

    #[test]
    fn the_largest_files_stay() {
        let mut text =
            "vite v5 building for production...\ntransforming...\n\u{2713} 20 modules transformed.\n"
                .to_owned();
        for n in 0..30 {
            text.push_str(&format!("dist/assets/page{n}-abcdef.js   {n}.05 kB \u{2502} gzip:  0.07 kB\n"));
        }
        text.push_str("(!) Some chunks are larger than 500 kB\n\u{2713} built in 8.36s\n");
        let out = Output::new(&text, Level::Standard);
        let mut draft = Draft::new(out.len());
        assert_eq!(vite(&out, &mut draft), Verdict::Done);
        let shown = assemble(&out, &mut draft, &mut || None).text;
        assert!(shown.contains("[rtk: 25 files omitted]\ndist/assets/page25-abcdef.js"), "{shown}");
        assert!(shown.contains("(!) Some chunks") && shown.ends_with("built in 8.36s\n"));
    }
}
