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
