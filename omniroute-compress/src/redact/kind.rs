//! The kinds of secrets that are known, and their names in the replacement text.

macro_rules! kinds {
    ($($(#[$doc:meta])* $variant:ident = $name:literal,)*) => {
        /// What a redacted secret was. The name stands in the text: `[REDACTED:<name>]`.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum Kind {
            $($(#[$doc])* $variant,)*
        }

        impl Kind {
            /// All kinds, from the most general to the most specific: where two claim the same text, the later wins.
            pub const ALL: &'static [Kind] = &[$(Kind::$variant,)*];

            /// The name in the replacement text, lower case.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Kind::$variant => $name,)*
                }
            }

            pub(crate) const fn marker(self) -> &'static str {
                match self {
                    $(Kind::$variant => concat!("[REDACTED:", $name, "]"),)*
                }
            }
        }
    };
}

kinds! {
    /// A value whose name says that it is secret.
    Secret = "secret",
    /// A value that is named a key.
    ApiKey = "api-key",
    /// A value that is named a token.
    Token = "token",
    /// A value that is named a password.
    Password = "password",
    /// A password on a command line.
    CliPassword = "cli-password",
    /// A secret parameter of a URL.
    UrlSecret = "url-secret",
    /// The password in front of a URL's host.
    UrlPassword = "url-password",
    /// A password in `.netrc`.
    Netrc = "netrc",
    /// A credential in `.npmrc` that is no npm token.
    Npmrc = "npmrc",
    /// A value in the data of a Kubernetes Secret.
    KubernetesSecret = "kubernetes-secret",
    /// The value of a cookie.
    Cookie = "cookie",
    /// Credentials of an `Authorization` header.
    Authorization = "authorization",
    /// Three base64url parts of a JSON Web Token.
    Jwt = "jwt",
    /// AWS access key id.
    AwsAccessKey = "aws-access-key",
    /// AWS secret access key or session token, known by its field.
    AwsSecretKey = "aws-secret-key",
    /// Azure storage, service bus or application secret.
    Azure = "azure",
    /// Datadog.
    Datadog = "datadog",
    /// Twilio.
    Twilio = "twilio",
    /// Mailgun.
    Mailgun = "mailgun",
    /// Okta.
    Okta = "okta",
    /// `PagerDuty`.
    PagerDuty = "pagerduty",
    /// The secret of a Sentry DSN, or a Sentry token.
    Sentry = "sentry",
    /// A key in the style of `OpenAI`.
    OpenAi = "openai",
    /// Anthropic.
    Anthropic = "anthropic",
    /// Google API key.
    GoogleApiKey = "google-api-key",
    /// Google OAuth token or client secret.
    GoogleOauth = "google-oauth",
    /// GitHub.
    GitHub = "github",
    /// GitLab.
    GitLab = "gitlab",
    /// Bitbucket.
    Bitbucket = "bitbucket",
    /// Slack token.
    Slack = "slack",
    /// Slack webhook.
    SlackWebhook = "slack-webhook",
    /// Discord bot token or webhook.
    Discord = "discord",
    /// Telegram bot token.
    Telegram = "telegram",
    /// Stripe.
    Stripe = "stripe",
    /// `SendGrid`.
    SendGrid = "sendgrid",
    /// npm.
    Npm = "npm",
    /// `PyPI`.
    PyPi = "pypi",
    /// `RubyGems`.
    RubyGems = "rubygems",
    /// crates.io.
    Crates = "crates",
    /// `NuGet`.
    NuGet = "nuget",
    /// Docker Hub.
    DockerHub = "docker-hub",
    /// Hugging Face.
    HuggingFace = "huggingface",
    /// Databricks.
    Databricks = "databricks",
    /// New Relic.
    NewRelic = "newrelic",
    /// Grafana.
    Grafana = "grafana",
    /// `HashiCorp` Vault.
    Vault = "vault",
    /// Terraform Cloud.
    Terraform = "terraform",
    /// `DigitalOcean`.
    DigitalOcean = "digitalocean",
    /// Fly.io.
    Fly = "fly",
    /// Heroku.
    Heroku = "heroku",
    /// Netlify.
    Netlify = "netlify",
    /// Supabase.
    Supabase = "supabase",
    /// Shopify.
    Shopify = "shopify",
    /// Linear.
    Linear = "linear",
    /// Notion.
    Notion = "notion",
    /// Atlassian.
    Atlassian = "atlassian",
    /// Postman.
    Postman = "postman",
    /// Pulumi.
    Pulumi = "pulumi",
    /// age identity.
    AgeKey = "age-key",
    /// A PEM, SSH or PGP private key, the whole block.
    PrivateKey = "private-key",
}
