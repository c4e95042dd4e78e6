//! Services beside chat: the body goes to a vendor that offers the model, as it came but for the name of the model.

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use http::HeaderValue;
use http::header::CONTENT_TYPE;
use omniroute_core::{ConnectionId, Failure, FailureKind, ModelId, Patch, ProviderId, Target, UnixMs};
use omniroute_providers::{Call, Surface, Upload};
use omniroute_resilience::{AdmitContext, Handle};
use omniroute_route::attempts::status;

use super::fault::Fault;
use super::gateway::Line;
use super::ops::Ask;

/// Asks the connections that offer the model, one after the other, under the same rules of rest as chat.
///
/// # Errors
/// Nobody offers it, or what the last one said.
pub(super) async fn pass(ask: &Ask, surface: Surface) -> Result<Response, Fault> {
    let gateway = &*ask.gateway;
    let _place = gateway.place()?;
    let form = form_boundary(ask);
    let said = match &form {
        Some(boundary) => in_form(&ask.body, boundary)
            .map(|(start, end)| String::from_utf8_lossy(&ask.body[start..end]).into_owned()),
        None => in_json(&ask.body)?,
    };
    let said = said.filter(|model| !model.is_empty());
    let said = said.ok_or_else(|| Fault::bad("missing_model", "the request names no model").at("model"))?;
    let (lines, model) = offering(ask, &said)?;
    let body = match &form {
        Some(boundary) => rename_form(&ask.body, boundary, &model),
        None => rename_json(&ask.body, &model)?,
    };
    let content_type = form.is_some().then(|| ask.head.headers.get(CONTENT_TYPE).cloned()).flatten();
    let targets: Vec<Target> = lines
        .iter()
        .map(|line| Target {
            provider: ProviderId::new(&*line.provider),
            connection: ConnectionId::new(&*line.name),
            model: ModelId::new(model.as_str()),
        })
        .collect();
    let handles = gateway.resilience.register(&targets);
    let mut left: Vec<(usize, Handle)> =
        handles.into_iter().enumerate().filter_map(|(at, handle)| Some((at, handle?))).collect();
    let mut last: Option<Failure> = None;
    let now = || gateway.env.clock.now();
    while !left.is_empty() {
        let cx = AdmitContext::new(ask.caller.principal.clone());
        let picks: Vec<Handle> = left.iter().map(|(_, handle)| *handle).collect();
        let permit = match gateway.resilience.admit_or_wait(&picks, &cx).await {
            Ok(permit) => permit,
            Err(denial) => return Err(told(&last.unwrap_or_else(|| denial.failure()), now().wall)),
        };
        let Some(at) = targets.iter().position(|target| target == permit.target()) else { break };
        left.retain(|(other, _)| *other != at);
        let upload = Upload { body: body.clone(), content_type: content_type.clone() };
        let called = lines[at].http.pass(&gateway.env, surface, upload, &Call::new(&model)).await;
        let mut outcome = permit.outcome(now());
        match called {
            Ok(passed) => {
                outcome.limits = passed.limits;
                permit.report(outcome).await;
                let mut response = Response::new(Body::from(passed.body));
                let kind = passed.content_type.unwrap_or(HeaderValue::from_static("application/json"));
                response.headers_mut().insert(CONTENT_TYPE, kind);
                let decision = format!("strategy=fill-first; provider={}; model={model}", lines[at].provider);
                super::chat::put(&mut response, "x-omniroute-decision", &decision);
                return Ok(response);
            }
            Err(failure) => {
                outcome.failure = Some(failure.clone());
                permit.report(outcome).await;
                let ours = matches!(
                    failure.kind,
                    FailureKind::InvalidRequest | FailureKind::Filtered | FailureKind::TooLarge
                );
                if ours {
                    return Err(told(&failure, now().wall));
                }
                last = Some(failure);
            }
        }
    }
    let nobody = || Failure::local(FailureKind::Unavailable, "no_executable_targets", "nobody can be asked");
    Err(told(&last.unwrap_or_else(nobody), now().wall))
}

fn told(failure: &Failure, now: UnixMs) -> Fault {
    let code = failure.code.clone().unwrap_or_else(|| failure.kind.code().to_owned());
    let mut fault = Fault::new(status(failure), &code, failure.message.clone());
    fault.retry = failure.retry_at.filter(|_| matches!(fault.status, 429 | 503)).map(|at| {
        let seconds = (at.0.saturating_sub(now.0).max(0) + 999) / 1_000;
        (at, u32::try_from(seconds).unwrap_or(u32::MAX).clamp(1, 86_400))
    });
    fault
}

/// Connections that offer a model, and its name there.
fn offering<'a>(ask: &'a Ask, said: &str) -> Result<(Vec<&'a Line>, String), Fault> {
    let gateway = &*ask.gateway;
    let of = |provider: &str| -> Vec<&Line> {
        gateway
            .lines
            .iter()
            .filter(|line| line.provider.eq_ignore_ascii_case(provider) && line.ready)
            .collect()
    };
    if let Some((provider, model)) = said.split_once('/') {
        let lines = of(provider);
        if !lines.is_empty() && !model.is_empty() {
            return Ok((lines, model.to_owned()));
        }
    }
    let mut owners: Vec<&str> = Vec::new();
    for line in &gateway.lines {
        let known = gateway.catalog.model(&line.provider, said).is_some();
        if line.ready && known && !owners.contains(&&*line.provider) {
            owners.push(&line.provider);
        }
    }
    match owners.as_slice() {
        [owner] => Ok((of(owner), said.to_owned())),
        [] => {
            let rule =
                format!("model {said:?} is not offered by a configured connection; write provider/model");
            Err(Fault::new(404, "unknown_model", rule).at("model"))
        }
        several => {
            let names: Vec<String> = several.iter().map(|owner| format!("{owner}/{said}")).collect();
            let rule = format!("model {said:?} is offered by several: write one of {}", names.join(", "));
            Err(Fault::bad("ambiguous_model", rule).at("model"))
        }
    }
}

fn in_json(body: &Bytes) -> Result<Option<String>, Fault> {
    let doc = super::intake::doc(body.clone())?;
    Ok(doc.get(doc.root(), "model").and_then(|node| doc.str(node)).map(|model| model.trim().to_owned()))
}

fn rename_json(body: &Bytes, model: &str) -> Result<Bytes, Fault> {
    let doc = super::intake::doc(body.clone())?;
    let Some(node) = doc.get(doc.root(), "model") else { return Ok(body.clone()) };
    let mut patch = Patch::new();
    patch.set_str(node, model);
    doc.splice(&patch).map_err(|error| Fault::bad("invalid_request", error.to_string()))
}

/// The line between the parts of a form.
fn form_boundary(ask: &Ask) -> Option<Vec<u8>> {
    let kind = ask.head.headers.get(CONTENT_TYPE)?.to_str().ok()?;
    if !kind.trim_start().to_ascii_lowercase().starts_with("multipart/form-data") {
        return None;
    }
    let (_, rest) = kind.split_once("boundary=")?;
    let boundary = rest.split(';').next()?.trim().trim_matches('"');
    (!boundary.is_empty()).then(|| format!("--{boundary}").into_bytes())
}

/// Where the value of the field `model` stands in a form.
fn in_form(body: &[u8], boundary: &[u8]) -> Option<(usize, usize)> {
    let mut starts = memchr::memmem::find_iter(body, boundary);
    let mut start = starts.next()?;
    for next in starts {
        let part = body.get(start + boundary.len()..next)?;
        let head = memchr::memmem::find(part, b"\r\n\r\n")?;
        let text = String::from_utf8_lossy(part.get(..head)?).to_ascii_lowercase();
        let ours = text.contains("name=\"model\"") || text.contains("name=model");
        if ours && !text.contains("filename=") {
            let from = start + boundary.len() + head + 4;
            let to = next.checked_sub(2).filter(|to| *to >= from)?;
            return Some((from, to));
        }
        start = next;
    }
    None
}

fn rename_form(body: &Bytes, boundary: &[u8], model: &str) -> Bytes {
    let Some((from, to)) = in_form(body, boundary) else { return body.clone() };
    [&body[..from], model.as_bytes(), &body[to..]].concat().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_changes_in_its_model_alone() {
        let form = "--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"model\"\r\n\r\n\0\u{1}name=\"model\"\r\n--x\r\nContent-Disposition: form-data; name=\"model\"\r\n\r\nopenai/whisper-1\r\n--x--\r\n";
        let body = Bytes::from(form);
        let (from, to) = in_form(&body, b"--x").unwrap();
        assert_eq!(&body[from..to], b"openai/whisper-1");
        let renamed = rename_form(&body, b"--x", "whisper-1");
        assert_eq!(renamed, form.replace("openai/whisper-1", "whisper-1"));
        assert_eq!(in_form(b"--x\r\nnothing", b"--x"), None);
        assert_eq!(rename_form(&body, b"--y", "z"), body);
    }

    #[test]
    fn json_changes_in_its_model_alone() {
        let body = Bytes::from_static(b"{\"a\": 1.50, \"model\":\"p/m\" , \"x\":[]}");
        assert_eq!(rename_json(&body, "m").unwrap(), "{\"a\": 1.50, \"model\":\"m\" , \"x\":[]}");
        assert_eq!(in_json(&body).unwrap().as_deref(), Some("p/m"));
    }
}
