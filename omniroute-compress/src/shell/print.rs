//! Which commands of a script printed what the tool result shows, and what their output went through.

use std::rc::Rc;

use super::args::program_name;
use super::lex;
use super::script::{Fd, Redirect, RedirectOp, Script, Stage, Word};
use super::wrappers::{self, Stripped};

/// Most later stages that are kept for one command; a longer pipeline is not resolved.
const MAX_FILTERS: usize = 16;
/// Deepest `bash -c '…'` inside `bash -c '…'`.
const MAX_RELEX: usize = 4;

/// Where a stream ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Dest {
    /// In the tool result.
    #[default]
    Shown,
    /// Into the next stage of the pipeline.
    Pipe,
    /// Into a file, a closed descriptor or a command that is not looked at.
    Away,
}

/// Where the standard input comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Input {
    /// Nothing was connected.
    #[default]
    None,
    /// The stage before.
    Pipe,
    /// A file.
    File,
    /// Lines of the command itself.
    Inline,
}

/// The later stages of a pipeline, shared by every command that feeds them.
pub(crate) type Filters<'a> = Vec<Rc<Vec<Word<'a>>>>;

/// One command that may have printed, wrappers stripped.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Printed<'a> {
    /// Program and arguments; empty when it could not be resolved.
    pub(crate) words: Vec<Word<'a>>,
    /// The stages its standard output passes before it is shown, wrappers stripped.
    pub(crate) filters: Filters<'a>,
    /// Standard input of the command.
    pub(crate) input: Input,
    /// Standard output reaches the result (perhaps through the filters).
    pub(crate) out: bool,
    /// Standard error reaches the result directly.
    pub(crate) err: bool,
}

/// The commands of a script whose output is not redirected away, in order.
pub(crate) fn printing<'a>(script: &Script<'a>) -> Vec<Printed<'a>> {
    let mut all = Vec::new();
    let walk = Walk { script, depth: 0 };
    walk.group(0, &Context::default(), &mut all);
    all
}

/// Streams and filters that a command inherits from what encloses it.
#[derive(Debug, Clone, Default)]
struct Context<'a> {
    out: Dest,
    err: Dest,
    input: Input,
    filters: Filters<'a>,
    lost: bool,
}

struct Walk<'s, 'a> {
    script: &'s Script<'a>,
    depth: usize,
}

impl<'a> Walk<'_, 'a> {
    /// Recursion is bounded by [`lex::MAX_DEPTH`].
    fn group(&self, index: usize, context: &Context<'a>, all: &mut Vec<Printed<'a>>) {
        let Some(group) = self.script.groups.get(index) else {
            return;
        };
        if group.definition {
            return;
        }
        let streams = apply(&group.redirects, context);
        for pipeline in &group.pipelines {
            self.pipeline(*pipeline, &streams, all);
        }
    }

    fn pipeline(&self, index: usize, context: &Context<'a>, all: &mut Vec<Printed<'a>>) {
        let Some(pipeline) = self.script.pipelines.get(index) else {
            return;
        };
        let last = pipeline.stages.len().saturating_sub(1);
        // Behind the last compound command every stage is a plain filter.
        let lead =
            pipeline.stages.iter().rposition(|(stage, _)| matches!(stage, Stage::Group(_))).unwrap_or(0);
        for (position, (stage, both)) in pipeline.stages.iter().enumerate().take(lead + 1) {
            let mut inner = context.clone();
            if position > 0 {
                inner.input = Input::Pipe;
            }
            if position < last {
                inner.out = Dest::Pipe;
            }
            if position < lead {
                // What a compound command makes of its input is not known: only the errors are this stage's own.
                inner.out = Dest::Away;
                inner.err = if *both { Dest::Away } else { inner.err };
            } else {
                inner.err = if *both { inner.out } else { inner.err };
                self.filters(pipeline.stages.get(lead + 1..).unwrap_or_default(), context.out, &mut inner);
            }
            match stage {
                Stage::Segment(index) => self.segment(*index, &inner, all),
                Stage::Group(index) => self.group(*index, &inner, all),
            }
        }
    }

    /// Puts the later stages in front of the filters that are inherited; `outer` is where the pipeline ends.
    fn filters(&self, stages: &[(Stage, bool)], outer: Dest, context: &mut Context<'a>) {
        if stages.len() + context.filters.len() > MAX_FILTERS {
            context.lost = true;
            return;
        }
        let mut filters = Filters::with_capacity(stages.len() + context.filters.len());
        for (position, (stage, _)) in stages.iter().enumerate() {
            let Stage::Segment(index) = stage else { continue };
            let Some(segment) = self.script.segments.get(*index) else {
                continue;
            };
            let out = if position + 1 < stages.len() { Dest::Pipe } else { outer };
            let streams = apply(&segment.redirects, &Context { out, ..Context::default() });
            if streams.out == Dest::Away {
                context.out = Dest::Away;
                context.err = if context.err == Dest::Pipe { Dest::Away } else { context.err };
                return;
            }
            let plain = streams.input == Input::None && !streams.lost;
            filters.push(match wrappers::strip(&segment.words) {
                Stripped::Words(words) if plain => Rc::new(words),
                _ => Rc::default(),
            });
        }
        filters.append(&mut context.filters);
        context.filters = filters;
    }

    fn segment(&self, index: usize, context: &Context<'a>, all: &mut Vec<Printed<'a>>) {
        let Some(segment) = self.script.segments.get(index) else {
            return;
        };
        let streams = apply(&segment.redirects, context);
        let (out, err) = (streams.out != Dest::Away || streams.err == Dest::Pipe, streams.err == Dest::Shown);
        if segment.words.is_empty() || !out && !err {
            return;
        }
        let words = match wrappers::strip(&segment.words) {
            _ if streams.lost => Vec::new(),
            Stripped::Words(words) => words,
            Stripped::Nothing => return,
            Stripped::Stdin => match heredoc(&segment.redirects) {
                Some(text) => return self.relex(text, &streams, all),
                None => Vec::new(),
            },
            Stripped::Script(text) => return self.relex(&text, &streams, all),
            Stripped::Unknown => Vec::new(),
        };
        all.push(Printed { words, filters: streams.filters, input: streams.input, out, err });
    }

    /// Lexes a command that was quoted inside the command.
    fn relex(&self, text: &str, context: &Context<'a>, all: &mut Vec<Printed<'a>>) {
        let script = lex::parse(text);
        if !script.certain || self.depth >= MAX_RELEX {
            all.push(Printed { out: true, err: true, ..Printed::default() });
            return;
        }
        let mut inner = Vec::new();
        let walk = Walk { script: &script, depth: self.depth + 1 };
        let outer = Context {
            out: context.out,
            err: context.err,
            input: context.input,
            lost: context.lost,
            ..Context::default()
        };
        walk.group(0, &outer, &mut inner);
        for printed in inner {
            let mut filters: Filters<'a> =
                printed.filters.iter().map(|words| Rc::new(owned(words))).collect();
            filters.extend(context.filters.iter().cloned());
            all.push(Printed {
                words: owned(&printed.words),
                filters,
                input: printed.input,
                out: printed.out,
                err: printed.err,
            });
        }
    }
}

fn owned(words: &[Word<'_>]) -> Vec<Word<'static>> {
    words.iter().cloned().map(Word::into_owned).collect()
}

fn heredoc<'a>(redirects: &[Redirect<'a>]) -> Option<&'a str> {
    redirects
        .iter()
        .rev()
        .find(|redirect| redirect.op == RedirectOp::Heredoc)
        .and_then(|redirect| redirect.body)
}

/// The streams behind a list of redirections, read from left to right as a shell does.
fn apply<'a>(redirects: &[Redirect<'a>], context: &Context<'a>) -> Context<'a> {
    let mut streams = context.clone();
    for redirect in redirects {
        let target = redirect.target.text.as_ref();
        let dest = match (redirect.op, target) {
            (RedirectOp::Heredoc | RedirectOp::HereString, _) => {
                streams.input = Input::Inline;
                continue;
            }
            (RedirectOp::Read, _) => {
                streams.input = Input::File;
                continue;
            }
            (RedirectOp::Dup, "1") | (RedirectOp::Write, "/dev/stdout") => streams.out,
            (RedirectOp::Dup, "2") | (RedirectOp::Write, "/dev/stderr") => streams.err,
            (RedirectOp::Write, "/dev/tty") => Dest::Shown,
            (RedirectOp::Write, _) if target.starts_with(">(") => {
                streams.lost = true;
                streams.out
            }
            _ => Dest::Away,
        };
        match redirect.fd {
            Fd::Out
                if redirect.op == RedirectOp::Dup
                    && !target.starts_with(|c: char| c.is_ascii_digit() || c == '-') =>
            {
                (streams.out, streams.err) = (dest, dest);
            }
            Fd::Out => streams.out = dest,
            Fd::Err => streams.err = dest,
            Fd::Both => (streams.out, streams.err) = (dest, dest),
            Fd::In | Fd::Other => {}
        }
    }
    streams
}

impl Printed<'_> {
    /// True when lines may be missing: the output went through something that cuts or chooses lines.
    pub(crate) fn is_partial(&self) -> bool {
        let whole = |words: &[Word<'_>]| {
            words.first().and_then(program_name).is_some_and(|name| matches!(name, "cat" | "tee"))
        };
        !self.filters.iter().all(|words| whole(words))
    }
}
