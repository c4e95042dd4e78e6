//! How attempts of a combo are made.

use std::sync::Arc;
use std::time::Duration;

use super::{MediaRules, ReplyRules};
use crate::attempts::ErrorMode;
use crate::options::OptionReader;

/// Less time than this is no time: below a second no attempt starts.
const LEAST: Duration = Duration::from_secs(2);
/// The plan for what is too long, if none is named.
const STRONGER: &str = "aggressive";

/// How long a stream is held back before it is given away.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum StrictStream {
    /// Until its first content.
    #[default]
    No,
    /// Until some more of it is there.
    Start,
    /// Until its end.
    Full,
}

/// How attempts of a combo are made. Nothing here is decided by a strategy.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Execution {
    /// Attempts at most; resilience's own numbers hold beside it.
    pub max_attempts: u32,
    /// More attempts at the same target, where a failure allows it and it does not rest by then.
    pub same_target_retries: u32,
    /// Wait between targets.
    pub fallback_delay: Duration,
    /// Further passes over the whole list.
    pub set_retries: u32,
    /// Time for one attempt.
    pub target_timeout: Duration,
    /// Time for the request; none: no limit.
    pub deadline: Option<Duration>,
    /// Which of several failures the caller hears.
    pub error_mode: ErrorMode,
    /// A refusal of a content filter lets the next target try.
    pub filtered_next: bool,
    /// Requests are compressed by this plan where the caller names none; none: by the compressor's own.
    pub compression: Option<Arc<str>>,
    /// A request that is too long is compressed by this plan, once; none: only larger windows are asked.
    pub overflow_profile: Option<Arc<str>>,
    /// How long streams are held back.
    pub strict_stream: StrictStream,
    /// What an answer has to look like; none: any answer will do.
    pub rules: Option<Arc<ReplyRules>>,
    /// What is done with media that targets cannot take.
    pub media: MediaRules,
}

impl Default for Execution {
    /// The documented defaults.
    fn default() -> Self {
        Execution::read(&mut OptionReader::new("", &crate::options::OptionMap::new()))
    }
}

impl Execution {
    pub(super) fn read(reader: &mut OptionReader<'_>) -> Execution {
        let mut seconds =
            |key, default, low, high| Duration::from_secs_f64(reader.number(key, default, low, high));
        let fallback_delay = seconds("fallback_delay", 0.0, 0.0, 5.0);
        let target_timeout = seconds("target_timeout", 120.0, 1.0, 600.0);
        let deadline = seconds("deadline", 600.0, 0.0, 86_400.0);
        if !deadline.is_zero() && deadline < LEAST {
            let least = LEAST.as_secs();
            let said = deadline.as_secs_f64();
            reader.wrong("deadline", format!("is {said}, allowed is 0, or {least} to 86400"));
        }
        let compresses = reader.word("on_overflow", 0, &["next", "compress"]) == 1;
        let profile = reader.text("overflow_profile");
        if let Some(profile) = profile.filter(|_| !compresses) {
            let rule = "which is only used with on_overflow = \"compress\"";
            reader.wrong("overflow_profile", format!("is {profile:?}, {rule}"));
        }
        Execution {
            max_attempts: reader.whole("max_attempts", 8, 1, 30),
            same_target_retries: reader.whole("same_target_retries", 1, 0, 5),
            fallback_delay,
            set_retries: reader.whole("set_retries", 0, 0, 10),
            target_timeout,
            deadline: (!deadline.is_zero()).then_some(deadline),
            error_mode: [ErrorMode::Last, ErrorMode::First, ErrorMode::Aggregated]
                [reader.word("error_mode", 0, &["last", "first", "aggregated"])],
            filtered_next: reader.word("on_filter", 0, &["stop", "next"]) == 1,
            compression: reader.text("compression").map(Into::into),
            overflow_profile: compresses.then(|| profile.unwrap_or(STRONGER).into()),
            strict_stream: [StrictStream::No, StrictStream::Start, StrictStream::Full]
                [reader.flag_or_word("strict_stream", &["full"])],
            rules: ReplyRules::read(reader),
            media: MediaRules::read(reader),
        }
    }
}
