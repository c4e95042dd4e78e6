//! Output styles: a text of our own that asks the model to answer shorter. Off unless a caller names one.
//!
//! The text stands at the end of the system text from the session's first request on, or never in that session, so the
//! head of the prompt is the same on every turn. It is about wording only and names its exceptions itself, for whether
//! one applies cannot be looked up on each request without changing that head. What it saves cannot be seen in a
//! request; a receipt counts what it costs.

use std::fmt;

use crate::caveman::Level;
use crate::config::{ConfigError, ConfigErrors, suggestion};

/// How the text starts.
pub(crate) const MARKER: &str = "[OmniRoute Output Styles]";
/// Starts of system texts that say the same already.
const KNOWN: [&str; 2] = [MARKER, "[OmniRoute Caveman Output Mode]"];

const LIMITS: &str = "This is about wording only: use tools as you would without it. Keep code, commands, errors, \
                      numbers, paths and quotes as they are, and every negation. Write full sentences for warnings, \
                      for what cannot be undone, for questions and for steps in order. Answer the whole question.";
const LIMITS_ZH: &str = "只影响措辞，工具照常使用。代码、命令、错误、数字、路径、引文和否定词保持原样。警告、不可撤销的操作、\
                         提问和有序步骤用完整句子。完整回答问题。";

/// Name, and the text of each level.
const STYLES: [(&str, [&str; 3]); 3] = [
    (
        "terse-prose",
        [
            "Answer without greetings, praise or a repetition of the question.",
            "Answer in short sentences: no greetings, no praise, no repetition of the question, no closing summary.",
            "Answer as briefly as the facts allow: fragments where nothing is lost, no greetings, no summary.",
        ],
    ),
    (
        "less-code",
        [
            "Show code that changes, not code that stays.",
            "Show only code that changes, with the lines needed to find its place; no whole files unless asked.",
            "Make the smallest change that does the task; no new helpers, files or comments unless asked.",
        ],
    ),
    (
        "terse-cjk",
        [
            "用简洁的中文回答，不寒暄，不重复问题。",
            "用简短的中文句子回答，不寒暄，不重复问题，不作总结。",
            "用最少的中文回答，不丢信息时可用短语，不寒暄，不总结。",
        ],
    ),
];

/// One style, or a style of prose together with `less-code`, each at a level.
///
/// ```
/// use omniroute_compress::OutputStyle;
/// let style = OutputStyle::parse("terse-prose:lite, less-code")?;
/// assert_eq!(style.to_string(), "terse-prose:lite,less-code:full");
/// assert!(style.text().starts_with("[OmniRoute Output Styles] "));
/// let error = OutputStyle::parse("terse").unwrap_err().to_string();
/// assert_eq!(error, "output_style: \"terse\" is not one of terse-prose, less-code, terse-cjk");
/// # Ok::<(), omniroute_compress::ConfigErrors>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct OutputStyle {
    /// Numbers of styles and levels.
    parts: Vec<(usize, usize)>,
}

impl OutputStyle {
    /// Reads `name`, `name:level` or two of them separated by a comma; the level is `full` if none is given.
    ///
    /// # Errors
    /// Every unknown name and level with those that there are, and styles that do not go together.
    pub fn parse(text: &str) -> Result<OutputStyle, ConfigErrors> {
        let (mut parts, mut errors) = (Vec::new(), Vec::new());
        let mut wrong = |message: String| errors.push(ConfigError::new("output_style", message));
        for item in text.split(',').map(str::trim) {
            let (name, level) = item.split_once(':').unwrap_or((item, "full"));
            let known = STYLES.iter().position(|(known, _)| *known == name);
            let at = Level::ALL.iter().position(|known| known.name() == level);
            match (known, at) {
                (None, _) => {
                    let names = Self::names().collect::<Vec<_>>().join(", ");
                    wrong(format!("\"{name}\" is not one of {names}{}", suggestion(name, Self::names())));
                }
                (_, None) => wrong(format!("level \"{level}\" is not one of lite, full, ultra")),
                (Some(style), Some(level)) => parts.push((style, level)),
            }
        }
        let prose = parts.iter().filter(|(style, _)| Self::name_of(*style) != "less-code").count();
        if prose > 1 || parts.len() - prose > 1 {
            wrong(format!("\"{text}\" has more than one style of prose or says one twice"));
        }
        parts.sort_unstable();
        if errors.is_empty() { Ok(OutputStyle { parts }) } else { Err(ConfigErrors(errors)) }
    }

    /// Names of all styles.
    pub fn names() -> impl Iterator<Item = &'static str> {
        STYLES.iter().map(|(name, _)| *name)
    }

    /// The whole text, one line.
    pub fn text(&self) -> String {
        let part =
            |(style, level): &(usize, usize)| STYLES.get(*style).and_then(|(_, texts)| texts.get(*level));
        let own: Vec<&str> = self.parts.iter().filter_map(part).copied().collect();
        let zh = self.parts.iter().all(|(style, _)| Self::name_of(*style) == "terse-cjk");
        format!("{MARKER} {} {}", own.join(" "), if zh { LIMITS_ZH } else { LIMITS })
    }

    /// Whether a system text is one of these, or ends with one behind an empty line.
    pub(crate) fn is_told(system: &str) -> bool {
        KNOWN.iter().any(|marker| {
            let before = system.rfind(marker).and_then(|at| system.get(..at));
            before.is_some_and(|before| before.is_empty() || before.ends_with("\n\n"))
        })
    }

    fn name_of(style: usize) -> &'static str {
        STYLES.get(style).map_or("", |(name, _)| name)
    }
}

impl fmt::Display for OutputStyle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, (style, level)) in self.parts.iter().enumerate() {
            let level = Level::ALL.get(*level).map_or("", |level| level.name());
            write!(f, "{}{}:{level}", if n == 0 { "" } else { "," }, Self::name_of(*style))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> Vec<OutputStyle> {
        let mut all = Vec::new();
        for style in OutputStyle::names() {
            for level in Level::ALL {
                all.push(OutputStyle::parse(&format!("{style}:{}", level.name())).unwrap());
            }
        }
        all
    }

    #[test]
    fn every_text_is_short_and_names_its_limits() {
        let counter = tiktoken_rs::o200k_base().unwrap();
        let long = |text: &str| counter.encode_ordinary(text).len() > 120;
        let says = |text: &str| {
            ["wording only", "tools", "negation", "cannot be undone", "numbers"]
                .iter()
                .all(|w| text.contains(w))
                || ["只影响措辞", "工具", "否定", "不可撤销", "数字"].iter().all(|w| text.contains(w))
        };
        for style in all() {
            let text = style.text();
            assert!(!long(&text), "{style}: {} tokens", counter.encode_ordinary(&text).len());
            assert!(
                says(&text) && text.lines().count() == 1 && OutputStyle::is_told(&text),
                "{style}: {text}"
            );
            assert_eq!(OutputStyle::parse(&style.to_string()).unwrap(), style);
        }
        // The same checks see a text that is too long and one that forgets its limits.
        assert!(long(&all()[0].text().repeat(2)) && !says(STYLES[0].1[0]));
        let texts: std::collections::HashSet<String> = all().iter().map(OutputStyle::text).collect();
        assert_eq!(texts.len(), 9);
    }

    #[test]
    fn what_does_not_go_together_is_an_error() {
        for (text, part) in [
            ("terse-prose,terse-cjk", "more than one style of prose"),
            ("less-code,less-code:lite", "more than one style of prose or says one twice"),
            ("terse-prose:max", "level \"max\" is not one of lite, full, ultra"),
            ("", "\"\" is not one of terse-prose, less-code, terse-cjk"),
            ("les-code", "did you mean \"less-code\"?"),
        ] {
            let error = OutputStyle::parse(text).unwrap_err().to_string();
            assert!(error.starts_with("output_style: ") && error.contains(part), "{error}");
        }
    }
}
