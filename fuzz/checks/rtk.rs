//! What must hold for any output of any command, and for any filter file.

use omniroute_compress::rtk::{FilterFormat, FilterSource};
use omniroute_compress::{Compress, FilterSet, MemoLimits, Step, ToolOutput};
use omniroute_core::Moment;

/// The first line is the command, the rest its output: never larger, the same twice, the same again.
pub fn output(bytes: &[u8]) -> Result<(), String> {
    let text = String::from_utf8_lossy(bytes);
    let (command, text) = text.split_once('\n').unwrap_or(("", &text));
    for level in ["minimal", "standard", "aggressive"] {
        let step = Step::new("rtk").with("intensity", level);
        let engine =
            Compress::builder().steps([step]).memo(MemoLimits::none()).build().map_err(|e| e.to_string())?;
        let run = |text: &str| {
            let mut output = ToolOutput::new(text);
            if !command.is_empty() {
                output = output.command(command);
            }
            engine
                .compress_output(output, Moment::default())
                .map(|out| out.text.into_owned())
                .map_err(|e| e.to_string())
        };
        let first = run(text)?;
        if first.len() > text.len() {
            return Err(format!("{} bytes became {} at {level}", text.len(), first.len()));
        }
        if run(text)? != first {
            return Err(format!("two results at {level}"));
        }
        if run(&first)? != first {
            return Err(format!("changes again at {level}"));
        }
    }
    Ok(())
}

fn standard() -> Result<Compress, String> {
    Compress::builder().plan("rtk").memo(MemoLimits::none()).build().map_err(|e| e.to_string())
}

/// One output at the plan's own level; an engine that panicked is a mistake although its text stays.
fn sent(engine: &Compress, text: &str, command: Option<&str>) -> Result<String, String> {
    let mut output = ToolOutput::new(text);
    output.command = command;
    let out = engine.compress_output(output, Moment::default()).map_err(|e| e.to_string())?;
    match out.receipt.steps.first() {
        Some(step) if step.skips.contains_key("engine_panic") => Err("the engine panicked".to_owned()),
        _ => Ok(out.text.into_owned()),
    }
}

/// Any bytes on a terminal: what is shown is text without control sequences, and showing it again changes nothing.
pub fn screen(bytes: &[u8]) -> Result<(), String> {
    // Lines in front that gain, so that the result is used.
    let text = format!(
        "{}{}",
        "waiting for the lock of the package cache\n".repeat(20),
        String::from_utf8_lossy(bytes)
    );
    let engine = standard()?;
    let shown = sent(&engine, &text, Some("make all"))?;
    if shown == text {
        return Ok(());
    }
    let whole = shown.lines().filter(|line| !line.contains('\u{1b}'));
    if let Some(odd) = whole.flat_map(str::chars).find(|c| matches!(c, '\x07' | '\x08' | '\x0e' | '\x0f')) {
        return Err(format!("{odd:?} is shown"));
    }
    // A sequence that was cut off stays in sight, with what stands beside it.
    let last = |s: &str| s.trim_start_matches(|c| (' '..='?').contains(&c)).chars().next();
    let whole = |text: &str| {
        text.split('\u{1b}')
            .skip(1)
            .all(|s| s.strip_prefix('[').and_then(last).is_some_and(|c| c.is_ascii_alphabetic()))
    };
    if shown.contains("\u{1b}[") && whole(&text) {
        return Err("an escape sequence is shown".to_owned());
    }
    match sent(&engine, &shown, Some("make all"))? == shown {
        true => Ok(()),
        false => Err("shown again it changes".to_owned()),
    }
}

/// Any text without a command, and as a file: the class is found without a panic, files stay byte for byte.
pub fn detect(bytes: &[u8]) -> Result<(), String> {
    let text = String::from_utf8_lossy(bytes);
    let engine = standard()?;
    let first = sent(&engine, &text, None)?;
    if sent(&engine, &text, None)? != first || sent(&engine, &first, None)? != first {
        return Err("without a command it changes again".to_owned());
    }
    if sent(&engine, &text, Some("cat service.log"))? != text {
        return Ok(()); // a log, whatever the file is called
    }
    for command in ["cat src/main.rs", "sed -n 1,40p notes.md", "head -50 a.py"] {
        if sent(&engine, &text, Some(command))? != text
            && text.matches('\r').count() < 3
            && !text.contains('\u{1b}')
        {
            return Err(format!("{command} was changed"));
        }
    }
    Ok(())
}

/// What a command printed, so that one may say that a line of it is gone.
const FAILED: &str = "..F.\n=== FAILURES ===\n___ test_total ___\n\n    def test_total():\n>       assert total([1, 2]) == 4\nE       assert 3 == 4\n\ntests/test_sum.py:5: AssertionError\n=== short test summary info ===\nFAILED tests/test_sum.py::test_total - assert 3 == 4\n1 failed, 3 passed in 0.02s\n";

/// Any text as a command line: read without a panic, and no command hides a failure.
pub fn command(bytes: &[u8]) -> Result<(), String> {
    let command = String::from_utf8_lossy(bytes);
    let printed = format!("{}{FAILED}", "collecting the tests of the package\n".repeat(20));
    let first = sent(&standard()?, &printed, Some(&command))?;
    for part in ["assert 3 == 4", "tests/test_sum.py", "1 failed, 3 passed"] {
        if !first.contains(part) {
            return Err(format!("{part:?} is lost"));
        }
    }
    Ok(())
}

/// Any text as a diff: if the counts of its hunks are true, they are true afterwards, and no changed line is lost.
pub fn diff(bytes: &[u8]) -> Result<(), String> {
    let text = String::from_utf8_lossy(bytes);
    let Some(before) = changed_lines(&text) else { return Ok(()) };
    let sent = sent(&standard()?, &text, Some("git diff"))?;
    if sent.contains("[rtk: ") || sent.contains("omitted") {
        return Ok(());
    }
    match changed_lines(&sent) {
        None => Err(format!("the counts of a hunk are wrong:\n{sent}")),
        Some(after) if after != before => {
            Err(format!("{} changed lines became {}", before.len(), after.len()))
        }
        Some(_) => Ok(()),
    }
}

/// The changed lines of all hunks, if every hunk has as many lines as its header says and nothing else is there.
fn changed_lines(diff: &str) -> Option<Vec<&str>> {
    let mut changed = Vec::new();
    let mut lines = diff.lines();
    while let Some(line) = lines.next() {
        let head = match line.strip_prefix("@@ -") {
            Some(head) => head,
            None if ["diff --git ", "index ", "--- ", "+++ "].iter().any(|p| line.starts_with(p)) => continue,
            None => return None,
        };
        let (old, rest) = head.split_once(" +")?;
        let (new, _) = rest.split_once(" @@")?;
        let count = |part: &str| match part.split_once(',') {
            Some((_, n)) => n.parse::<u32>().ok(),
            None => Some(1),
        };
        let (mut old, mut new) = (count(old)?, count(new)?);
        while old > 0 || new > 0 {
            let body = lines.next()?;
            match body.bytes().next() {
                Some(b'-') => old = old.checked_sub(1)?,
                Some(b'+') => new = new.checked_sub(1)?,
                Some(b' ') => (old, new) = (old.checked_sub(1)?, new.checked_sub(1)?),
                _ => return None,
            }
            if !body.starts_with(' ') {
                changed.push(body);
            }
        }
    }
    Some(changed)
}

/// Any bytes as a filter file in both formats: no panic, and every mistake has a text.
pub fn filter(bytes: &[u8]) -> Result<(), String> {
    for format in [FilterFormat::Json, FilterFormat::Toml] {
        let loaded = FilterSet::builder().file(FilterSource::User, format, "filters", bytes).build();
        if loaded.errors.iter().any(|e| e.to_string().is_empty()) {
            return Err("an error without a text".to_owned());
        }
    }
    Ok(())
}
