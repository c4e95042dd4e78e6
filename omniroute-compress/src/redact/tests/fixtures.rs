//! Secrets that were never anybody's, built when the tests run: no scanner finds one in this file.

use super::super::Kind;

/// Kind, and a template: `{A36,100,251}` stands for letters of a set, as many as the shortest, a middling and the
/// longest secret has; one number means that all have the same length. `«` and `»` mark what has to go.
pub(super) const SECRETS: &[(Kind, &str)] = &[
    (Kind::OpenAi, "«sk-{A20,48,120}»"),
    (Kind::OpenAi, "«sk-proj-{U40,100,180}»"),
    (Kind::OpenAi, "«sk-or-v1-{H64}»"),
    (Kind::Anthropic, "«sk-ant-api03-{U40,93,110}»"),
    (Kind::Anthropic, "«sk-ant-oat01-{U80,93,108}»"),
    (Kind::GoogleApiKey, "«AIza{U35}»"),
    (Kind::GoogleOauth, "«ya29.{U30,150,400}»"),
    (Kind::GoogleOauth, "«GOCSPX-{U28}»"),
    (
        Kind::PrivateKey,
        "\"private_key\": \"«-----BEGIN PRIVATE KEY-----\\n{B64}\\n{B64}\\n-----END PRIVATE KEY-----»\\n\"",
    ),
    (
        Kind::Azure,
        "DefaultEndpointsProtocol=https;AccountName=store;AccountKey=«{B86}==»;EndpointSuffix=core.windows.net",
    ),
    (Kind::Azure, "Endpoint=sb://bus/;SharedAccessKeyName=root;SharedAccessKey=«{B43}=»"),
    (Kind::Azure, "?sv=2022-11-02&se=2026-01-01&sig=«{A40}%3D»"),
    (Kind::Azure, "«{A3}8Q~{A31,33,34}»"),
    (Kind::AwsAccessKey, "«AKIA{P16}»"),
    (Kind::AwsAccessKey, "«ASIA{P16}»"),
    (Kind::AwsSecretKey, "aws_secret_access_key = «{A40}»"),
    (Kind::AwsSecretKey, "\"SecretAccessKey\": \"«{A40}»\","),
    (Kind::AwsSecretKey, "AWS_SESSION_TOKEN=«{A80,200,400}»"),
    (Kind::GitHub, "«ghp_{A36,100,251}»"),
    (Kind::GitHub, "«gho_{A36}»"),
    (Kind::GitHub, "«ghu_{A36}»"),
    (Kind::GitHub, "«ghs_{A36}»"),
    (Kind::GitHub, "«ghr_{A36,76,251}»"),
    (Kind::GitHub, "«github_pat_{A22}_{A59}»"),
    (Kind::GitLab, "«glpat-{U20,30,64}»"),
    (Kind::GitLab, "«gldt-{U20}»"),
    (Kind::GitLab, "«glrt-{U20}»"),
    (Kind::Bitbucket, "«ATBB{A32}»"),
    (Kind::Bitbucket, "BITBUCKET_APP_PASSWORD=«{A18,20,24}»"),
    (Kind::Slack, "«xoxb-{D11}-{D12}-{A24}»"),
    (Kind::Slack, "«xoxp-{D11}-{D12}-{D12}-{H32}»"),
    (Kind::Slack, "«xapp-1-{P11}-{D13}-{H64}»"),
    (Kind::SlackWebhook, "https://hooks.slack.com/services/«T{P8,9,10}/B{P8,9,10}/{A24}»"),
    (Kind::Discord, "«MTA4{A20,22,22}.{U6}.{U27,34,38}»"),
    (Kind::Discord, "https://discord.com/api/webhooks/{D18}/«{U68}»"),
    (Kind::Telegram, "«{D8,9,10}:AA{U33}»"),
    (Kind::Telegram, "https://api.telegram.org/bot«{D9}:AA{U33}»/getMe"),
    (Kind::Stripe, "«sk_live_{A24,99,247}»"),
    (Kind::Stripe, "«rk_live_{A24,99,247}»"),
    (Kind::Stripe, "«whsec_{A32}»"),
    (Kind::Twilio, "«SK{H32}»"),
    (Kind::Twilio, "TWILIO_AUTH_TOKEN=«{H32}»"),
    (Kind::SendGrid, "«SG.{U22}.{U43}»"),
    (Kind::Mailgun, "«key-{H32}»"),
    (Kind::Mailgun, "MAILGUN_API_KEY=«{H32}-{H8}-{H8}»"),
    (Kind::Npm, "«npm_{A36}»"),
    (Kind::Npm, "//registry.npmjs.org/:_authToken=«npm_{A36}»"),
    (Kind::Npmrc, "//npm.pkg.local/:_authToken=«{A24,36,60}»"),
    (Kind::Npmrc, "//npm.pkg.local/:_auth=«{B40}»"),
    (Kind::PyPi, "«pypi-AgEIcHlwaS5vcmc{U60,140,200}»"),
    (Kind::Password, "[pypi]\nusername = someone\npassword = «{A6,16,40}7»"),
    (Kind::RubyGems, "«rubygems_{H48}»"),
    (Kind::Crates, "«cio{A32}»"),
    (Kind::NuGet, "«oy2{L43}»"),
    (Kind::DockerHub, "«dckr_pat_{U27}»"),
    (Kind::HuggingFace, "«hf_{A34}»"),
    (Kind::Databricks, "«dapi{H32}»"),
    (Kind::Datadog, "DD_API_KEY=«{H32}»"),
    (Kind::Datadog, "dd-application-key: «{H40}»"),
    (Kind::NewRelic, "«NRAK-{P27}»"),
    (Kind::NewRelic, "«{H36}NRAL»"),
    (Kind::Sentry, "https://{H32}:«{H32}»@o1.ingest.sentry.io/42"),
    (Kind::Sentry, "«sntryu_{H64}»"),
    (Kind::Grafana, "«glsa_{A32}_{H8}»"),
    (Kind::Grafana, "«glc_{B40,120,400}»"),
    (Kind::Vault, "«hvs.{U24,90,120}»"),
    (Kind::Vault, "«hvb.{U138,200,300}»"),
    (Kind::Vault, "VAULT_TOKEN=«s.{A24}»"),
    (Kind::Terraform, "«{A14}.atlasv1.{U60,64,70}»"),
    (Kind::DigitalOcean, "«dop_v1_{H64}»"),
    (Kind::Fly, "FlyV1 «fm2_{B100,300,800}»"),
    (Kind::Fly, "«fo1_{U43}»"),
    (Kind::Heroku, "«HRKU-{H8}-{H4}-{H4}-{H4}-{H12}»"),
    (Kind::Heroku, "HEROKU_API_KEY=«{H8}-{H4}-{H4}-{H4}-{H12}»"),
    (Kind::Netlify, "«nfp_{A36}»"),
    (Kind::Supabase, "«sbp_{H40}»"),
    (Kind::Supabase, "«sb_secret_{U22,31,40}»"),
    (Kind::Shopify, "«shpat_{H32}»"),
    (Kind::Linear, "«lin_api_{A40}»"),
    (Kind::Notion, "«ntn_{A40,46,50}»"),
    (Kind::Notion, "«secret_{A43}»"),
    (Kind::Atlassian, "«ATATT3{U180,186,200}={P8}»"),
    (Kind::Okta, "Authorization: SSWS «00{U40}»"),
    (Kind::Okta, "OKTA_API_TOKEN=«00{U40}»"),
    (Kind::PagerDuty, "PAGERDUTY_TOKEN=«u{U19}»"),
    (Kind::Authorization, "Authorization: Token token=«y_{U18}»"),
    (Kind::Postman, "«PMAK-{H24}-{H34}»"),
    (Kind::Pulumi, "«pul-{H40}»"),
    (Kind::AgeKey, "«AGE-SECRET-KEY-1{P58}»"),
    (
        Kind::PrivateKey,
        "«-----BEGIN OPENSSH PRIVATE KEY-----\n{B70}\n{B70}\n{B12,40,70}\n-----END OPENSSH PRIVATE KEY-----»",
    ),
    (
        Kind::PrivateKey,
        "«-----BEGIN PGP PRIVATE KEY BLOCK-----\n\n{B64}\n{B64}\n=abcd\n-----END PGP PRIVATE KEY BLOCK-----»",
    ),
    (
        Kind::PrivateKey,
        "«-----BEGIN RSA PRIVATE KEY-----\n{B64}\n{B64}\n{B64}\n-----END RSA PRIVATE KEY-----»",
    ),
    (Kind::Jwt, "«eyJ{A17,33,60}.eyJ{A24,120,800}.{U22,43,342}»"),
    (Kind::Authorization, "Authorization: Bearer «{U16,40,400}7a»"),
    (Kind::Authorization, "Authorization: Basic «{A11,31,80}=»"),
    (Kind::Authorization, "Proxy-Authorization: Basic «{A11,31,80}=»"),
    (Kind::Authorization, "-H 'Authorization: token «{A19,40,80}7»'"),
    (Kind::Authorization, "Authorization: Digest username=\"u\", nonce=\"abc\", response=\"«{H32}»\""),
    (Kind::Authorization, "\"headers\": {\"authorization\": \"Bearer «{A20,40,80}7»\"}"),
    (Kind::Cookie, "Set-Cookie: sid=«{A8,32,200}»; Path=/; HttpOnly"),
    (Kind::UrlPassword, "postgres://app:«{A1,12,60}»@db.local:5432/shop"),
    (Kind::UrlPassword, "https://user:«{A8}%2F{A8}»@host/path"),
    (Kind::UrlSecret, "https://h/p?a=1&token=«{A12,40,400}7»&x=2"),
    (Kind::UrlSecret, "https://h/p?X-Amz-Signature=«{H64}»"),
    (Kind::UrlSecret, "https://h/p?key=«{A12,39,80}7»"),
    (Kind::Netrc, "machine git.local login me password «{A6,16,40}»"),
    (Kind::Netrc, "machine git.local\n  login me\n  password «{A6,16,40}»"),
    (
        Kind::KubernetesSecret,
        "apiVersion: v1\nkind: Secret\nmetadata:\n  name: s\ndata:\n  file: «{B8,40,400}»\ntype: Opaque",
    ),
    (
        Kind::KubernetesSecret,
        "apiVersion: v1\ndata:\n  file: «{B8,40,400}»\nkind: Secret\nmetadata:\n  name: s",
    ),
    (Kind::Password, "Server=db;User Id=sa;Password=«{A6,16,60}7»;Encrypt=true"),
    (Kind::CliPassword, "tool --password «{A6,16,60}7» --verbose"),
    (Kind::CliPassword, "mysql -u root -p«{A5,16,40}7» shop"),
    (Kind::CliPassword, "sshpass -p «{A6,16,40}7» ssh host"),
    (Kind::CliPassword, "curl -u admin:«{A5,16,40}7» http://h/"),
    (Kind::Password, "DB_PASSWORD=«{A6,16,200}»"),
    (Kind::Password, "DB_PASSWORD=«letmein»"),
    (Kind::Password, "export PGPASSWORD=«{A6,16,60}7»"),
    (Kind::Password, "  password: «{A6,16,60}7»"),
    (Kind::Password, "\"password\": \"«{A6,16,60}7»\""),
    (Kind::Password, "{\\\"password\\\":\\\"«{A6,16,60}7»\\\"}"),
    (Kind::Password, "<password>«{A6,16,60}7»</password>"),
    (Kind::Password, "self.password = '«{A6,16,60}7»'"),
    (Kind::ApiKey, "api_key: «{A6,16,60}7»"),
    (Kind::ApiKey, "X-Api-Key: «{H32}»"),
    (Kind::Token, "ACCESS_TOKEN=«{A6,16,60}7»"),
    (Kind::Token, "\"token\": \"«{A8,16,60}7»\""),
    (Kind::Secret, "client_secret = \"«{A6,16,60}7»\""),
    (Kind::Secret, "CREDENTIAL=«{A12,24,60}77»"),
];

/// The template with letters filled in: the text, the text as it has to be, and the secret.
#[derive(Debug, Clone)]
pub(super) struct Fixture {
    pub(super) text: String,
    pub(super) clean: String,
    pub(super) secret: String,
}

impl Fixture {
    /// `size` is 0, 1 or 2: shortest, middling, longest.
    pub(super) fn new(kind: Kind, template: &str, size: usize, seed: u64) -> Fixture {
        let mut letters = Letters(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
        let mut filled = String::new();
        let mut rest = template;
        while let Some((head, tail)) = rest.split_once('{') {
            let Some((spec, after)) = tail.split_once('}').filter(|(spec, _)| is_spec(spec)) else {
                filled.push_str(head);
                filled.push('{');
                rest = tail;
                continue;
            };
            filled.push_str(head);
            let lengths: Vec<usize> = spec[1..].split(',').map(|n| n.parse().unwrap()).collect();
            letters.fill(&spec[..1], lengths[size.min(lengths.len() - 1)], &mut filled);
            rest = after;
        }
        filled.push_str(rest);
        let (head, tail) = filled.split_once('«').unwrap();
        let (secret, tail) = tail.split_once('»').unwrap();
        let clean = format!("{head}[REDACTED:{}]{tail}", kind.name());
        Fixture { text: format!("{head}{secret}{tail}"), clean, secret: secret.to_owned() }
    }
}

fn is_spec(spec: &str) -> bool {
    spec.len() > 1 && spec.is_ascii() && spec[1..].bytes().all(|b| b.is_ascii_digit() || b == b',')
}

/// Letters in an order that the seed gives.
struct Letters(u64);

impl Letters {
    fn fill(&mut self, set: &str, count: usize, out: &mut String) {
        let set = match set {
            "A" => "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ",
            "U" => "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_",
            "B" => "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ+/",
            "L" => "0123456789abcdefghijklmnopqrstuvwxyz",
            "P" => "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567",
            "H" => "0123456789abcdef",
            "D" => "123456789",
            _ => panic!("no such set: {set}"),
        };
        for _ in 0..count {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            out.push(char::from(set.as_bytes()[(self.0 >> 33) as usize % set.len()]));
        }
    }
}
