//! The bearer token of a remote agent: read when the connection is opened, and shown nowhere.

use std::ffi::OsString;
use std::fmt;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use lapidary_process::{Command, CommandEnd, Exit, ShortCommand};
use lapidary_rpc::{AgentLoss, AgentLossKind};
use tokio_util::sync::CancellationToken;

/// The longest token.
const LONGEST_TOKEN: usize = 16 * 1024;
/// How long a program may take to print a token: a person may have to unlock a key ring.
const COMMAND_TIMEOUT: Duration = Duration::from_mins(1);
/// Stands for a token in texts.
const HIDDEN: &str = "[token]";

/// A text that must not be shown.
#[derive(Clone, PartialEq, Eq)]
pub struct SecretText(String);

/// Where a token comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TokenSource {
    /// The first line of a file.
    File(PathBuf),
    /// The value of a variable.
    Variable {
        /// The name of the variable.
        name: String,
        /// Its value, if it is set.
        value: Option<SecretText>,
    },
    /// The first line that a program prints.
    Command(TokenCommand),
}

/// A program that prints a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenCommand {
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// Where it runs.
    pub directory: PathBuf,
    /// Its environment.
    pub environment: Vec<(OsString, OsString)>,
}

impl SecretText {
    /// A text to hide.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The value of an `Authorization` header.
    pub(super) fn to_bearer(&self) -> String {
        format!("Bearer {}", self.0)
    }

    /// Another text without this one: servers like to repeat a refused token.
    pub(super) fn hide_in(&self, text: &str) -> String {
        text.replace(&self.0, HIDDEN)
    }
}

impl fmt::Debug for SecretText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(HIDDEN)
    }
}

impl TokenSource {
    /// Reads the token.
    pub(super) async fn read_token(&self) -> Result<SecretText, AgentLoss> {
        let text = match self {
            Self::File(path) => read_file(path).await,
            Self::Variable { name, value } => {
                let value = value.as_ref().map(|value| value.0.clone());
                value.ok_or_else(|| format!("the variable `{name}` of the token is not set"))
            }
            Self::Command(command) => command.run().await,
        };
        let text = text.and_then(|text| check_token(&text, self));
        text.map_err(|message| {
            AgentLoss::new(AgentLossKind::Unauthorized, message).hint(
                "check `token_file`, `token_env` or `token_command` of the agent in lapidary.toml",
            )
        })
    }

    fn source_description(&self) -> String {
        match self {
            Self::File(path) => format!("`{}`", path.display()),
            Self::Variable { name, .. } => format!("the variable `{name}`"),
            Self::Command(command) => format!("`{}`", command.program.display()),
        }
    }
}

/// A token that a header can carry.
fn check_token(text: &str, source: &TokenSource) -> Result<SecretText, String> {
    let token = text.lines().next().unwrap_or_default().trim();
    let source = source.source_description();
    if token.is_empty() {
        return Err(format!("there is no token in {source}"));
    }
    if token.len() > LONGEST_TOKEN || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(format!(
            "the text in {source} is not a token: it must be one word of ASCII, of at most {LONGEST_TOKEN} bytes"
        ));
    }
    Ok(SecretText::new(token))
}

/// Files may be slow: they are read on a thread that may block.
async fn read_file(path: &Path) -> Result<String, String> {
    let file = path.to_owned();
    let read = tokio::task::spawn_blocking(move || read_beginning(&file)).await;
    let read = read.unwrap_or_else(|error| Err(io::Error::other(error)));
    let bytes =
        read.map_err(|error| format!("cannot read the token from `{}`: {error}", path.display()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn read_beginning(path: &Path) -> io::Result<Vec<u8>> {
    if !path.metadata()?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let mut bytes = Vec::new();
    let mut file = File::open(path)?.take(2 * LONGEST_TOKEN as u64);
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

impl TokenCommand {
    /// Its standard error is not shown: it may contain the token.
    async fn run(&self) -> Result<String, String> {
        let mut command = Command::new(&self.program, &self.directory);
        command.args(self.args.clone());
        command.envs(self.environment.clone());
        let short = ShortCommand {
            command,
            input: [].into(),
            timeout: COMMAND_TIMEOUT,
            most_output: 2 * LONGEST_TOKEN,
            most_stderr: 0,
        };
        let name = self.program.display();
        let finished = short.run(&CancellationToken::new()).await;
        let finished =
            finished.map_err(|error| format!("cannot run `{name}` for the token: {error}"))?;
        match (finished.end, finished.exit) {
            (CommandEnd::ByItself, Some(Exit::Code(0))) => {
                Ok(String::from_utf8_lossy(&finished.stdout.bytes).into_owned())
            }
            (CommandEnd::ByItself, Some(Exit::Code(code))) => Err(format!(
                "`{name}` printed no token: it ended with exit code {code}"
            )),
            (CommandEnd::TimedOut, _) => Err(format!(
                "`{name}` printed no token within {} s",
                COMMAND_TIMEOUT.as_secs()
            )),
            _ => Err(format!("`{name}` printed no token")),
        }
    }
}
