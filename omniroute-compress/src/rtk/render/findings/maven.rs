//! Maven: progress, banners and finished modules are counted; errors and warnings stand once.

use std::collections::HashSet;

use crate::rtk::kit::{Draft, Level, Output, Verdict, What};

use super::lint::{is_short, level};
use super::model::hash;

/// `mvn`, `mvnw`.
pub(crate) fn maven(out: &Output<'_>, draft: &mut Draft) -> Verdict {
    if !out.lines.iter().any(|l| l.starts_with("[INFO]") || l.starts_with("[ERROR]")) {
        return Verdict::NotMine;
    }
    if is_short(out) {
        return Verdict::Done;
    }
    let gentle = level(out) == Level::Minimal;
    let mut seen = HashSet::new();
    for i in 0..out.len() {
        let line = out.line(i);
        if is_transfer(line) {
            draft.drop_known(i, What::Progress);
        } else if let Some(text) = line.strip_prefix("[INFO]") {
            if is_step(text.trim()) {
                draft.drop_known(i, What::Steps);
            }
        } else if !gentle && (line.starts_with("[ERROR]") || line.starts_with("[WARNING]")) {
            let text = line.trim_end();
            if text.ends_with(']') && !text.contains(' ') || !seen.insert(hash(text)) {
                draft.cover(i);
            }
        }
    }
    Verdict::Done
}

/// `Downloading from central: ...`, with or without a level before it.
fn is_transfer(line: &str) -> bool {
    let text = line.strip_prefix("[INFO] ").unwrap_or(line);
    ["Downloading from ", "Downloaded from ", "Downloading: ", "Downloaded: ", "Progress ("]
        .iter()
        .any(|p| text.starts_with(p))
}

/// What Maven says while all is well.
fn is_step(text: &str) -> bool {
    let starts = [
        "--- ",
        "Scanning for projects",
        "Building ",
        "Using '",
        "Copying ",
        "skip non existing ",
        "Nothing to compile",
        "Changes detected",
        "Recompiling the module",
        "Compiling ",
        "Deleting ",
        "Reactor Build Order",
        "Finished at",
        "from ",
    ];
    let is_ruler = text.is_empty()
        || text.bytes().all(|b| b == b'-')
        || text.starts_with("----") && text.ends_with("----");
    let is_success = text.contains(" SUCCESS [") && text.contains("...");
    is_ruler || is_success || starts.iter().any(|s| text.starts_with(s))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rtk::kit::assemble;

    #[test]
    fn keeps_what_failed() {
        let mut text =
            "[INFO] Scanning for projects...\n[INFO] \n[INFO] -------< a:b >-------\n[INFO] Building b 1.0\n"
                .to_owned();
        for n in 0..20 {
            text.push_str(&format!("Downloading from central: https://repo.example/x/{n}.jar\n"));
        }
        text.push_str("[INFO] Reactor Summary for b:\n[INFO] core ........ SUCCESS [  1.2 s]\n[INFO] web ......... FAILURE [  0.2 s]\n");
        text.push_str("[INFO] BUILD FAILURE\n[INFO] Total time:  3 s\n[ERROR] /p/A.java:[3,5] cannot find symbol\n[ERROR] \n");
        text.push_str("[ERROR] /p/A.java:[3,5] cannot find symbol\n[WARNING] x\n");
        let out = Output::new(&text, Level::Standard);
        let mut draft = Draft::new(out.len());
        assert_eq!(maven(&out, &mut draft), Verdict::Done);
        let shown = assemble(&out, &mut draft, &mut || None).text;
        for kept in ["web ......... FAILURE", "BUILD FAILURE", "Total time", "A.java:[3,5]", "[WARNING] x"] {
            assert_eq!(shown.matches(kept).count(), 1, "{kept}\n{shown}");
        }
        assert!(!shown.contains("jar") && shown.contains("[rtk: 24 lines omitted]"), "{shown}");
    }
}
