//! One exchange with a vendor: sent, at most twice, and read as far as its head.

use bytes::Bytes;
use http::Request;
use omniroute_core::{Body, Diagnostic, Env, Failure, FailureKind, Phase, UnixMs};

use super::clocked::{Limit, What};
use super::correct::{self, Correction};
use super::lessons::HOLDS;
use super::provider::{Call, Inner};
use super::steps::{gather, no_credential, not_made, pass_headers};
use crate::classify::{Scene, classify, classify_transport};
use crate::credentials::Held;
use crate::prepare::PrepareError;
use crate::redact::Redactor;

/// Longest error answer that is read, in bytes.
const LONGEST_ERROR: usize = 64 << 10;

/// An answer with a good status.
pub(crate) struct Exchange {
    pub(crate) response: http::Response<Body>,
    pub(crate) redactor: Redactor,
    pub(crate) held: Held,
    pub(crate) sent: Bytes,
    pub(crate) resent: bool,
    /// What was changed in the request after a refusal.
    pub(crate) changed: Option<Diagnostic>,
    pub(crate) limit: Limit,
}

/// What is sent.
#[derive(Debug)]
pub(crate) struct Sending {
    pub(crate) body: Bytes,
    /// Whether the answer is to be streamed.
    pub(crate) stream: bool,
    /// Whether a refusal that names what it wants is followed.
    pub(crate) correct: bool,
}

/// Makes a request out of a credential, the values of placeholders and a body.
pub(crate) type Make<'m> =
    dyn Fn(&Held, &[(&str, &str)], &Bytes) -> Result<Request<Bytes>, PrepareError> + Send + Sync + 'm;

impl Inner {
    /// Sends, at most twice, and reads what is not a success.
    pub(crate) async fn exchange(
        &self,
        env: &Env,
        call: &Call<'_>,
        sending: Sending,
        make: &Make<'_>,
    ) -> Result<Exchange, Failure> {
        let Sending { mut body, stream, correct } = sending;
        let start = env.clock.now().mono;
        let times = &self.timeouts;
        let span = if stream { times.first_byte } else { times.whole_first_byte };
        let mut limit = Limit::deadline(call.deadline).min(Limit::after(start, span, What::FirstByte));
        let mut whole = Limit::deadline(call.deadline);
        if !stream {
            whole = whole.min(Limit::after(start, times.total, What::Total));
            limit = whole.min(limit);
        }
        let values: Vec<(&str, &str)> = self.values.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
        let mut redactor = Redactor::default();
        let (mut resent, mut corrected) = (false, None);
        let asked = limit.hold(&*env.clock, Phase::PreDispatch, self.credentials.get(env, None));
        let mut held = asked.await?.map_err(|error| no_credential(&error))?;
        loop {
            held.teach(&mut redactor);
            let mut request = make(&held, &values, &body).map_err(|error| not_made(&error))?;
            pass_headers(&call.headers, request.headers_mut());
            self.sign(&held, &mut request, env)?;
            let sent = request.body().clone();
            let answered = limit.hold(&*env.clock, Phase::Transport, env.http.send(request)).await;
            let scene = |phase, headers| Scene {
                dialect: self.dialect,
                phase,
                headers,
                now: env.clock.now().wall,
                sent: &sent,
                redactor: Some(&redactor),
            };
            let failure = match answered {
                Err(late) => late,
                Ok(Err(error)) => classify_transport(&error, &scene(Phase::Transport, None)),
                Ok(Ok(response)) if response.status().is_success() => {
                    let changed = corrected.map(|(correction, note)| {
                        self.learn(call.model, correction, env);
                        note
                    });
                    let sent = sent.clone();
                    return Ok(Exchange { response, redactor, held, sent, resent, changed, limit: whole });
                }
                Ok(Ok(response)) => {
                    let (head, answer) = response.into_parts();
                    // What can be read of it in time is enough.
                    let idle = Limit::after(env.clock.now().mono, times.idle, What::Idle).min(whole);
                    let read = idle.hold(&*env.clock, Phase::Headers, gather(answer, LONGEST_ERROR)).await;
                    let bytes = read.ok().and_then(Result::ok).map_or_else(Bytes::new, |(bytes, _)| bytes);
                    classify(head.status.as_u16(), &bytes, &scene(Phase::Headers, Some(&head.headers)))
                }
            };
            self.credentials.heard(&held, Some(&failure), env.clock.now().wall);
            if resent {
                return Err(failure);
            }
            if let Some(correction) = correct::asked(&failure, self.wire).filter(|_| correct)
                && let Some((other, note)) = correct::apply(correction, &body, self.wire)
            {
                (body, resent, corrected) = (other, true, Some((correction, note)));
                continue;
            }
            if failure.kind != FailureKind::Unauthorized {
                return Err(failure);
            }
            // Another credential, or the end: the same one again would be refused again.
            let renewed = limit.hold(&*env.clock, Phase::PreDispatch, self.credentials.get(env, Some(&held)));
            match renewed.await {
                Ok(Ok(other)) if !other.is_same(&held) => (held, resent) = (other, true),
                _ => return Err(failure),
            }
        }
    }

    /// A changed request was accepted: the host's habit is worth keeping.
    fn learn(&self, model: &str, correction: Correction, env: &Env) {
        if let (Correction::Lesson(lesson), Some(lessons)) = (correction, &self.lessons) {
            let holds = i64::try_from(HOLDS.as_millis()).unwrap_or(i64::MAX);
            lessons.learn(model, lesson, UnixMs(env.clock.now().wall.0.saturating_add(holds)));
        }
    }

    #[cfg(feature = "sigv4")]
    fn sign(&self, held: &Held, request: &mut Request<Bytes>, env: &Env) -> Result<(), Failure> {
        let Held::Aws(keys) = held else { return Ok(()) };
        let region = self.values.iter().find(|(name, _)| name == "region").map(|(_, value)| value.as_str());
        super::sigv4::sign(request, keys, region.unwrap_or("us-east-1"), "bedrock", env.clock.now().wall)
            .map_err(|message| Failure::local(FailureKind::InvalidRequest, "cannot_sign", message))
    }

    #[cfg(not(feature = "sigv4"))]
    fn sign(&self, held: &Held, _: &mut Request<Bytes>, _: &Env) -> Result<(), Failure> {
        match held {
            Held::Aws(_) => Err(Failure::local(
                FailureKind::Unsupported,
                "cannot_sign",
                "AWS keys need the feature sigv4; an API key of Bedrock works without",
            )),
            _ => Ok(()),
        }
    }
}
