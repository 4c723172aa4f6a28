//! The environment of a hook: the variables of its caller, without secrets if redaction is on, and the directories of the
//! project.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};

use lapidary_gemini::setup::Setup;
use serde_json::Value;

use super::secrets::is_secret;

/// The variables that hooks and commands do not get, as `security.environmentVariableRedaction` says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct VariableRedaction {
    /// Whether variables are redacted. On GitHub Actions redaction is always on, and only allowed names and names known to be
    /// harmless pass.
    pub enabled: bool,
    /// Names that pass, unless their value is a secret.
    pub allowed: Vec<String>,
    /// Names that do not.
    pub blocked: Vec<String>,
}

impl VariableRedaction {
    /// The redaction of a workspace: none, unless its settings want it.
    pub fn from_setup(setup: &Setup) -> Self {
        let setting = |key| setup.get(&["security", "environmentVariableRedaction", key]);
        let names = |key| {
            let names = setting(key).and_then(Value::as_array).into_iter().flatten();
            names.filter_map(Value::as_str).map(str::to_owned).collect()
        };
        let enabled = setting("enabled").and_then(Value::as_bool);
        Self {
            enabled: enabled.unwrap_or_default(),
            allowed: names("allowed"),
            blocked: names("blocked"),
        }
    }

    /// The variables that pass.
    pub fn apply(&self, variables: &[(OsString, OsString)]) -> Vec<(OsString, OsString)> {
        let is_strict = is_github(variables);
        if !self.enabled && !is_strict {
            return variables.to_vec();
        }
        let capitals = |names: &[String]| names.iter().map(|name| name.to_uppercase()).collect();
        let judge = VariableJudge {
            allowed: capitals(&self.allowed),
            blocked: capitals(&self.blocked),
            is_strict,
        };
        let passes = |(name, value): &&(OsString, OsString)| judge.is_passed_on(name, value);
        variables.iter().filter(passes).cloned().collect()
    }
}

fn is_github(variables: &[(OsString, OsString)]) -> bool {
    let value = |wanted: &str| {
        let found = variables.iter().rev().find(|(name, _)| name == wanted);
        found.map(|(_, value)| value.as_os_str())
    };
    value("GITHUB_SHA").is_some_and(|sha| !sha.is_empty())
        || value("SURFACE").is_some_and(|surface| surface == "Github")
}

struct VariableJudge {
    allowed: HashSet<String>,
    blocked: HashSet<String>,
    is_strict: bool,
}

impl VariableJudge {
    /// The first question that applies decides.
    fn is_passed_on(&self, name: &OsStr, value: &OsStr) -> bool {
        let capitals = |text: &OsStr| text.to_string_lossy().to_uppercase();
        let (name, value) = (capitals(name), capitals(value));
        let is = |names: &[&str]| names.contains(&name.as_str());
        if name.starts_with("GEMINI_CLI_") {
            true
        } else if is_secret(&value) {
            false
        } else if name.starts_with("GIT_CONFIG_") || self.allowed.contains(&name) {
            true
        } else if self.blocked.contains(&name) {
            false
        } else if is(&HARMLESS) {
            true
        } else if is(&TELLING) || self.is_strict {
            false
        } else {
            !SECRET_WORDS.into_iter().any(|word| name.contains(word))
        }
    }
}

const HARMLESS: [&str; 32] = [
    "PATH",
    "SYSTEMROOT",
    "COMSPEC",
    "PATHEXT",
    "WINDIR",
    "TEMP",
    "TMP",
    "USERPROFILE",
    "SYSTEMDRIVE",
    "HOME",
    "LANG",
    "SHELL",
    "TMPDIR",
    "USER",
    "LOGNAME",
    "TERM",
    "COLORTERM",
    "ADDITIONAL_CONTEXT",
    "AVAILABLE_LABELS",
    "BRANCH_NAME",
    "DESCRIPTION",
    "EVENT_NAME",
    "GITHUB_ENV",
    "IS_PULL_REQUEST",
    "ISSUES_TO_TRIAGE",
    "ISSUE_BODY",
    "ISSUE_NUMBER",
    "ISSUE_TITLE",
    "PULL_REQUEST_NUMBER",
    "REPOSITORY",
    "TITLE",
    "TRIGGERING_ACTOR",
];

const TELLING: [&str; 12] = [
    "CLIENT_ID",
    "DB_URI",
    "CONNECTION_STRING",
    "AWS_DEFAULT_REGION",
    "AZURE_CLIENT_ID",
    "AZURE_TENANT_ID",
    "SLACK_WEBHOOK_URL",
    "TWILIO_ACCOUNT_SID",
    "DATABASE_URL",
    "GOOGLE_CLOUD_PROJECT",
    "GOOGLE_CLOUD_ACCOUNT",
    "FIREBASE_PROJECT_ID",
];

const SECRET_WORDS: [&str; 10] = [
    "TOKEN",
    "SECRET",
    "PASSWORD",
    "PASSWD",
    "KEY",
    "AUTH",
    "CREDENTIAL",
    "CREDS",
    "PRIVATE",
    "CERT",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn passing(given: &[(&str, &str)], redaction: &VariableRedaction) -> Vec<String> {
        let own = |(name, value): &(&str, &str)| (OsString::from(name), OsString::from(value));
        let given: Vec<_> = given.iter().map(own).collect();
        let kept = redaction.apply(&given).into_iter();
        kept.map(|(name, _)| name.into_string().unwrap()).collect()
    }

    fn on() -> VariableRedaction {
        VariableRedaction {
            enabled: true,
            ..VariableRedaction::default()
        }
    }

    /// Whether `NAME=value` passes where secrets are kept back.
    fn check(name: &str, value: &str, passes: bool) {
        let passing = passing(&[(name, value)], &on());
        assert_eq!(!passing.is_empty(), passes, "{name}={value}");
    }

    #[test]
    fn all_variables_pass_without_redaction() {
        let given = [("MY_TOKEN", "x"), ("DATABASE_URL", "y")];
        assert_eq!(passing(&given, &VariableRedaction::default()).len(), 2);
    }

    #[test]
    fn the_name_of_a_variable_decides_whether_it_passes() {
        check("PATH", "/bin", true);
        check("path", "/bin", true);
        check("EDITOR", "vi", true);
        check("my_api_key", "x", false);
        check("MONKEYS", "x", false);
        check("AUTHOR", "x", false);
        check("DB_URI", "x", false);
        check(
            "GEMINI_CLI_TOKEN",
            "ghp_0123456789012345678901234567890123456",
            true,
        );
        check("GIT_CONFIG_KEY_0", "x", true);
    }

    #[test]
    fn values_decide_before_most_names() {
        let letters = |count| "a".repeat(count);
        check("X", "-----BEGIN RSA PRIVATE KEY-----", false);
        for kind in ["OPENSSH", "EC", "PGP"] {
            check("X", &format!("-----BEGIN {kind} PRIVATE KEY-----"), false);
        }
        check("X", "-----BEGIN DSA PRIVATE KEY-----", true);
        check("PATH", "-----begin certificate-----", false);
        check("X", "https://user:pw@host", false);
        check("X", "https://user@host:80/", true);
        check("X", "https://host/a:b@c", false);
        check("X", "https://us er:pw@host", true);
        check("X", "ssh://user:pw@host", true);
        check("X", "ftp://user:pw@host", false);
        check("X", "smtp://user:pw@host", false);
        check("X", "https://user:@host", true);
        check("X", &format!("http://u:{}@h", letters(1024)), false);
        check("X", &format!("http://u:{}@h", letters(1025)), true);
        check("X", &format!("http://{}:p@h", letters(1024)), false);
        check("X", &format!("http://{}:p@h", letters(1025)), true);
        check("X", &format!("ghp_{}", letters(36)), false);
        check("X", &format!("ghp_{}", letters(35)), true);
        check("X", &format!("xgithub_pat_{}", letters(36)), false);
        check("X", &format!("AIzaSy{}", letters(33)), false);
        check("X", &format!("AKIA{}", letters(16)), false);
        check("X", &format!("AKIA{}", letters(15)), true);
        check("X", "eyJhbGciOi.eyJzdWIi.c2ln", false);
        check("X", "eyJ..", false);
        check("X", "eyJ.x", true);
        check("X", &format!("eyJ{}..", letters(10_241)), true);
        check("X", &format!("sk_live_{}", letters(24)), false);
        check("X", &format!("pk_live_{}", letters(24)), true);
        check("X", "xoxb-1", false);
        check("X", "xoxb-", true);
        check("GIT_CONFIG_VALUE_0", "xoxb-1", false);
    }

    #[test]
    fn tokens_are_known_by_how_they_begin_and_how_long_they_are() {
        let github = ["ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"].map(|it| (it, 36));
        let stripe = ["sk_live_", "sk_test_", "rk_live_", "rk_test_"].map(|it| (it, 24));
        let slack = ["xoxa-", "xoxb-", "xoxp-", "xoxr-"].map(|it| (it, 1));
        let others = [("AIzaSy", 33), ("AKIA", 16)];
        let all = github.into_iter().chain(stripe).chain(slack).chain(others);
        for (word, least) in all {
            check("X", &format!("{word}{}", "a".repeat(least)), false);
            check("X", &format!("{word}{}", "a".repeat(least - 1)), true);
        }
    }

    #[test]
    fn configured_names_count_before_the_tables() {
        let redaction = VariableRedaction {
            allowed: vec!["my_token".into()],
            blocked: vec!["Path".into(), "MY_TOKEN".into()],
            ..on()
        };
        let given = [("MY_TOKEN", "x"), ("PATH", "/bin"), ("HOME", "/")];
        assert_eq!(passing(&given, &redaction), ["MY_TOKEN", "HOME"]);
    }

    #[test]
    fn on_a_runner_of_github_only_what_is_known_passes() {
        let given = [("GITHUB_SHA", "1"), ("EDITOR", "vi"), ("TITLE", "t")];
        assert_eq!(passing(&given, &VariableRedaction::default()), ["TITLE"]);
        let given = [("SURFACE", "Github"), ("GITHUB_SHA", ""), ("X", "y")];
        assert_eq!(passing(&given, &VariableRedaction::default()), [""; 0]);
        let given = [("SURFACE", "github"), ("GITHUB_SHA", ""), ("X", "y")];
        assert_eq!(passing(&given, &VariableRedaction::default()).len(), 3);
    }
}
