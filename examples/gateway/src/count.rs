//! `omniroute count`: characters and tokens of each message and of all.

use std::collections::{HashMap, HashSet};

use omniroute_core::{
    ChatRequest, CounterInfo, DocError, Estimator, Part, SegmentKind, Skip, Tokenizer, Transcript,
};
use serde::Serialize;

use crate::cli::{CountArgs, Form};
use crate::exit::{Failure, Written, note, write_out};
use crate::input::{self, Content};
use crate::progress::Progress;
use crate::report;
use crate::table::{Row, render};
use crate::terminal::{harmless, width};

/// Runs the command.
pub(crate) fn run(args: &CountArgs) -> Result<(), Failure> {
    let mut progress = Progress::new(!args.quiet && !args.json);
    let input = input::read(args.source.file.as_deref(), args.quiet || args.json, &mut progress)?;
    progress.working("counting");
    let form = args.source.form;
    let model = args.source.model.as_deref();
    let counted = match Content::of(input, form) {
        Content::Request(request) => count(&request, model),
        Content::Broken(error) => Err(error),
        Content::Text(text) => input::as_text(&text).map(|text| count_text(text, model)),
    };
    progress.done();
    let counted = counted.map_err(|error| unreadable(&error, form))?;

    let estimated = !counted.counter.exact;
    let data = match args.json {
        true => serde_json::to_string(&counted).map_err(Failure::failed)? + "\n",
        false => render(&shown(&counted.messages), estimated, width()),
    };
    if write_out(data.as_bytes())? == Written::All && !args.json && !args.quiet {
        let word = if estimated { "estimated" } else { "counted" };
        note(&format!("{}, {word} by {}", counted.wire, counted.counter.name));
    }
    Ok(())
}

/// The JSON document of the command.
#[derive(Debug, Serialize)]
struct Counted {
    wire: &'static str,
    counter: CounterInfo,
    messages: Vec<Row>,
    total: Total,
}

#[derive(Debug, Serialize)]
struct Total {
    characters: u64,
    tokens: u64,
}

impl Counted {
    fn new(wire: &'static str, estimator: Estimator, messages: Vec<Row>) -> Counted {
        let sum = |value: fn(&Row) -> u64| messages.iter().map(value).sum();
        let total = Total { characters: sum(|r| r.characters), tokens: sum(|r| r.tokens) };
        Counted { wire, counter: CounterInfo::new(estimator.id(), estimator.exact()), messages, total }
    }
}

fn count_text(text: &str, model: Option<&str>) -> Counted {
    let estimator = Estimator::for_model(model.unwrap_or(""));
    let mut row = Row { index: Some(0), role: "tool", tools: Vec::new(), characters: 0, tokens: 0 };
    add(&mut row, text, estimator);
    Counted::new("text", estimator, vec![row])
}

fn count(request: &ChatRequest, model: Option<&str>) -> Result<Counted, DocError> {
    let conversation = request.conversation()?;
    let transcript = Transcript::from_conversation(request.doc(), &conversation);
    let named = conversation.head.model.map(|m| m.decode()).unwrap_or_default();
    let estimator = Estimator::for_model(model.unwrap_or(&named));

    let mut rows = Rows::default();
    if !conversation.tools.is_empty() {
        rows.push(None, "tools");
    }
    let mut places: HashMap<u32, usize> = HashMap::new();
    for turn in &conversation.turns {
        let place = rows.push(turn.index, turn.role.as_str());
        places.entry(turn.index.unwrap_or(u32::MAX)).or_insert(place);
        for part in &turn.parts {
            let name = match part {
                Part::ToolCall(call) => call.name,
                Part::ToolResult(result) => result.name,
                _ => None,
            };
            if let Some(name) = name {
                rows.tool(place, &name.decode());
            }
        }
    }
    for segment in transcript.segments() {
        let place = match segment.kind {
            SegmentKind::ToolDefinition => Some(0),
            _ => places.get(&segment.id.message).copied(),
        };
        let Some(place) = place else { continue };
        // Most wires name the tool at the call only.
        if let Some(call) = transcript.call_of(segment) {
            rows.tool(place, &call.tool);
        }
        if let Some(row) = rows.all.get_mut(place) {
            add(row, segment.original(), estimator);
        }
    }
    Ok(Counted::new(request.wire().id(), estimator, rows.all))
}

/// Rows in the making.
#[derive(Debug, Default)]
struct Rows {
    all: Vec<Row>,
    /// Tools that a row names already.
    named: HashSet<(usize, String)>,
}

impl Rows {
    fn push(&mut self, index: Option<u32>, role: &'static str) -> usize {
        self.all.push(Row { index, role, tools: Vec::new(), characters: 0, tokens: 0 });
        self.all.len() - 1
    }

    fn tool(&mut self, place: usize, name: &str) {
        if !name.is_empty()
            && self.named.insert((place, name.to_owned()))
            && let Some(row) = self.all.get_mut(place)
        {
            row.tools.push(name.to_owned());
        }
    }
}

fn add(row: &mut Row, text: &str, estimator: Estimator) {
    row.characters += text.chars().count() as u64;
    row.tokens += u64::from(estimator.count(text));
}

/// Names of tools come from the request: nothing in them may steer the terminal.
fn shown(rows: &[Row]) -> Vec<Row> {
    let clean =
        |row: &Row| Row { tools: row.tools.iter().map(|name| harmless(name)).collect(), ..row.clone() };
    rows.iter().map(clean).collect()
}

fn unreadable(error: &DocError, form: Form) -> Failure {
    let hint = if matches!(form, Form::Auto) { input::HINT } else { "" };
    Failure::failed(format!("the input cannot be read: {}{hint}", report::reason(&Skip::unreadable(error))))
}
