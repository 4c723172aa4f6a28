//! A report of the removed secrets that does not disclose them.

/// The findings of a redactor.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RedactionReport {
    /// Each secret, in the order of their first appearance.
    pub findings: Vec<RedactedSecret>,
}

/// One secret, however often it stands in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RedactedSecret {
    /// Its kind.
    pub kind: SecretKind,
    /// The text in its place.
    pub placeholder: String,
    /// How often it was found.
    pub count: u64,
    /// The numbers of the first messages that it was found in, from 1. None of them if it only stands where the conversation no longer
    /// reads: in a record that was superseded or rewound, or in the header.
    pub messages: Vec<u64>,
    /// So much of it that its owner recognises it and no reader can use it.
    pub sample: String,
}

impl RedactionReport {
    /// True if nothing was found.
    pub fn is_empty(&self) -> bool {
        self.findings.is_empty()
    }

    /// The number of places of all secrets together.
    pub fn count(&self) -> u64 {
        self.findings.iter().map(|finding| finding.count).sum()
    }
}

/// Declares the kinds, in the order in which one wins over another where both begin at once.
macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident = $word:literal),* $(,)?) => {
        /// The kind of a secret.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum SecretKind {
            $($(#[$doc])* $name),*
        }

        impl SecretKind {
            /// The kind as placeholders have it.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$name => $word),*
                }
            }
        }
    };
}

kinds! {
    /// A private key in its armour, PEM or PGP.
    PrivateKey = "private-key",
    /// Of a Google API.
    GoogleApiKey = "google-api-key",
    /// Of Google's sign-in.
    GoogleToken = "google-token",
    /// Of GitHub.
    GithubToken = "github-token",
    /// Of GitLab.
    GitlabToken = "gitlab-token",
    /// Of Anthropic.
    AnthropicKey = "anthropic-key",
    /// Of `OpenAI`, or of an issuer with the same prefix.
    OpenaiKey = "openai-key",
    /// Of another service that marks its tokens.
    ServiceToken = "service-token",
    /// The id of a key of Amazon's.
    AwsAccessKey = "aws-access-key",
    /// The key itself.
    AwsSecretKey = "aws-secret-key",
    /// Of Slack.
    SlackToken = "slack-token",
    /// A JSON Web Token.
    Jwt = "jwt",
    /// Of npm.
    NpmToken = "npm-token",
    /// Of `PyPI`.
    PypiToken = "pypi-token",
    /// Of Hugging Face.
    HuggingFaceToken = "hugging-face-token",
    /// Of Stripe.
    StripeKey = "stripe-key",
    /// Of `SendGrid`.
    SendgridKey = "sendgrid-key",
    /// Of Groq.
    GroqKey = "groq-key",
    /// Of the program `age`.
    AgeKey = "age-key",
    /// Of a bot or a webhook of Discord's.
    DiscordToken = "discord-token",
    /// Of a bot of Telegram's.
    TelegramToken = "telegram-token",
    /// The value of an `Authorization` header.
    BearerToken = "bearer-token",
    /// The password in a URL.
    UrlPassword = "url-password",
    /// A value whose name says password.
    Password = "password",
    /// A value whose name says secret, token or key.
    Secret = "secret",
    /// A home directory, which becomes `~`.
    HomePath = "home-path",
}

/// A secret, masked. The shorter it is, the less of it can be shown.
pub(super) fn masked_secret(kind: SecretKind, secret: &[u8]) -> String {
    let text = String::from_utf8_lossy(secret);
    let chars: Vec<char> = text.chars().filter(|char| !char.is_control()).collect();
    let (head, tail) = match (kind, chars.len()) {
        (SecretKind::PrivateKey, _) => return "-----BEGIN…".to_owned(),
        (SecretKind::HomePath, _) => return home_masked(&text),
        (_, 20..) => (4, 2),
        (_, 8..) => (1, 0),
        _ => (0, 0),
    };
    let head: String = chars[..head].iter().collect();
    let tail: String = chars[chars.len() - tail..].iter().collect();
    format!("{head}…{tail}")
}

/// The directory that homes are in; of the name, its first letter.
fn home_masked(path: &str) -> String {
    let name = path.rfind(['/', '\\']).map_or(0, |at| at + 1);
    let first: String = path[name..].chars().take(1).collect();
    format!("{}{first}…", &path[..name])
}
