//! Credentials: the values of a definition's `auth`, from variables and commands, as one header.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use lapidary_gemini::agents::{HttpCredentials, RemoteAuth};
use lapidary_process::{Command, CommandEnd, Exit, ShortCommand};
use tokio_util::sync::CancellationToken;

use super::RemoteError;

/// How long a command may take to print a value.
const COMMAND_TIMEOUT: Duration = Duration::from_mins(1);
/// How many bytes it may print.
const COMMAND_OUTPUT: usize = 64 * 1024;
/// The header of an API key, unless the definition names one.
const API_KEY_HEADER: &str = "X-API-Key";
/// Shorter values are not looked for in texts: they would hide ordinary words.
const SHORTEST_SECRET: usize = 6;

/// The variables that a definition's `auth` reads. They are for the agent's server, not for commands that agents run.
pub fn credential_variables(auth: &RemoteAuth) -> Vec<&str> {
    let values: Vec<&String> = match auth {
        RemoteAuth::ApiKey { key, .. } => vec![key],
        RemoteAuth::Http(HttpCredentials::Bearer { token }) => vec![token],
        RemoteAuth::Http(HttpCredentials::Basic { username, password }) => vec![username, password],
        RemoteAuth::Http(HttpCredentials::Raw { value, .. }) => vec![value],
        RemoteAuth::GoogleCredentials { .. } | RemoteAuth::OAuth2(_) => Vec::new(),
    };
    let names = values.into_iter().filter_map(|value| variable_name(value));
    names.collect()
}

/// The variable that a value stands for, if it does.
fn variable_name(written: &str) -> Option<&str> {
    let name = written.strip_prefix('$')?;
    Some(name).filter(|name| !name.starts_with('$'))
}

/// The variables and the directory for the values of `auth`.
#[derive(Clone, Default)]
pub struct CredentialSource {
    /// The variables that `$NAME` reads, and that commands see.
    pub variables: BTreeMap<OsString, OsString>,
    /// The directory that commands run in.
    pub directory: PathBuf,
}

impl fmt::Debug for CredentialSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CredentialSource").finish_non_exhaustive()
    }
}

/// A header with credentials.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct CredentialHeader {
    pub(super) name: String,
    pub(super) value: String,
    /// The values in it, which no text of ours may repeat.
    secrets: Vec<String>,
}

impl fmt::Debug for CredentialHeader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CredentialHeader({})", self.name)
    }
}

impl CredentialHeader {
    /// A text without the credentials: a server that repeats them must not bring them into a recording.
    pub(super) fn redact_credentials(&self, text: String) -> String {
        let secrets = self.secrets.iter();
        let long = secrets.filter(|secret| secret.len() >= SHORTEST_SECRET);
        long.fold(text, |text, secret| {
            if text.contains(secret.as_str()) {
                text.replace(secret.as_str(), "[redacted]")
            } else {
                text
            }
        })
    }
}

impl CredentialSource {
    /// The header for a definition's `auth`.
    pub(super) async fn credential_header(
        &self,
        auth: &RemoteAuth,
    ) -> Result<CredentialHeader, RemoteError> {
        match auth {
            RemoteAuth::ApiKey { key, header } => {
                let key = self.resolve_value(key).await?;
                Ok(CredentialHeader {
                    name: header.clone().unwrap_or_else(|| API_KEY_HEADER.to_owned()),
                    value: key.clone(),
                    secrets: vec![key],
                })
            }
            RemoteAuth::Http(credentials) => self.authorization_header(credentials).await,
            RemoteAuth::GoogleCredentials { .. } | RemoteAuth::OAuth2(_) => {
                Err(RemoteError::UnsupportedAuth {
                    kind: auth.type_name(),
                })
            }
        }
    }

    async fn authorization_header(
        &self,
        credentials: &HttpCredentials,
    ) -> Result<CredentialHeader, RemoteError> {
        let (value, secrets) = match credentials {
            HttpCredentials::Bearer { token } => {
                let token = self.resolve_value(token).await?;
                (format!("Bearer {token}"), vec![token])
            }
            HttpCredentials::Basic { username, password } => {
                let username = self.resolve_value(username).await?;
                let password = self.resolve_value(password).await?;
                let encoded = STANDARD.encode(format!("{username}:{password}"));
                (format!("Basic {encoded}"), vec![encoded, password])
            }
            HttpCredentials::Raw { scheme, value } => {
                let value = self.resolve_value(value).await?;
                (format!("{scheme} {value}"), vec![value])
            }
        };
        Ok(CredentialHeader {
            name: "Authorization".to_owned(),
            value,
            secrets,
        })
    }

    /// A value as it is written: `$NAME` is a variable, `!command` the output of a command, `$$` and `!!` stand for one sign.
    async fn resolve_value(&self, written: &str) -> Result<String, RemoteError> {
        if written.starts_with("$$") || written.starts_with("!!") {
            return Ok(written[1..].to_owned());
        }
        if let Some(name) = variable_name(written) {
            let value = self.variables.get(OsStr::new(name));
            let value = value.and_then(|value| value.to_str());
            let value = value.filter(|value| !value.is_empty());
            return value
                .map(str::to_owned)
                .ok_or_else(|| RemoteError::MissingVariable {
                    name: name.to_owned(),
                });
        }
        match written.strip_prefix('!') {
            Some(command) => self.command_output(command.trim()).await,
            None => Ok(written.to_owned()),
        }
    }

    /// The trimmed output of a command.
    async fn command_output(&self, command_line: &str) -> Result<String, RemoteError> {
        let failed = |reason: String| RemoteError::AuthCommand { reason };
        if command_line.is_empty() {
            return Err(failed("there is no command behind `!`".to_owned()));
        }
        let mut command = Command::new("bash", &self.directory);
        command.args(["-c", command_line]).envs(&self.variables);
        let command = ShortCommand {
            command,
            input: Arc::from([]),
            timeout: COMMAND_TIMEOUT,
            most_output: COMMAND_OUTPUT,
            most_stderr: 0,
        };
        // Dropping the future kills the command: it needs no token of its own.
        let finished = command.run(&CancellationToken::new()).await;
        let finished = finished.map_err(|error| failed(error.to_string()))?;
        if finished.end == CommandEnd::TimedOut {
            let seconds = COMMAND_TIMEOUT.as_secs();
            return Err(failed(format!("it takes longer than {seconds} s")));
        }
        if finished.exit != Some(Exit::Code(0)) {
            return Err(failed("it does not end with 0".to_owned()));
        }
        let output = finished.stdout.text().trim().to_owned();
        if output.is_empty() {
            return Err(failed("it prints nothing".to_owned()));
        }
        Ok(output)
    }
}
