//! How much a name says about its value: `db_password` much, `cache_key` nothing.

use super::bytes::holds;
use super::kind::Kind;

/// How sure a name makes that its value is secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Strength {
    /// `key` or `private` by themselves: the value alone must convince.
    Weak,
    /// A token of some kind, credentials.
    Medium,
    /// A password, a secret, a key for access.
    Strong,
}

/// Words before `key` that make it a secret one.
const SECRET_KEYS: &str = "\
    api access secret private encryption auth account signing master license licence application \
    consumer client shared service subscription deploy apikey encrypt crypto hmac jwt app admin storage \
    webhook stripe openai anthropic integration django flask rest";

/// Words before `key` that make it no secret.
const PLAIN_KEYS: &str = "\
    public primary foreign sort partition cache row object map index unique composite hot short sig pub \
    session group lookup hash range route idempotency translation host registry";

/// Words before `token` that make it no secret.
const PLAIN_TOKENS: &str = "\
    next page continuation max min prompt completion total input output unexpected cached reasoning \
    special pad eos bos resume client lex";

/// Last words that make the whole a description of a secret, not the secret.
const DESCRIPTIONS: &str = "\
    id ids name names type types count counts file files path paths dir length len size url uri endpoint \
    ref refs field limit usage expiry expires expire expiration ttl policy version alias format \
    algorithm alg label hint prompt index idx pos position column class manager provider store ring \
    rotation status state generator error errors message min max per tokens keys at map list set table \
    scheme schema kind env var source hash fingerprint digest algo date time age budget used required \
    enabled mode lifetime validity strategy rules budgets words word arn issuer flag flags mask control \
    options config scope scopes response request info attempts spec template";

/// Vendors whose secrets have no shape of their own.
const VENDORS: [(&str, Kind); 16] = [
    ("aws_secret", Kind::AwsSecretKey),
    ("awssecret", Kind::AwsSecretKey),
    ("secretaccesskey", Kind::AwsSecretKey),
    ("secret_access_key", Kind::AwsSecretKey),
    ("aws_session", Kind::AwsSecretKey),
    ("accountkey", Kind::Azure),
    ("sharedaccesskey", Kind::Azure),
    ("azure", Kind::Azure),
    ("datadog", Kind::Datadog),
    ("dd_a", Kind::Datadog),
    ("dd-a", Kind::Datadog),
    ("twilio", Kind::Twilio),
    ("mailgun", Kind::Mailgun),
    ("okta", Kind::Okta),
    ("pagerduty", Kind::PagerDuty),
    ("heroku", Kind::Heroku),
];

/// Vendors as above whose secrets mostly have a shape.
const MORE_VENDORS: [(&str, Kind); 8] = [
    ("bitbucket", Kind::Bitbucket),
    ("newrelic", Kind::NewRelic),
    ("new_relic", Kind::NewRelic),
    ("vault_token", Kind::Vault),
    ("vault-token", Kind::Vault),
    ("sentry", Kind::Sentry),
    ("discord", Kind::Discord),
    ("_authtoken", Kind::Npmrc),
];

/// What a name says: the kind of its value and how sure that is; `None` if it names no secret.
pub(super) fn judge(name: &[u8]) -> Option<(Kind, Strength)> {
    if name == b"_auth" {
        return Some((Kind::Npmrc, Strength::Strong));
    }
    let mut words = Words::of(name);
    while words
        .last()
        .is_some_and(|w| matches!(w, b"value" | b"base64" | b"b64" | b"base" | b"plain" | b"text" | b"0"))
    {
        words.pop();
    }
    let (last, before) = (words.last()?, words.before_last());
    if has(DESCRIPTIONS, last) {
        return None;
    }
    let (kind, strength) = match last {
        b"key" => match before {
            Some(word) if has(PLAIN_KEYS, word) => return None,
            Some(word) if has(SECRET_KEYS, word) => (Kind::ApiKey, Strength::Strong),
            _ if words.any(SECRET_KEYS) && !words.any(PLAIN_KEYS) => (Kind::ApiKey, Strength::Medium),
            _ => (Kind::ApiKey, Strength::Weak),
        },
        b"apikey" | b"secretkey" | b"accesskey" | b"privatekey" | b"accountkey" => {
            (Kind::ApiKey, Strength::Strong)
        }
        b"token" | b"accesstoken" | b"authtoken" | b"apitoken" => match before {
            Some(word) if has(PLAIN_TOKENS, word) => return None,
            Some(_) => (Kind::Token, Strength::Strong),
            None if last != b"token" => (Kind::Token, Strength::Strong),
            None => (Kind::Token, Strength::Medium),
        },
        b"secret" | b"clientsecret" => (Kind::Secret, Strength::Strong),
        b"password" | b"passwd" | b"pwd" | b"passphrase" => (Kind::Password, Strength::Strong),
        b"credential" | b"credentials" | b"private" => (Kind::Secret, Strength::Weak),
        // A name such as `API_KEY_PROD` or `dbpassword`.
        _ if holds(last, b"passw") || last.ends_with(b"pwd") || last.ends_with(b"secret") => {
            (Kind::Password, Strength::Medium)
        }
        _ if words.any("password passwd secret passphrase") => (Kind::Secret, Strength::Medium),
        _ if words.any("key token apikey") && words.any(SECRET_KEYS) => (Kind::ApiKey, Strength::Medium),
        _ if last.ends_with(b"token") || last.ends_with(b"apikey") => (Kind::Token, Strength::Weak),
        _ => return None,
    };
    Some((vendor(name).unwrap_or(kind), strength))
}

fn vendor(name: &[u8]) -> Option<Kind> {
    let known = VENDORS.iter().chain(&MORE_VENDORS);
    known.filter(|(part, _)| holds(name, part.as_bytes())).map(|(_, kind)| *kind).next()
}

/// Whether `word` is in a list of words with blanks between them.
fn has(list: &str, word: &[u8]) -> bool {
    list.split_ascii_whitespace().any(|w| w.as_bytes() == word)
}

/// The words of a name in lower case: at `_`, `-`, `.` and where a capital follows a small letter.
struct Words {
    letters: [u8; 96],
    ends: [u8; 24],
    count: usize,
}

impl Words {
    fn of(name: &[u8]) -> Words {
        let mut words = Words { letters: [0; 96], ends: [0; 24], count: 0 };
        let (mut used, mut start, mut small) = (0usize, 0usize, false);
        for byte in name.iter().take(96) {
            let cut = !byte.is_ascii_alphabetic() || (small && byte.is_ascii_uppercase());
            if cut && used > start {
                words.close(used);
                start = used;
            }
            small = byte.is_ascii_lowercase();
            if let Some(slot) = words.letters.get_mut(used).filter(|_| byte.is_ascii_alphabetic()) {
                *slot = byte.to_ascii_lowercase();
                used += 1;
            }
        }
        if used > start {
            words.close(used);
        }
        words
    }

    fn close(&mut self, end: usize) {
        if let Some(slot) = self.ends.get_mut(self.count) {
            *slot = end as u8;
            self.count += 1;
        }
    }

    fn get(&self, index: usize) -> Option<&[u8]> {
        let end = *self.ends.get(index).filter(|_| index < self.count)?;
        let start = index.checked_sub(1).and_then(|i| self.ends.get(i)).copied().unwrap_or(0);
        self.letters.get(usize::from(start)..usize::from(end))
    }

    fn last(&self) -> Option<&[u8]> {
        self.get(self.count.checked_sub(1)?)
    }

    fn before_last(&self) -> Option<&[u8]> {
        self.get(self.count.checked_sub(2)?)
    }

    fn pop(&mut self) {
        self.count = self.count.saturating_sub(1);
    }

    fn any(&self, list: &str) -> bool {
        (0..self.count).filter_map(|i| self.get(i)).any(|word| has(list, word))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn judges_names() {
        use Strength::{Medium, Strong, Weak};
        for (name, expected) in [
            ("password", Some(Strong)),
            ("DB_PASSWORD", Some(Strong)),
            ("dbPassword", Some(Strong)),
            ("dbpassword", Some(Medium)),
            ("spring.datasource.password", Some(Strong)),
            ("client_secret", Some(Strong)),
            ("SECRET_KEY_BASE", Some(Strong)),
            ("API_KEY_PROD", Some(Medium)),
            ("AccountKey", Some(Strong)),
            ("x-api-key", Some(Strong)),
            ("token", Some(Medium)),
            ("GITHUB_TOKEN", Some(Strong)),
            ("key", Some(Weak)),
            ("private", Some(Weak)),
            ("credential", Some(Weak)),
            ("primary_key", None),
            ("max_tokens", None),
            ("token_type", None),
            ("token_count", None),
            ("next_token", None),
            ("keyword", None),
            ("monkey", None),
            ("secret_name", None),
            ("tokenizer", None),
            ("publicKey", None),
            ("key_id", None),
            ("secretary", None),
        ] {
            assert_eq!(judge(name.as_bytes()).map(|j| j.1), expected, "{name}");
        }
        for (name, kind) in [
            ("aws_secret_access_key", Kind::AwsSecretKey),
            ("SecretAccessKey", Kind::AwsSecretKey),
            ("DD_API_KEY", Kind::Datadog),
            ("//registry.npmjs.org/:_authToken", Kind::Npmrc),
            ("TWILIO_AUTH_TOKEN", Kind::Twilio),
        ] {
            assert_eq!(judge(name.as_bytes()).map(|j| j.0), Some(kind), "{name}");
        }
    }
}
