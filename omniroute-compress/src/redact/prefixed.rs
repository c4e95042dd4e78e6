//! Tokens that say by their first letters whose they are.

use super::allow::is_placeholder;
use super::bytes::{Mix, Set, is_slug, left_edge, part, run, varied};
use super::kind::Kind;

/// One format: a prefix, then between `min` and `max` bytes of a set and none more.
#[derive(Debug)]
pub(super) struct Prefixed {
    pub(super) prefix: &'static str,
    kind: Kind,
    set: Set,
    min: usize,
    max: usize,
}

macro_rules! formats {
    ($($prefix:literal $kind:ident $set:ident $min:literal..$max:literal;)*) => {
        &[$(Prefixed { prefix: $prefix, kind: Kind::$kind, set: Set::$set, min: $min, max: $max },)*]
    };
}

/// All formats. Where one prefix begins another, the longer one must come first.
pub(super) const FORMATS: &[Prefixed] = formats! {
    "sk-ant-" Anthropic URL64 24..256;
    "sk-" OpenAi URL64 20..256;
    "AIza" GoogleApiKey URL64 35..35;
    "ya29." GoogleOauth URL64 20..1024;
    "GOCSPX-" GoogleOauth URL64 28..28;
    "AKIA" AwsAccessKey UPPER36 16..16;
    "ASIA" AwsAccessKey UPPER36 16..16;
    "ghp_" GitHub ALNUM 36..251;
    "gho_" GitHub ALNUM 36..251;
    "ghu_" GitHub ALNUM 36..251;
    "ghs_" GitHub ALNUM 36..251;
    "ghr_" GitHub ALNUM 36..251;
    "github_pat_" GitHub WORD 36..251;
    "glpat-" GitLab URL64 20..200;
    "gldt-" GitLab URL64 20..200;
    "glrt-" GitLab URL64 20..200;
    "glptt-" GitLab URL64 20..200;
    "glft-" GitLab URL64 20..200;
    "glcbt-" GitLab URL64 20..200;
    "glsoat-" GitLab URL64 20..200;
    "glimt-" GitLab URL64 20..200;
    "glagent-" GitLab URL64 20..200;
    "gloas-" GitLab URL64 20..200;
    "glffct-" GitLab URL64 20..200;
    "ATBB" Bitbucket ALNUM 28..40;
    "ATCTT3" Bitbucket URL64_EQ 60..400;
    "xoxb-" Slack URL64 20..300;
    "xoxp-" Slack URL64 20..300;
    "xoxa-" Slack URL64 20..300;
    "xoxr-" Slack URL64 20..300;
    "xoxs-" Slack URL64 20..300;
    "xoxc-" Slack URL64 20..300;
    "xoxe-" Slack URL64 20..300;
    "xoxd-" Slack BEARER 20..400;
    "xapp-" Slack URL64 20..300;
    "sk_live_" Stripe ALNUM 16..247;
    "rk_live_" Stripe ALNUM 16..247;
    "sk_test_" Stripe ALNUM 16..247;
    "rk_test_" Stripe ALNUM 16..247;
    "whsec_" Stripe BASE64 24..128;
    "npm_" Npm ALNUM 36..36;
    "pypi-Ag" PyPi URL64 50..1000;
    "rubygems_" RubyGems HEX 48..48;
    "cio" Crates ALNUM 32..32;
    "oy2" NuGet LOWER36 43..43;
    "dckr_pat_" DockerHub URL64 24..64;
    "dckr_oat_" DockerHub URL64 24..64;
    "hf_" HuggingFace ALNUM 34..40;
    "api_org_" HuggingFace ALNUM 34..40;
    "dapi" Databricks HEX 32..32;
    "NRAK-" NewRelic UPPER36 27..27;
    "NRII-" NewRelic URL64 32..32;
    "NRJS-" NewRelic HEX 19..19;
    "NRRA-" NewRelic HEX 42..42;
    "sntrys_" Sentry BEARER 40..512;
    "sntryu_" Sentry HEX 64..64;
    "glsa_" Grafana WORD 41..41;
    "glc_" Grafana BASE64 32..400;
    "hvs." Vault URL64 24..400;
    "hvb." Vault URL64 24..800;
    "hvr." Vault URL64 24..800;
    "dop_v1_" DigitalOcean HEX 64..64;
    "doo_v1_" DigitalOcean HEX 64..64;
    "dor_v1_" DigitalOcean HEX 64..64;
    "fo1_" Fly URL64 43..43;
    "fm1a_" Fly BASE64 40..4000;
    "fm1r_" Fly BASE64 40..4000;
    "fm2_" Fly BASE64 40..4000;
    "HRKU-" Heroku URL64 36..64;
    "nfp_" Netlify ALNUM 36..40;
    "nfc_" Netlify ALNUM 36..40;
    "nfo_" Netlify ALNUM 36..40;
    "nfu_" Netlify ALNUM 36..40;
    "sbp_" Supabase HEX 40..40;
    "sb_secret_" Supabase URL64 20..80;
    "shpat_" Shopify HEX_ANY 32..32;
    "shpca_" Shopify HEX_ANY 32..32;
    "shppa_" Shopify HEX_ANY 32..32;
    "shpss_" Shopify HEX_ANY 32..32;
    "lin_api_" Linear ALNUM 40..40;
    "lin_oauth_" Linear HEX 64..64;
    "ntn_" Notion ALNUM 40..50;
    "secret_" Notion ALNUM 43..43;
    "ATATT3" Atlassian URL64_EQ 60..400;
    "ATSTT3" Atlassian URL64_EQ 60..400;
    "PMAK-" Postman URL64 59..59;
    "pul-" Pulumi HEX 40..40;
    "AGE-SECRET-KEY-1" AgeKey UPPER36 58..58;
    "key-" Mailgun HEX 32..32;
};

impl Prefixed {
    /// The token whose prefix stands at `at`: its end and kind.
    pub(super) fn find(&self, text: &[u8], at: usize) -> Option<(usize, Kind)> {
        let body_at = at + self.prefix.len();
        if part(text, at, body_at) != self.prefix.as_bytes() || !left_edge(text, at) {
            return None;
        }
        let end = run(text, body_at, self.set, self.max + 1);
        // A full stop or a hyphen at the end belongs to the sentence, and so does padding that is none.
        let body = part(text, body_at, end);
        let tail = body.iter().rev().take_while(|b| matches!(b, b'.' | b':' | b'~')).count();
        let end = end - tail;
        let body = part(text, body_at, end);
        let fits = (self.min..=self.max).contains(&body.len());
        // A length that must be met says enough, except behind three letters that begin words.
        let telling = self.min == self.max && self.prefix.len() > 3 && varied(body, 5);
        (fits && (telling || looks_random(body)) && !is_placeholder(body)).then_some((end, self.kind))
    }
}

/// Varied, of two classes of letters at least, and not words with hyphens.
fn looks_random(body: &[u8]) -> bool {
    varied(body, 5) && Mix::of(body).classes() >= 2 && !is_slug(body)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_longer_prefix_comes_first() {
        for (at, format) in FORMATS.iter().enumerate() {
            for later in FORMATS.iter().skip(at + 1) {
                assert!(!later.prefix.starts_with(format.prefix), "{} hides {}", format.prefix, later.prefix);
            }
            assert!(format.prefix.len() >= 3 && format.min <= format.max);
        }
    }
}
