//! `omniroute compress`: body in, body out, one line about it.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use omniroute_compress::{Compress, CompressBuilder, CompressError, FilterSet, MemoLimits};
#[cfg(feature = "blobs")]
use omniroute_core::UnixMs;
use omniroute_core::{CompressReceipt, DocError, Estimator, Moment, Skip};

use crate::cli::{CompressArgs, Form};
use crate::exit::{Failure, Written, note, write_out};
use crate::input::{self, Content};
use crate::money::Market;
use crate::progress::Progress;
use crate::report::{self, Unit};

/// Runs the command.
pub(crate) fn run(args: &CompressArgs) -> Result<(), Failure> {
    let form = form(args)?;
    let mut progress = Progress::new(!args.quiet && !args.json);
    let filters = filters(args)?;
    let input = input::read(args.source.file.as_deref(), args.quiet || args.json, &mut progress)?;
    progress.working("compressing");
    let (outcome, took) = timed(|| compress(args, form, input, filters));
    let mut outcome = outcome?;
    args.plan.name().clone_into(&mut outcome.receipt.plan);
    progress.done();

    let refused = outcome.receipt.skipped.as_ref().filter(|skip| args.strict && skip.code != "off");
    if let Some(skip) = refused {
        let hint = outcome.hint;
        return Err(Failure::failed(format!("the input cannot be read: {}{hint}", report::reason(skip))));
    }
    // What cannot be said is said before anything is written.
    let cost = match args.cost && outcome.receipt.skipped.is_none() {
        true => Some(cost_line(args, &outcome)?),
        false => None,
    };
    if let Some(path) = &args.receipt {
        write_private(path, &document(&outcome.receipt, args.at, true)?)
            .map_err(|e| Failure::path("write", path, &e))?;
    }
    if write_out(&outcome.body)? == Written::Closed {
        return Ok(());
    }
    if args.json {
        note(document(&outcome.receipt, args.at, false)?.trim_end());
    } else if !args.quiet {
        note(&report::summary(&outcome.receipt, outcome.unit, took, outcome.hint));
    }
    if let Some(cost) = cost {
        note(&cost);
    }
    Ok(())
}

/// What comes out and what is said about it.
#[derive(Debug)]
struct Outcome {
    body: Bytes,
    receipt: CompressReceipt,
    unit: Unit,
    /// The model that the request names.
    model: Option<String>,
    /// What the user can do, in words that follow the reason.
    hint: &'static str,
}

/// A command line makes a text of the input.
fn form(args: &CompressArgs) -> Result<Form, Failure> {
    match (args.source.form, &args.command) {
        (Form::Auto, Some(_)) => Ok(Form::Text),
        (Form::Wire(wire), Some(_)) => Err(Failure::usage(format!(
            "--command says what printed a text, so it does not go together with --as {}",
            wire.id()
        ))),
        (form, _) => Ok(form),
    }
}

/// The filters in force, if the plan uses any. Says which files are left out.
fn filters(args: &CompressArgs) -> Result<FilterSet, Failure> {
    if !args.plan.steps().iter().any(|step| step.engine() == "rtk") {
        return Ok(FilterSet::builtin());
    }
    let loaded = args.folders.load()?;
    if !args.quiet && !args.json {
        loaded.tell();
    }
    Ok(loaded.set)
}

fn compress(args: &CompressArgs, form: Form, input: Bytes, filters: FilterSet) -> Result<Outcome, Failure> {
    // One call remembers nothing. Whether what cannot be read is a failure is decided here, by the receipt.
    // An original that is kept in memory could not be fetched back once the program is over, so nothing is left out
    // that would have to be.
    let kept = keeps(args);
    let steps = args.plan.steps().iter().map(|step| match step.engine() {
        "rtk" if !kept => step.clone().with("keep_original", "never"),
        _ => step.clone(),
    });
    let builder = Compress::builder().steps(steps).memo(MemoLimits::none());
    let mut builder = store(args, builder.filters(filters).retrieval(kept))?;
    if let Some(model) = &args.source.model {
        builder = builder.tokenizer(Arc::new(Estimator::for_model(model)));
    }
    let compressor = builder.build().map_err(Failure::usage)?;
    if args.plan.steps().is_empty() && !args.strict {
        let out = compressor.compress_body(None, input, Moment::default()).map_err(refused)?;
        return Ok(Outcome {
            body: out.body,
            receipt: out.receipt,
            unit: Unit::Request,
            model: None,
            hint: "",
        });
    }
    match Content::of(input.clone(), form) {
        Content::Request(mut request) => {
            let model = request.head().model.map(|model| model.decode().into_owned());
            let out = compressor.compress(&mut request, None, moment(args));
            Ok(Outcome { body: out.body, receipt: out.receipt, unit: Unit::Request, model, hint: "" })
        }
        Content::Broken(error) => {
            let hint = if matches!(form, Form::Auto) { input::HINT } else { "" };
            let receipt = unread(args, &input, &error);
            Ok(Outcome { receipt, body: input, unit: Unit::Request, model: None, hint })
        }
        Content::Text(text) => compress_text(args, &compressor, text),
    }
}

/// Whether originals outlast the program.
#[cfg(feature = "blobs")]
fn keeps(args: &CompressArgs) -> bool {
    args.blobs.is_some()
}

#[cfg(not(feature = "blobs"))]
fn keeps(_: &CompressArgs) -> bool {
    false
}

#[cfg(feature = "blobs")]
fn store(args: &CompressArgs, builder: CompressBuilder) -> Result<CompressBuilder, Failure> {
    let Some(path) = &args.blobs else { return Ok(builder) };
    Ok(builder.blobs(Arc::new(crate::blobs::open(path)?)))
}

#[cfg(not(feature = "blobs"))]
fn store(_: &CompressArgs, builder: CompressBuilder) -> Result<CompressBuilder, Failure> {
    Ok(builder)
}

/// When the request is sent. Only what is kept in a file ages by it: one call knows of no earlier one.
#[cfg(feature = "blobs")]
fn moment(args: &CompressArgs) -> Moment {
    let told = |at: u64| UnixMs(i64::try_from(at).unwrap_or(i64::MAX));
    match (&args.blobs, args.at) {
        (None, _) => Moment::default(),
        (Some(_), Some(at)) => Moment { wall: told(at), ..Moment::default() },
        (Some(_), None) => crate::time::now(),
    }
}

#[cfg(not(feature = "blobs"))]
fn moment(_: &CompressArgs) -> Moment {
    Moment::default()
}

fn compress_text(args: &CompressArgs, compressor: &Compress, input: Bytes) -> Result<Outcome, Failure> {
    let text = match input::as_text(&input) {
        Ok(text) => text,
        Err(error) => {
            let mut receipt = unread(args, &input, &error);
            receipt.wire = "text".to_owned();
            return Ok(Outcome { receipt, body: input, unit: Unit::Text, model: None, hint: "" });
        }
    };
    let out = compressor.compress_text(text, args.command.as_deref(), moment(args)).map_err(refused)?;
    let receipt = out.receipt;
    let body = match receipt.applied {
        true => out.text.into_owned().into(),
        false => input,
    };
    Ok(Outcome { body, receipt, unit: Unit::Text, model: None, hint: "" })
}

/// The receipt of an input that was not worked on.
fn unread(args: &CompressArgs, input: &Bytes, error: &DocError) -> CompressReceipt {
    let mut receipt = CompressReceipt::default();
    receipt.plan = args.plan.name().to_owned();
    receipt.skipped = Some(Skip::unreadable(error));
    receipt.bytes_before = input.len() as u64;
    receipt.bytes_after = receipt.bytes_before;
    receipt
}

fn refused(error: CompressError) -> Failure {
    Failure::failed(error)
}

#[expect(clippy::disallowed_methods, reason = "a program has its own clock; the time is only shown")]
fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let start = Instant::now();
    let done = work();
    (done, start.elapsed())
}

/// What the input costs before and after.
fn cost_line(args: &CompressArgs, outcome: &Outcome) -> Result<String, Failure> {
    let named = args.source.model.as_deref().or(outcome.model.as_deref());
    let Some(model) = named else {
        let what = if matches!(outcome.unit, Unit::Text) { "a text" } else { "the request" };
        return Err(Failure::usage(format!(
            "--cost needs a model: {what} names none, so name one with --model"
        )));
    };
    Ok(Market::of(model)?.line(outcome.receipt.tokens_before, outcome.receipt.tokens_after))
}

fn document(receipt: &CompressReceipt, at: Option<u64>, pretty: bool) -> Result<String, Failure> {
    if let Some(at) = at {
        let mut value = serde_json::to_value(receipt).map_err(Failure::failed)?;
        if let Some(members) = value.as_object_mut() {
            members.insert("at_ms".to_owned(), at.into());
        }
        let text = if pretty { serde_json::to_string_pretty(&value) } else { serde_json::to_string(&value) };
        return text.map(|text| text + "\n").map_err(Failure::failed);
    }
    let text = match pretty {
        true => serde_json::to_string_pretty(receipt),
        false => serde_json::to_string(receipt),
    };
    text.map(|text| text + "\n").map_err(Failure::failed)
}

/// Writes a file that only its owner can read, also if it was there with other permissions.
fn write_private(path: &Path, text: &str) -> io::Result<()> {
    let mut file = open_private(path)?;
    file.write_all(text.as_bytes())
}

#[cfg(unix)]
fn open_private(path: &Path) -> io::Result<File> {
    use std::fs::Permissions;
    use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};

    const OWNER: u32 = 0o600;
    let file = OpenOptions::new().write(true).create(true).truncate(true).mode(OWNER).open(path)?;
    // Devices and pipes keep their permissions.
    if file.metadata()?.is_file() {
        file.set_permissions(Permissions::from_mode(OWNER))?;
    }
    Ok(file)
}

#[cfg(not(unix))]
fn open_private(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create(true).truncate(true).open(path)
}
