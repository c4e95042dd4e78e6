//! Tokens that are known by their shape: parts with dots or colons between them.

use super::allow::is_placeholder;
use super::bytes::{Mix, Set, byte, is_word, left_edge, part, run, run_back, varied};
use super::kind::Kind;

/// A range and what it holds.
type Found = Option<(usize, usize, Kind)>;

/// A JSON Web Token around the `.eyJ` or `.ewo` at `at`.
pub(super) fn jwt(text: &[u8], at: usize) -> Found {
    let run_start = run_back(text, at, Set::URL64, 4096);
    // The letters of an escape may stand before the token: `\n`, a colour.
    let json =
        |start: &usize| matches!(part(text, *start, start + 3), b"eyJ" | b"ewo") && left_edge(text, *start);
    let start = (run_start..run_start + 6).find(json)?;
    let payload = run(text, at + 1, Set::URL64, 1 << 16);
    let signature = run(text, payload + 1, Set::URL64, 4096);
    let long = at >= start + 12 && payload - at > 12 && signature > payload + 10;
    (long && byte(text, payload) == b'.').then_some((start, signature, Kind::Jwt))
}

/// A Telegram bot token around the `:AA` at `at`.
pub(super) fn telegram(text: &[u8], at: usize) -> Found {
    let start = run_back(text, at, Set::DIGITS, 12);
    let digits = at - start;
    let end = run(text, at + 1, Set::URL64, 40);
    let fits = (8..=11).contains(&digits) && end - at - 1 == 35;
    let exact = part(text, at, at + 3) == b":AA";
    // A bot's URL has the token after the word `bot`.
    let edge = left_edge(text, start) || part(text, start.saturating_sub(3), start) == b"bot";
    (fits && exact && edge && varied(part(text, at + 1, end), 6)).then_some((start, end, Kind::Telegram))
}

/// A Discord bot token: the bot's number in base64, a time, a signature.
pub(super) fn discord(text: &[u8], at: usize) -> Found {
    let id = run(text, at, Set::URL64, 40);
    let time = run(text, id + 1, Set::URL64, 8);
    let end = run(text, time + 1, Set::URL64, 48);
    let lengths = [id - at, time.saturating_sub(id + 1), end.saturating_sub(time + 1)];
    let fits = (23..=28).contains(&lengths[0]) && lengths[1] == 6 && (27..=38).contains(&lengths[2]);
    let dots = byte(text, id) == b'.' && byte(text, time) == b'.';
    (fits && dots && left_edge(text, at)).then_some((at, end, Kind::Discord))
}

/// A Twilio API key: `SK` and 32 hex digits.
pub(super) fn twilio(text: &[u8], at: usize) -> Found {
    let end = run(text, at + 2, Set::HEX, 33);
    let exact = part(text, at, at + 2) == b"SK" && end - at == 34 && !is_word(byte(text, end));
    let body = part(text, at + 2, end);
    (exact && left_edge(text, at) && Mix::of(body).mixed() && varied(body, 6)).then_some((
        at,
        end,
        Kind::Twilio,
    ))
}

/// A `SendGrid` key: `SG.`, 22 letters, a dot, 43 letters.
pub(super) fn sendgrid(text: &[u8], at: usize) -> Found {
    let middle = run(text, at + 3, Set::URL64, 30);
    let end = run(text, middle + 1, Set::URL64, 60);
    let exact = part(text, at, at + 3) == b"SG." && byte(text, middle) == b'.';
    let fits = (16..=24).contains(&(middle - at - 3)) && (39..=50).contains(&end.saturating_sub(middle + 1));
    (exact && fits && left_edge(text, at)).then_some((at, end, Kind::SendGrid))
}

/// A Terraform Cloud token around `.atlasv1.`.
pub(super) fn terraform(text: &[u8], at: usize) -> Found {
    let start = run_back(text, at, Set::ALNUM, 14);
    let end = run(text, at + 9, Set::URL64_EQ, 80);
    let fits = at - start == 14 && (60..=72).contains(&(end - at - 9)) && left_edge(text, start);
    fits.then_some((start, end, Kind::Terraform))
}

/// A New Relic licence key, which ends with the `NRAL` at `at`.
pub(super) fn newrelic(text: &[u8], at: usize) -> Found {
    let start = run_back(text, at, Set::HEX, 36);
    let fits = part(text, at, at + 4) == b"NRAL" && at - start == 36 && !is_word(byte(text, at + 4));
    (fits && left_edge(text, start) && varied(part(text, start, at), 6)).then_some((
        start,
        at + 4,
        Kind::NewRelic,
    ))
}

/// An Azure application secret: three letters, the `8Q~` at `at`, 31 to 34 letters.
pub(super) fn azure(text: &[u8], at: usize) -> Found {
    let start = run_back(text, at, Set::AZURE, 3);
    let end = run(text, at + 3, Set::AZURE, 36);
    let exact = part(text, at + 1, at + 3) == b"Q~" && at - start == 3 && (31..=34).contains(&(end - at - 3));
    let edge = left_edge(text, start);
    (exact && edge && varied(part(text, at + 3, end), 6)).then_some((start, end, Kind::Azure))
}

/// The secret end of a webhook's address: what follows `hooks.slack.com/` at `at`.
pub(super) fn slack_webhook(text: &[u8], at: usize, anchor: usize) -> Found {
    let start = at + anchor;
    let end = run(text, start, Set::URL64, 16);
    let named = matches!(part(text, start, end), b"services" | b"workflows" | b"triggers");
    let mut tail = end;
    while byte(text, tail) == b'/' && tail - end < 200 {
        tail = run(text, tail + 1, Set::URL64, 80);
    }
    let body = part(text, end + 1, tail);
    let fits = body.len() >= 30 && body.contains(&b'/') && !is_placeholder(body);
    (named && fits && Mix::of(body).mixed()).then_some((end + 1, tail, Kind::SlackWebhook))
}

/// The secret end of a webhook's address: the token behind `/api/webhooks/<number>/`.
pub(super) fn discord_webhook(text: &[u8], at: usize, anchor: usize) -> Found {
    let slash = run(text, at + anchor, Set::HEX, 24);
    let end = run(text, slash + 1, Set::URL64, 100);
    let fits = slash - at - anchor >= 16 && byte(text, slash) == b'/' && end.saturating_sub(slash + 1) >= 60;
    fits.then_some((slash + 1, end, Kind::Discord))
}
