//! Which rule each anchor calls, and the ranges that come of it.

use std::sync::OnceLock;

use super::blocks::{self, Ends};
use super::bytes::{is_word, part};
use super::kind::Kind;
use super::prefixed::FORMATS;
use super::scan::{Atom, Scanner};
use super::{assign, flags, kube, shaped, web};

/// A secret in the text: never empty, never overlapping the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Secret {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) kind: Kind,
}

/// Looks for a secret around an anchor.
type Find = fn(&[u8], usize) -> Option<(usize, usize, Kind)>;

/// What to do at an anchor.
#[derive(Debug, Clone, Copy)]
enum Rule {
    Format(usize),
    Program(usize),
    Assignment,
    Shape(Find),
    SlackWebhook,
    DiscordWebhook,
    Block,
    Authorization,
    Bearer,
    Cookie,
    Kubernetes,
}

const HEX: &[u8] = b"0123456789abcdef";

/// Literal anchors besides the formats and programs.
const ANCHORS: [(&str, Rule); 25] = [
    ("key", Rule::Assignment),
    ("token", Rule::Assignment),
    ("secret", Rule::Assignment),
    ("passw", Rule::Assignment),
    ("passphrase", Rule::Assignment),
    ("pwd", Rule::Assignment),
    ("credential", Rule::Assignment),
    ("private", Rule::Assignment),
    ("sig=", Rule::Assignment),
    ("signature=", Rule::Assignment),
    ("auth=", Rule::Assignment),
    (".eyJ", Rule::Shape(shaped::jwt)),
    (".ewo", Rule::Shape(shaped::jwt)),
    (":AA", Rule::Shape(shaped::telegram)),
    ("SG.", Rule::Shape(shaped::sendgrid)),
    (".atlasv1.", Rule::Shape(shaped::terraform)),
    ("NRAL", Rule::Shape(shaped::newrelic)),
    ("://", Rule::Shape(web::url_password)),
    ("hooks.slack.com/", Rule::SlackWebhook),
    ("/api/webhooks/", Rule::DiscordWebhook),
    ("PRIVATE KEY", Rule::Block),
    ("authorization", Rule::Authorization),
    ("bearer ", Rule::Bearer),
    ("cookie", Rule::Cookie),
    ("kind", Rule::Kubernetes),
];

/// Anchors with classes: Twilio, Azure, Discord (a number in base64).
fn classes() -> [(Vec<Atom>, Rule); 3] {
    use Atom::{Byte, Class};
    [
        (vec![Byte(b'S'), Byte(b'K'), Class(HEX), Class(HEX)], Rule::Shape(shaped::twilio)),
        (vec![Class(b"0123456789"), Byte(b'Q'), Byte(b'~')], Rule::Shape(shaped::azure)),
        (
            vec![Class(b"MNO"), Class(b"DTjz"), Class(b"AEIMQUYcgk"), Class(b"wxyz012345")],
            Rule::Shape(shaped::discord),
        ),
    ]
}

#[derive(Debug)]
struct Rules {
    scanner: Scanner,
    rules: Vec<Rule>,
}

fn rules() -> &'static Rules {
    static RULES: OnceLock<Rules> = OnceLock::new();
    RULES.get_or_init(|| {
        let literal = |text: &str| text.bytes().map(Atom::Byte).collect::<Vec<_>>();
        let formats = FORMATS.iter().enumerate().map(|(n, f)| (literal(f.prefix), Rule::Format(n)));
        let programs = flags::PROGRAMS.iter().enumerate().map(|(n, p)| (literal(p.0), Rule::Program(n)));
        let others = ANCHORS.iter().map(|(text, rule)| (literal(text), *rule));
        let all = formats.chain(programs).chain(others).chain(classes());
        let (anchors, rules) = all.unzip();
        Rules { scanner: Scanner::new(anchors), rules }
    })
}

/// All secrets of a text, in order, apart from each other.
pub(super) fn find(text: &[u8]) -> Vec<Secret> {
    let mut search = Search { text, ..Search::default() };
    let Rules { scanner, rules } = rules();
    scanner.scan(text, |anchor, at| {
        if let Some(rule) = rules.get(anchor) {
            search.apply(*rule, at);
        }
    });
    merge(search.found)
}

#[derive(Debug, Default)]
struct Search<'t> {
    text: &'t [u8],
    found: Vec<Secret>,
    ends: Ends,
    /// Names, command lines, documents and cookies before these offsets have been looked at.
    names: usize,
    lines: usize,
    documents: usize,
    cookies: usize,
    /// Blocks are not looked into.
    block: usize,
}

impl Search<'_> {
    fn apply(&mut self, rule: Rule, at: usize) {
        let text = self.text;
        if at < self.block {
            return;
        }
        let one = match rule {
            Rule::Format(n) => {
                FORMATS.get(n).and_then(|f| f.find(text, at)).map(|(end, kind)| (at, end, kind))
            }
            Rule::Shape(find) => find(text, at),
            Rule::SlackWebhook => shaped::slack_webhook(text, at, 16),
            Rule::DiscordWebhook => shaped::discord_webhook(text, at, 14),
            Rule::Authorization if web::header_edge(text, at) => web::authorization(text, at + 13),
            Rule::Bearer if web::header_edge(text, at) => web::bearer(text, at + 7),
            Rule::Assignment if at >= self.names => {
                self.names = assign::name_end(text, at);
                assign::assignment(text, at, self.names)
            }
            Rule::Block => {
                let block = blocks::private_key(text, at, &mut self.ends);
                self.block = block.map_or(self.block, |b| b.1);
                block
            }
            Rule::Program(n) if at >= self.lines => {
                let found = &mut self.found;
                self.lines =
                    flags::flags(text, at, n, |start, end, kind| found.push(Secret { start, end, kind }));
                None
            }
            Rule::Cookie
                if at >= self.cookies
                    && web::header_edge(text, at)
                    && !is_word(*text.get(at + 6).unwrap_or(&b' ')) =>
            {
                let found = &mut self.found;
                let push = |start, end, kind| found.push(Secret { start, end, kind });
                self.cookies = web::cookies(text, at, at + 6, push);
                None
            }
            Rule::Kubernetes if part(text, at, at + 4) == b"kind" => {
                let found = &mut self.found;
                let done = self.documents;
                let push = |start, end, kind| found.push(Secret { start, end, kind });
                self.documents = kube::secret(text, at, done, push);
                None
            }
            _ => None,
        };
        if let Some((start, end, kind)) = one {
            self.found.push(Secret { start, end, kind });
        }
    }
}

/// Joins what overlaps; of two kinds the more specific one stays.
fn merge(mut found: Vec<Secret>) -> Vec<Secret> {
    found.sort_by_key(|s| (s.start, s.end));
    let mut merged: Vec<Secret> = Vec::with_capacity(found.len());
    for secret in found.into_iter().filter(|s| s.start < s.end) {
        match merged.last_mut() {
            Some(last) if secret.start < last.end => {
                last.end = last.end.max(secret.end);
                last.kind = last.kind.max(secret.kind);
            }
            _ => merged.push(secret),
        }
    }
    merged
}
