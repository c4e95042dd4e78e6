//! Where rights come from: variables by their naming rule, keys in turn, OAuth renewals by one at a time.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::Context;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use omniroute_core::testing::VirtualClock;
use omniroute_core::{
    Body, ChatRequest, Env, FailureKind, HttpTransport, Inline, TransportError, UnixMs, wire,
};
use omniroute_providers::credentials::{
    CredentialError, CredentialSource, EnvKey, Fixed, Grant, Held, KeyRing, MemoryTokens, OAuthClient,
    OAuthSource, RingOrder, TokenSet, TokenStore,
};
use omniroute_providers::{Access, Call, Catalog, HttpProvider, Implement, Secret};

use crate::recorded::next;
use crate::samples::CHAT;
use crate::scripted::{NOW, Step, Vendor, env, run};

#[test]
fn every_row_has_a_variable_by_rule() {
    let catalog = Catalog::embedded();
    let vendor = Vendor::new([]);
    let (env, _) = env(&vendor);
    let mut count = 0;
    for row in catalog.providers().filter(|row| row.implement == Implement::Yes) {
        let rule = format!("OMNIROUTE_{}_API_KEY", row.id.to_uppercase().replace('-', "_"));
        assert_eq!(row.key_variables().last().as_deref(), Some(rule.as_str()));
        let missing =
            run(EnvKey::with(&row, |_| Some(" \t".to_owned())).get(&env, None)).unwrap().unwrap_err();
        let CredentialError::Missing { provider, tried } = missing else { panic!("{missing:?}") };
        assert!(provider == row.id && tried.contains(&rule), "names are told, white space is no key");
        count += 1;
    }
    let row = catalog.provider("voyage-ai").unwrap();
    let rule = |name: &str| (name == "OMNIROUTE_VOYAGE_AI_API_KEY").then(|| "KEY-by-rule-01".to_owned());
    let held = run(EnvKey::with(&row, rule).get(&env, None)).unwrap().unwrap();
    assert!(held.is_same(&Held::key("KEY-by-rule-01")));
    // The vendor's own name comes first; a pair is needed whole.
    let both = |name: &str| match name {
        "OPENAI_API_KEY" => Some("KEY-usual-001".to_owned()),
        "OMNIROUTE_OPENAI_API_KEY" => Some("KEY-by-rule-01".to_owned()),
        "AWS_ACCESS_KEY_ID" => Some("AKIDEXAMPLE".to_owned()),
        _ => None,
    };
    let held =
        run(EnvKey::with(&catalog.provider("openai").unwrap(), both).get(&env, None)).unwrap().unwrap();
    assert!(held.is_same(&Held::key("KEY-usual-001")));
    assert!(run(EnvKey::with(&catalog.provider("bedrock").unwrap(), both).get(&env, None)).unwrap().is_err());
    println!("{count} rows have a variable by rule");
    assert!(count > 200 && catalog.provider("openai").unwrap().access == Access::OfficialApi);
}

/// A key from a row's variable stays at the row's host, also through a provider.
#[test]
fn a_key_of_a_variable_goes_to_the_row_alone() {
    let row =
        EnvKey::with(&Catalog::embedded().provider("openai").unwrap(), |_| Some("KEY-0123456789".to_owned()));
    let provider = HttpProvider::builder(&Catalog::embedded(), "openai")
        .base_url("https://elsewhere.example/v1")
        .credentials(row)
        .build()
        .unwrap();
    let vendor = Vendor::new([Step::json(200, "{}")]);
    let (env, _) = env(&vendor);
    let failure = run(provider.chat(&env, &request(), &Call::new("m"))).unwrap().unwrap_err();
    assert_eq!((failure.kind, failure.code.as_deref()), (FailureKind::Forbidden, Some("key_not_for_host")));
    assert!(vendor.seen().is_empty());
}

fn request() -> ChatRequest {
    ChatRequest::parse(wire::OPENAI_CHAT, r#"{"model":"m","messages":[{"role":"user","content":"hi"}]}"#)
        .unwrap()
}

#[test]
fn keys_take_turns_and_a_slow_one_rests() {
    let keys = vec![Held::key("KEY-number-one"), Held::key("KEY-number-two")];
    let ring = KeyRing::new("acc", keys, RingOrder::RoundRobin, 0);
    let provider = HttpProvider::builder(&Catalog::embedded(), "openai").credentials(ring).build().unwrap();
    let busy = Step::of(
        429,
        &[("retry-after", "60")],
        vec![r#"{"error":{"message":"x","code":"rate_limit_exceeded"}}"#.into()],
    );
    let ok = || Step::json(200, CHAT);
    let vendor = Vendor::new([ok(), busy.clone(), ok(), ok(), busy, ok(), ok()]);
    let (env, clock) = env(&vendor);
    let ask = || run(provider.chat(&env, &request(), &Call::new("m"))).unwrap();
    assert!(ask().is_ok());
    assert_eq!(ask().unwrap_err().kind, FailureKind::RateLimited, "the second one is told to rest");
    assert!(ask().is_ok() && ask().is_ok());
    assert!(ask().is_err(), "now the first one too");
    let resting = ask().unwrap_err();
    assert_eq!((resting.origin_local, resting.retry_at), (true, Some(UnixMs(NOW.0 + 60_000))));
    clock.advance(Duration::from_secs(60));
    assert!(ask().is_ok() && ask().is_ok());
    let keys: Vec<_> =
        vendor.seen().iter().map(|r| r.headers()["authorization"].to_str().unwrap().to_owned()).collect();
    let ends: Vec<&str> = keys.iter().map(|key| key.rsplit('-').next().unwrap()).collect();
    assert_eq!(&ends[..5], ["one", "two", "one", "one", "one"]);
    assert_eq!(ends.len(), 7);
}

/// A vendor's token endpoint: each refresh token buys once; a second purchase ends the sign-in.
#[derive(Debug, Default)]
struct Endpoint {
    asked: AtomicUsize,
    open: AtomicUsize,
    most: AtomicUsize,
    spent: std::sync::Mutex<Vec<String>>,
    reused: AtomicBool,
    turns: usize,
}

/// Counts an exchange as open until it is over or dropped.
struct Open<'a>(&'a Endpoint);

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::SeqCst);
    }
}

#[async_trait::async_trait]
impl HttpTransport for Endpoint {
    async fn send(&self, request: Request<Bytes>) -> Result<Response<Body>, TransportError> {
        let number = self.asked.fetch_add(1, Ordering::SeqCst);
        self.most.fetch_max(self.open.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        let _open = Open(self);
        let body = String::from_utf8(request.body().to_vec()).unwrap();
        let token = body.split("refresh_token=").nth(1).and_then(|t| t.split('&').next()).unwrap().to_owned();
        for _ in 0..self.turns {
            let mut yielded = false;
            std::future::poll_fn(|cx| {
                cx.waker().wake_by_ref();
                if std::mem::replace(&mut yielded, true) {
                    std::task::Poll::Ready(())
                } else {
                    std::task::Poll::Pending
                }
            })
            .await;
        }
        let mut spent = self.spent.lock().unwrap();
        if spent.contains(&token) {
            self.reused.store(true, Ordering::SeqCst);
        }
        spent.push(token);
        let answer = format!(
            r#"{{"access_token":"access-token-{number}","refresh_token":"refresh-token-{number}","expires_in":3600}}"#
        );
        Ok(Response::new(Body::whole(answer)))
    }
}

fn old() -> TokenSet {
    TokenSet {
        access: Secret::new("access-token-old"),
        refresh: Some(Secret::new("refresh-token-old")),
        expires_at: Some(UnixMs(0)),
    }
}

pub(crate) fn oauth(store: Arc<dyn TokenStore>) -> OAuthSource {
    let client = OAuthClient {
        token_url: "https://auth.example/token".to_owned(),
        client_id: "mine".to_owned(),
        client_secret: None,
        scope: String::new(),
        grant: Grant::Refresh,
        lead: Duration::from_secs(300),
        patience: Duration::from_secs(30),
    };
    OAuthSource::new(client, store).unwrap()
}

fn endpoint_env(endpoint: &Arc<Endpoint>) -> Env {
    let http: Arc<dyn HttpTransport> = endpoint.clone();
    Env { clock: Arc::new(VirtualClock::at(NOW)), http, offload: Arc::new(Inline) }
}

type Waiting<'a> = Option<Pin<Box<dyn Future<Output = Result<Held, CredentialError>> + Send + 'a>>>;

/// Six callers, polled in a random order, some dropped in the middle. Gives (most at once, purchases, reuse).
fn storm(
    source: &dyn CredentialSource,
    endpoint: &Arc<Endpoint>,
    seed: &mut u64,
    drop_some: bool,
) -> (usize, usize, bool) {
    let env = endpoint_env(endpoint);
    let mut waiting: Vec<Waiting<'_>> = (0..6).map(|_| Some(Box::pin(source.get(&env, None)) as _)).collect();
    let mut got = Vec::new();
    let mut cx = Context::from_waker(futures::task::noop_waker_ref());
    for _ in 0..10_000 {
        let at = next(seed) as usize % waiting.len();
        if drop_some && next(seed).is_multiple_of(13) && waiting.iter().flatten().count() > 1 {
            waiting[at] = None;
        }
        let Some(one) = waiting[at].as_mut() else {
            if waiting.iter().all(Option::is_none) {
                break;
            }
            continue;
        };
        if let std::task::Poll::Ready(held) = one.as_mut().poll(&mut cx) {
            got.push(held.unwrap());
            waiting[at] = None;
        }
    }
    assert!(waiting.iter().all(Option::is_none) && !got.is_empty(), "everybody who stays is served");
    assert!(got.iter().all(|held| held.is_same(&got[0])), "with the same token");
    let load = |count: &AtomicUsize| count.load(Ordering::SeqCst);
    (load(&endpoint.most), load(&endpoint.asked), endpoint.reused.load(Ordering::SeqCst))
}

#[test]
fn one_renewal_at_a_time_whoever_gives_up() {
    let mut seed = 0xABCD;
    let mut asked = 0;
    for round in 0..300 {
        let endpoint = Arc::new(Endpoint { turns: round % 7, ..Endpoint::default() });
        let source = oauth(Arc::new(MemoryTokens::new(Some(old()))));
        let (most, bought, reused) = storm(&source, &endpoint, &mut seed, round % 2 == 1);
        assert_eq!(most, 1, "round {round}");
        assert!(!reused, "round {round}: nobody buys twice with one token");
        assert!(round % 2 == 1 || bought == 1, "round {round}: {bought}");
        asked += bought;
    }
    println!("{asked} renewals in 300 rounds");
    // Twin: who asks without waiting for others buys twice.
    let endpoint = Arc::new(Endpoint { turns: 3, ..Endpoint::default() });
    let (most, bought, reused) =
        storm(&Hasty(Arc::new(MemoryTokens::new(Some(old())))), &endpoint, &mut seed, false);
    assert!(most > 1 && bought > 1 && reused, "the twin must be caught");
}

/// Broken twin: every call makes a source of its own, so nobody waits for anybody.
#[derive(Debug)]
struct Hasty(Arc<MemoryTokens>);

#[async_trait::async_trait]
impl CredentialSource for Hasty {
    async fn get(&self, env: &Env, refused: Option<&Held>) -> Result<Held, CredentialError> {
        let _ = oauth(self.0.clone()).get(env, refused).await?;
        Ok(Held::token("whatever", None))
    }
}

/// Two real tasks; the one that renews is aborted in the middle.
#[test]
fn an_aborted_task_leaves_the_way_free() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let answer = r#"{"access_token":"access-token-new","expires_in":3600}"#;
        let vendor = Vendor::new([Step::Hang, Step::json(200, answer)]);
        let (env, _) = env(&vendor);
        let source = Arc::new(oauth(Arc::new(MemoryTokens::new(Some(old())))));
        let ask =
            |source: Arc<OAuthSource>, env: Env| tokio::spawn(async move { source.get(&env, None).await });
        let first = ask(Arc::clone(&source), env.clone());
        tokio::task::yield_now().await;
        let second = ask(Arc::clone(&source), env.clone());
        for _ in 0..5 {
            tokio::task::yield_now().await;
        }
        assert_eq!((vendor.seen().len(), vendor.open()), (1, 1), "the second waits for the first");
        assert!(!second.is_finished());
        first.abort();
        assert!(first.await.unwrap_err().is_cancelled());
        let held = tokio::time::timeout(Duration::from_secs(20), second).await.unwrap().unwrap().unwrap();
        assert!(held.is_same(&Held::token("access-token-new", None)));
        assert_eq!((vendor.seen().len(), vendor.open()), (2, 0));
    });
}

/// A refused token is renewed once and the call goes out again; a token that is refused again ends it.
#[test]
fn a_refused_token_is_renewed_and_the_call_goes_out_again() {
    let fresh = TokenSet { expires_at: Some(UnixMs(NOW.0 + 3_600_000)), ..old() };
    let refused = r#"{"error":{"message":"expired","code":"invalid_api_key"}}"#;
    let bought =
        r#"{"access_token":"access-token-new","refresh_token":"refresh-token-new","expires_in":3600}"#;
    for (last, good) in [(Step::json(200, CHAT), true), (Step::json(401, refused), false)] {
        let vendor = Vendor::new([Step::json(401, refused), Step::json(200, bought), last]);
        let (env, _) = env(&vendor);
        let source = oauth(Arc::new(MemoryTokens::new(Some(fresh.clone()))));
        let provider =
            HttpProvider::builder(&Catalog::embedded(), "openai").credentials(source).build().unwrap();
        let answered = run(provider.chat(&env, &request(), &Call::new("m"))).unwrap();
        assert_eq!(answered.is_ok(), good);
        let hosts: Vec<_> = vendor.seen().iter().map(|r| r.uri().host().unwrap().to_owned()).collect();
        assert_eq!(hosts, ["api.openai.com", "auth.example", "api.openai.com"]);
        assert_eq!(vendor.seen()[2].headers()["authorization"], "Bearer access-token-new");
    }
    // A fixed credential is not sent twice.
    let vendor = Vendor::new([Step::json(401, refused), Step::json(200, CHAT)]);
    let (env, _) = env(&vendor);
    let fixed = Fixed(Held::key("KEY-0123456789"));
    let provider = HttpProvider::builder(&Catalog::embedded(), "openai").credentials(fixed).build().unwrap();
    assert!(run(provider.chat(&env, &request(), &Call::new("m"))).unwrap().is_err());
    assert_eq!(vendor.seen().len(), 1);
}
