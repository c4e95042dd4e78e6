//! The lexer: one pass over a command line, never fails, linear in its length.
//!
//! Knows quotes, escapes, comments, lists, pipelines, compound commands, redirections, heredocs and substitutions.
//! What is substituted is skipped, not parsed: its output goes into a word, not to the terminal.

use std::borrow::Cow;

use super::nested::{self, Announced};
use super::script::{Expands, Fd, Group, Pipeline, Redirect, RedirectOp, Script, Segment, Stage, Word};
use super::word;

/// Deepest nesting of compound commands; behind it the rest of the text is one word.
pub(crate) const MAX_DEPTH: usize = 64;

/// Most commands of a script that are told apart; behind them the rest of the text is one word.
pub(crate) const MAX_COMMANDS: usize = 2048;

/// Lexes a command line; where it is not understood, `certain` is false.
pub(crate) fn parse(command: &str) -> Script<'_> {
    let mut lexer = Lexer::new(command);
    lexer.run();
    lexer.finish()
}

/// The word that closes a compound command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Closer {
    End,
    Paren,
    Brace,
    Fi,
    Done,
    Esac,
}

/// An open compound command.
pub(super) struct Frame {
    pub(super) closer: Closer,
    pub(super) group: usize,
    pub(super) pipeline: Option<usize>,
}

/// Where the redirections that come next belong.
#[derive(Debug, Clone, Copy)]
pub(super) enum Owner {
    Segment(usize),
    Group(usize),
}

/// The state of one pass.
pub(super) struct Lexer<'a> {
    pub(super) text: &'a str,
    pub(super) at: usize,
    pub(super) script: Script<'a>,
    pub(super) frames: Vec<Frame>,
    pub(super) current: Segment<'a>,
    pub(super) closed_group: Option<usize>,
    heredocs: Vec<(Announced, Owner, usize)>,
    pub(super) definition: bool,
    pub(super) pattern: bool,
}

impl<'a> Lexer<'a> {
    fn new(text: &'a str) -> Self {
        let script = Script { groups: vec![Group::default()], certain: true, ..Script::default() };
        let frames = vec![Frame { closer: Closer::End, group: 0, pipeline: None }];
        Self {
            text,
            at: 0,
            script,
            frames,
            current: Segment::default(),
            closed_group: None,
            heredocs: Vec::new(),
            definition: false,
            pattern: false,
        }
    }

    pub(super) fn peek(&self, ahead: usize) -> Option<u8> {
        self.text.as_bytes().get(self.at + ahead).copied()
    }

    /// Moves forward to `to` and counts the bytes passed.
    pub(super) fn seek(&mut self, to: usize) {
        self.script.steps += to.saturating_sub(self.at) + 1;
        self.at = to.min(self.text.len());
    }

    pub(super) fn slice(&self, from: usize, to: usize) -> &'a str {
        self.text.get(from..to).unwrap_or_default()
    }

    fn run(&mut self) {
        while let Some(byte) = self.peek(0) {
            if self.script.segments.len().max(self.script.pipelines.len()) >= MAX_COMMANDS {
                self.rest();
                return;
            }
            match (byte, self.peek(1)) {
                (b' ' | b'\t' | b'\r', _) => self.seek(self.at + 1),
                (b'\\', Some(b'\n')) => self.seek(self.at + 2),
                (b'\n', _) => self.newline(),
                (b'#', _) => self.seek(nested::line_end(self.text.as_bytes(), self.at)),
                _ if self.pattern => self.case_pattern(),
                (b';', next) => {
                    self.end_pipeline();
                    let double = matches!(next, Some(b';' | b'&'));
                    self.pattern =
                        double && self.frames.last().is_some_and(|frame| frame.closer == Closer::Esac);
                    self.seek(self.at + 1 + usize::from(double));
                }
                (b'&', Some(b'>')) => self.redirect(Fd::Both),
                (b'&', next) => {
                    self.end_pipeline();
                    self.seek(self.at + 1 + usize::from(next == Some(b'&')));
                }
                (b'|', Some(b'|')) => {
                    self.end_pipeline();
                    self.seek(self.at + 2);
                }
                (b'|', next) => {
                    let both = next == Some(b'&');
                    self.end_stage(both);
                    self.seek(self.at + 1 + usize::from(both));
                }
                (b'(', _) => self.open_paren(),
                (b')', _) => {
                    self.close(Closer::Paren);
                    self.seek(self.at + 1);
                }
                (b'<' | b'>', Some(b'(')) => self.word(),
                (b'<', _) => self.redirect(Fd::In),
                (b'>', _) => self.redirect(Fd::Out),
                (b'0'..=b'9', Some(b'<' | b'>')) => {
                    self.seek(self.at + 1);
                    self.redirect(match byte {
                        b'0' => Fd::In,
                        b'1' => Fd::Out,
                        b'2' => Fd::Err,
                        _ => Fd::Other,
                    });
                }
                _ => self.word(),
            }
        }
    }

    fn finish(mut self) -> Script<'a> {
        self.end_pipeline();
        if self.frames.len() > 1 || !self.heredocs.is_empty() {
            self.script.certain = false;
        }
        self.script
    }

    fn newline(&mut self) {
        self.end_pipeline();
        self.seek(self.at + 1);
        for (announced, owner, index) in std::mem::take(&mut self.heredocs) {
            let start = self.at;
            let (body_end, end) = nested::body(self.text.as_bytes(), start, &announced);
            self.script.certain &= end.closed;
            let body = self.slice(start, body_end);
            let redirects = match owner {
                Owner::Segment(segment) => {
                    self.script.segments.get_mut(segment).map(|segment| &mut segment.redirects)
                }
                Owner::Group(group) => self.script.groups.get_mut(group).map(|group| &mut group.redirects),
            };
            if let Some(redirect) = redirects.and_then(|redirects| redirects.get_mut(index)) {
                redirect.body = Some(body);
            }
            self.seek(end.at);
        }
    }

    /// Puts a finished stage into the open pipeline of the innermost group.
    pub(super) fn push_stage(&mut self, stage: Stage) {
        let Some(frame) = self.frames.last_mut() else {
            return;
        };
        let index = *frame.pipeline.get_or_insert_with(|| {
            self.script.pipelines.push(Pipeline::default());
            self.script.pipelines.len() - 1
        });
        if let Some(pipeline) = self.script.pipelines.get_mut(index) {
            if pipeline.stages.is_empty()
                && let Some(group) = self.script.groups.get_mut(frame.group)
            {
                group.pipelines.push(index);
            }
            pipeline.stages.push((stage, false));
        }
    }

    pub(super) fn end_segment(&mut self) {
        self.closed_group = None;
        if !self.current.words.is_empty() || !self.current.redirects.is_empty() {
            self.script.segments.push(std::mem::take(&mut self.current));
            self.push_stage(Stage::Segment(self.script.segments.len() - 1));
        }
    }

    fn end_stage(&mut self, both: bool) {
        self.end_segment();
        let last = self
            .frames
            .last()
            .and_then(|frame| frame.pipeline)
            .and_then(|index| self.script.pipelines.get_mut(index));
        match last.and_then(|pipeline| pipeline.stages.last_mut()) {
            Some(stage) => stage.1 = both,
            None => self.script.certain = false,
        }
    }

    pub(super) fn end_pipeline(&mut self) {
        self.end_segment();
        if let Some(frame) = self.frames.last_mut() {
            frame.pipeline = None;
        }
    }

    /// Gives up: everything from here on is one word.
    pub(super) fn rest(&mut self) {
        self.script.certain = false;
        let text = Cow::Borrowed(self.slice(self.at, self.text.len()));
        self.current.words.push(Word { text, quoted: true, expands: Expands::Command });
        self.seek(self.text.len());
    }

    pub(super) fn first_word(&self) -> Option<&str> {
        self.current.words.first().filter(|word| !word.quoted).map(|word| word.text.as_ref())
    }

    fn redirect(&mut self, fd: Fd) {
        let amp = self.peek(0) == Some(b'&');
        let start = self.at + usize::from(amp);
        let byte = |ahead: usize| self.text.as_bytes().get(start + ahead).copied();
        let (op, length) = match (byte(0), byte(1), byte(2)) {
            (Some(b'<'), Some(b'<'), Some(b'<')) => (RedirectOp::HereString, 3),
            (Some(b'<'), Some(b'<'), _) => (RedirectOp::Heredoc, 2),
            (Some(b'<'), Some(b'&' | b'>'), _) => (RedirectOp::Read, 2),
            (Some(b'<'), ..) => (RedirectOp::Read, 1),
            (_, Some(b'&'), _) => (RedirectOp::Dup, 2),
            (_, Some(b'>' | b'|'), _) => (RedirectOp::Write, 2),
            _ => (RedirectOp::Write, 1),
        };
        self.seek(start + length);
        let owner = match self.closed_group {
            Some(group) => Owner::Group(group),
            None => Owner::Segment(self.script.segments.len()),
        };
        let count = match owner {
            Owner::Group(group) => self.script.groups.get(group).map_or(0, |group| group.redirects.len()),
            Owner::Segment(_) => self.current.redirects.len(),
        };
        let mut target = Word::default();
        if op == RedirectOp::Heredoc {
            let (announced, end) = nested::announce(self.text.as_bytes(), self.at);
            self.seek(end);
            self.heredocs.push((announced, owner, count));
        } else {
            while matches!(self.peek(0), Some(b' ' | b'\t')) {
                self.seek(self.at + 1);
            }
            target = self.read_word();
        }
        let redirect = Redirect { fd, op, target, body: None };
        match owner {
            Owner::Group(group) => {
                if let Some(group) = self.script.groups.get_mut(group) {
                    group.redirects.push(redirect);
                }
            }
            Owner::Segment(_) => self.current.redirects.push(redirect),
        }
    }

    /// Reads a word; at the start of a command it may be a keyword.
    pub(super) fn word(&mut self) {
        if self.closed_group.is_some() && !self.pattern {
            let rest = self.slice(self.at, self.text.len());
            // Only another closing word may stand right behind a compound command.
            self.script.certain &=
                ["then", "do", "else", "elif", "fi", "done", "esac", "}"].iter().any(|w| rest.starts_with(w));
            self.closed_group = None;
        }
        let before = self.at;
        let word = self.read_word();
        if self.at == before {
            self.rest();
            return;
        }
        if !word.quoted && word.expands == Expands::No && !self.pattern && self.keyword(word.text.as_ref()) {
            return;
        }
        self.current.words.push(word);
        if self.current.words.len() >= 3 && self.first_word() == Some("case") && self.last_is("in") {
            self.end_pipeline();
            self.open(Closer::Esac);
            self.pattern = true;
        }
    }

    fn read_word(&mut self) -> Word<'a> {
        let read = word::read(self.text, self.at);
        self.script.certain &= read.closed;
        self.seek(read.end);
        read.word
    }
}
