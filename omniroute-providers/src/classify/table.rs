//! Rows of the tables that say what an answer means, read from the files beside this one.

use omniroute_core::{FailureKind, QuotaWindow, Scope};

use super::body::Told;

/// One file.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) rows: Vec<Row>,
}

/// What a row looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum By {
    Code,
    Type,
    Name,
    Reason,
    Quota,
    Message,
    Title,
    Header,
    Status,
}

/// Who else is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Also {
    Nobody,
    Group,
    Egress,
    Everywhere,
    Quota(&'static str),
}

/// Our fixed wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pause {
    None,
    Ms(i64),
    Midnight,
}

/// One row.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) rule: &'static str,
    status: Vec<Statuses>,
    pub(crate) by: By,
    texts: Vec<Vec<&'static str>>,
    header: Option<&'static str>,
    pub(crate) kind: FailureKind,
    pub(crate) scope: Scope,
    pub(crate) also: Also,
    pub(crate) pause: Pause,
    pub(crate) window: Option<QuotaWindow>,
}

#[derive(Debug, Clone, Copy)]
enum Statuses {
    Any,
    One(u16),
    Class(u16),
}

impl Table {
    /// Reads a file. The message of an error names the line.
    pub(crate) fn read(text: &'static str) -> Result<Table, String> {
        let lines = text.lines().enumerate().filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
        let rows = lines
            .map(|(at, line)| Row::read(line).ok_or_else(|| format!("line {}: not a row: {line:?}", at + 1)));
        Ok(Table { rows: rows.collect::<Result<_, _>>()? })
    }

    /// The first row that fits. `echo` says whether a phrase may come from the request itself.
    pub(crate) fn find(&self, told: &Told<'_>, echo: &dyn Fn(&str) -> bool) -> Option<&Row> {
        self.rows.iter().find(|row| row.fits(told, echo))
    }
}

impl Row {
    fn read(line: &'static str) -> Option<Row> {
        let columns: Vec<&'static str> = line.split('\t').collect();
        let &[rule, status, by, texts, kind, scope, also, pause, window] = columns.as_slice() else {
            return None;
        };
        let status = status.split(',').map(Statuses::read).collect::<Option<Vec<_>>>()?;
        let by = match by {
            "code" => By::Code,
            "type" => By::Type,
            "name" => By::Name,
            "reason" => By::Reason,
            "quota" => By::Quota,
            "message" => By::Message,
            "title" => By::Title,
            "header" => By::Header,
            "status" => By::Status,
            _ => return None,
        };
        let (header, texts) = match (by, texts.split_once(": ")) {
            (By::Header, Some((name, value))) => (Some(name), value),
            (By::Header, None) => return None,
            _ => (None, texts),
        };
        let texts: Vec<Vec<&'static str>> = match texts {
            "-" => Vec::new(),
            texts => texts.split(" | ").map(|text| text.split(" .. ").collect()).collect(),
        };
        if texts.is_empty() != matches!(by, By::Status) && by != By::Title {
            return None;
        }
        Some(Row {
            rule,
            status,
            by,
            texts,
            header,
            kind: FailureKind::ALL.into_iter().find(|k| k.code() == kind)?,
            scope: scope_of(scope)?,
            also: also_of(also)?,
            pause: pause_of(pause)?,
            window: window_of(window)?,
        })
    }

    /// Whether the row is sure because a documented name said so.
    #[cfg(test)]
    pub(crate) fn is_structured(&self) -> bool {
        matches!(self.by, By::Code | By::Type | By::Name | By::Reason | By::Quota | By::Header)
    }

    fn fits(&self, told: &Told<'_>, echo: &dyn Fn(&str) -> bool) -> bool {
        if !self.status.iter().any(|s| s.fits(told.status)) {
            return false;
        }
        match self.by {
            By::Code => self.is(&told.code),
            By::Type => self.is(&told.kind),
            By::Name => self.is(&told.code) || self.is(&told.kind),
            By::Reason => told.reasons.iter().any(|reason| self.is(reason)),
            By::Quota => told.quotas.iter().any(|quota| self.phrase(quota).is_some()),
            By::Message => {
                !told.html && self.phrase(&told.message).is_some_and(|words| !self.is_echo(words, echo))
            }
            By::Title => told.html && (self.texts.is_empty() || self.phrase(&told.message).is_some()),
            By::Header => self.header.is_some_and(|name| {
                told.header(name)
                    .is_some_and(|value| self.texts.iter().flatten().any(|t| value.eq_ignore_ascii_case(t)))
            }),
            By::Status => true,
        }
    }

    fn is(&self, name: &str) -> bool {
        !name.is_empty() && self.texts.iter().flatten().any(|text| *text == name)
    }

    /// The alternative that is found in a text in lower case.
    fn phrase(&self, text: &str) -> Option<&[&'static str]> {
        let found = |parts: &&Vec<&'static str>| {
            let mut rest = text;
            parts.iter().all(|part| match rest.split_once(part) {
                Some((_, after)) => {
                    rest = after;
                    true
                }
                None => false,
            })
        };
        self.texts.iter().find(found).map(Vec::as_slice)
    }

    /// Words that end an account count only if the request did not bring them.
    fn is_echo(&self, words: &[&str], echo: &dyn Fn(&str) -> bool) -> bool {
        let grave = matches!(self.kind, FailureKind::CreditsExhausted | FailureKind::Banned);
        grave && words.iter().all(|part| echo(part))
    }
}

impl Statuses {
    fn read(text: &str) -> Option<Statuses> {
        if text == "*" {
            return Some(Statuses::Any);
        }
        match text.strip_suffix("xx") {
            Some(class) => class.parse().ok().filter(|c| (1..=5).contains(c)).map(Statuses::Class),
            None => text.parse().ok().map(Statuses::One),
        }
    }

    fn fits(self, status: Option<u16>) -> bool {
        match (self, status) {
            (Statuses::Any, _) => true,
            (Statuses::One(one), Some(status)) => one == status,
            (Statuses::Class(class), Some(status)) => status / 100 == class,
            (_, None) => false,
        }
    }
}

fn scope_of(word: &str) -> Option<Scope> {
    Some(match word {
        "provider" => Scope::Provider,
        "connection" => Scope::Connection,
        "model" => Scope::Model,
        "request" => Scope::Request,
        "none" => Scope::None,
        _ => return None,
    })
}

fn also_of(word: &'static str) -> Option<Also> {
    Some(match word {
        "-" => Also::Nobody,
        "group" => Also::Group,
        "egress" => Also::Egress,
        "all" => Also::Everywhere,
        _ => Also::Quota(word.strip_prefix("quota:")?),
    })
}

fn pause_of(word: &str) -> Option<Pause> {
    match word {
        "-" => Some(Pause::None),
        "midnight" => Some(Pause::Midnight),
        _ => super::moment::duration(word).map(Pause::Ms),
    }
}

fn window_of(word: &str) -> Option<Option<QuotaWindow>> {
    Some(Some(match word {
        "-" => return Some(None),
        "minute" => QuotaWindow::Minute,
        "hour" => QuotaWindow::Hour,
        "five_hours" => QuotaWindow::FiveHours,
        "day" => QuotaWindow::Day,
        "week" => QuotaWindow::Week,
        "month" => QuotaWindow::Month,
        _ => return None,
    }))
}
