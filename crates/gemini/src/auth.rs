//! How Gemini CLI would sign in: which method it would choose, and whether its credentials are there. No secret is read.

use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;

use serde_json::Value;

use crate::dotenv;
use crate::paths::{GeminiHome, Vars};
use crate::settings::{Settings, WorkspaceTrust};

const SELECTED: [&str; 3] = ["security", "auth", "selectedType"];

/// How it would sign in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SignInMethod {
    /// This way, and nothing that can be seen from here is missing.
    Ready {
        /// The way, in its own words: `gemini-api-key`, say.
        method: String,
        /// What speaks for it.
        by: AuthEvidence,
    },
    /// This method, but its credentials were not found; a keychain may have them.
    Doubtful {
        /// The way.
        method: String,
        /// The missing credentials.
        missing: &'static str,
    },
    /// This method, which does not work without a person at a terminal, or not at all.
    Unusable {
        /// The way.
        method: String,
        /// Why not.
        why: &'static str,
    },
    /// No way at all.
    None,
}

/// What speaks for a way to sign in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AuthEvidence {
    /// Variables, by name.
    Variables(&'static str),
    /// Credentials in a file.
    Credentials,
    /// The machine's own account.
    Machine,
}

impl fmt::Display for AuthEvidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Variables(names) => write!(f, "{names} set"),
            Self::Credentials => f.write_str("signed in: oauth_creds.json exists"),
            Self::Machine => f.write_str("the machine's own account"),
        }
    }
}

impl SignInMethod {
    /// How it would sign in for a workspace.
    pub fn detect(
        workspace: &Path,
        home: &GeminiHome,
        vars: Vars<'_>,
        settings: &Settings,
        counts: WorkspaceTrust,
    ) -> Self {
        let is_trusted = counts == WorkspaceTrust::Counts;
        let search = dotenv::DotenvSearch {
            is_trusted,
            ignores_local: false,
        };
        let file = search.find_file(workspace, home);
        let known = AuthVariables {
            vars,
            from_file: file
                .map(|path| dotenv::variable_names(&path))
                .unwrap_or_default(),
        };
        let selected = settings.get(&SELECTED, counts).and_then(Value::as_str);
        let selected = selected.filter(|method| !method.is_empty());
        match selected.or_else(|| known.chosen_method()) {
            Some(method) => known.judge_method(method, home),
            None => Self::None,
        }
    }
}

/// The variables, those of a `.env` file included.
struct AuthVariables<'a> {
    vars: Vars<'a>,
    from_file: BTreeSet<String>,
}

impl AuthVariables<'_> {
    fn has_variable(&self, name: &str) -> bool {
        self.vars.has_value(name) || self.from_file.contains(name)
    }

    /// The way that variables choose where settings choose none. Values in a `.env` are taken for yes.
    fn chosen_method(&self) -> Option<&'static str> {
        let says_yes = |name| self.vars.is(name, "true") || self.from_file.contains(name);
        if says_yes("GOOGLE_GENAI_USE_GCA") {
            Some("oauth-personal")
        } else if says_yes("GOOGLE_GENAI_USE_VERTEXAI") {
            Some("vertex-ai")
        } else if self.has_variable("GOOGLE_GEMINI_BASE_URL") {
            Some("gateway")
        } else if self.has_variable("GEMINI_API_KEY") {
            Some("gemini-api-key")
        } else if says_yes("CLOUD_SHELL") || says_yes("GEMINI_CLI_USE_COMPUTE_ADC") {
            Some("compute-default-credentials")
        } else {
            None
        }
    }

    fn judge_method(&self, method: &str, home: &GeminiHome) -> SignInMethod {
        let project = ["GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_LOCATION"];
        let evidence = match method {
            "gemini-api-key" if self.has_variable("GEMINI_API_KEY") => {
                Ok(AuthEvidence::Variables("GEMINI_API_KEY is"))
            }
            "gemini-api-key" => Err("GEMINI_API_KEY"),
            "vertex-ai" if project.iter().all(|name| self.has_variable(name)) => Ok(
                AuthEvidence::Variables("GOOGLE_CLOUD_PROJECT and GOOGLE_CLOUD_LOCATION are"),
            ),
            "vertex-ai" if self.has_variable("GOOGLE_API_KEY") => {
                Ok(AuthEvidence::Variables("GOOGLE_API_KEY is"))
            }
            "vertex-ai" => {
                Err("GOOGLE_CLOUD_PROJECT with GOOGLE_CLOUD_LOCATION, or GOOGLE_API_KEY")
            }
            "oauth-personal" if home.oauth_credentials().is_file() => Ok(AuthEvidence::Credentials),
            "oauth-personal" => Err("oauth_creds.json"),
            "compute-default-credentials" => Ok(AuthEvidence::Machine),
            "gateway" => {
                return unusable_method(
                    method,
                    "GOOGLE_GEMINI_BASE_URL is set, and no way to sign in is selected",
                );
            }
            _ => return unusable_method(method, "Gemini CLI does not know it"),
        };
        let method = method.to_owned();
        match evidence {
            Ok(by) => SignInMethod::Ready { method, by },
            // Vertex AI has no other place to look.
            Err(_) if method == "vertex-ai" => unusable_method(
                &method,
                "neither GOOGLE_CLOUD_PROJECT with GOOGLE_CLOUD_LOCATION nor GOOGLE_API_KEY is set",
            ),
            Err(missing) => SignInMethod::Doubtful { method, missing },
        }
    }
}

fn unusable_method(method: &str, why: &'static str) -> SignInMethod {
    SignInMethod::Unusable {
        method: method.to_owned(),
        why,
    }
}
