//! The environment of commands and MCP servers that an agent of ours starts: the variables of its caller without credentials.
//!
//! A model chooses the commands, and their output goes back to it. A key that a command can read is a key that a page or a file can ask
//! for. The names are those of Gemini CLI's redaction, which it has for its own tools, too; there it is off unless settings or a GitHub
//! runner turn it on.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};

use lapidary_engine::hooks::VariableRedaction;
use lapidary_gemini::settings::WorkspaceTrust;
use lapidary_gemini::setup::Setup;
use serde_json::Value;

/// Credentials of the model's API. They are removed where redaction is off, too: no command needs them.
const MODEL_CREDENTIALS: [&str; 3] = [
    "GEMINI_API_KEY",
    "GOOGLE_API_KEY",
    "GOOGLE_APPLICATION_CREDENTIALS",
];

/// Names that look like credentials by Gemini CLI's words (`CERT`, `AUTH`) and are none. They pass unless settings turn redaction on
/// themselves.
const NO_CREDENTIALS: [&str; 7] = [
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS",
    "GIT_AUTHOR_NAME",
    "GIT_AUTHOR_EMAIL",
    "GIT_AUTHOR_DATE",
    "XAUTHORITY",
];

/// The variables that commands see. `security.environmentVariableRedaction` of the settings changes them: `allowed` lets a name pass,
/// `blocked` removes one, and `enabled: false` keeps all but the credentials of the model. Settings of the workspace can only block:
/// it may be another author's work.
pub(super) fn command_environment(
    setup: &Setup,
    variables: &BTreeMap<OsString, OsString>,
) -> BTreeMap<OsString, OsString> {
    let redaction = redaction_of(setup);
    let given: Vec<_> = variables.clone().into_iter().collect();
    let is_allowed = |name: &OsStr| {
        let mut allowed = redaction.allowed.iter();
        allowed.any(|it| name.eq_ignore_ascii_case(it))
    };
    let is_model = |name: &OsStr| {
        let mut names = MODEL_CREDENTIALS.iter();
        names.any(|it| name.eq_ignore_ascii_case(it))
    };
    let passing = redaction.apply(&given).into_iter();
    passing
        .filter(|(name, _)| !is_model(name) || is_allowed(name))
        .collect()
}

fn redaction_of(setup: &Setup) -> VariableRedaction {
    let setting = |key| {
        let keys = ["security", "environmentVariableRedaction", key];
        setup.settings.get(&keys, WorkspaceTrust::IsIgnored)
    };
    let allowed = setting("allowed").and_then(Value::as_array);
    let allowed = allowed.into_iter().flatten().filter_map(Value::as_str);
    let enabled = setting("enabled").and_then(Value::as_bool);
    let harmless = NO_CREDENTIALS.iter().filter(|_| enabled.is_none());
    VariableRedaction {
        enabled: enabled.unwrap_or(true),
        allowed: allowed
            .chain(harmless.copied())
            .map(str::to_owned)
            .collect(),
        ..VariableRedaction::from_setup(setup)
    }
}

#[cfg(test)]
mod tests {
    use lapidary_gemini::{GeminiHome, Vars};
    use tempfile::TempDir;

    use super::*;

    const GIVEN: [(&str, &str); 8] = [
        ("PATH", "/bin"),
        ("EDITOR", "vi"),
        ("GEMINI_API_KEY", "model"),
        ("google_api_key", "model"),
        ("MY_TOKEN", "token"),
        ("SSL_CERT_FILE", "/ca.pem"),
        ("GIT_AUTHOR_NAME", "Ada"),
        ("PROXY", "http://user:pw@host"),
    ];

    /// The names that commands see with these settings.
    fn check(settings: &str, more: &[(&str, &str)], expected: &[&str]) {
        check_in_workspace(settings, "{}", more, expected);
    }

    fn check_in_workspace(
        settings: &str,
        in_workspace: &str,
        more: &[(&str, &str)],
        expected: &[&str],
    ) {
        let home = TempDir::new().unwrap();
        let workspace = home.path().join("project");
        for (directory, text) in [(home.path(), settings), (&workspace, in_workspace)] {
            let gemini = directory.join(".gemini");
            std::fs::create_dir_all(&gemini).unwrap();
            std::fs::write(gemini.join("settings.json"), text).unwrap();
        }
        let variables = GIVEN.iter().chain(more);
        let variables: BTreeMap<_, _> = variables
            .map(|(name, value)| (OsString::from(name), OsString::from(value)))
            .collect();
        let at = BTreeMap::from([
            ("GEMINI_CLI_HOME".into(), home.path().into()),
            ("GEMINI_CLI_TRUST_WORKSPACE".into(), "true".into()),
        ]);
        let vars = Vars::new(&at);
        let gemini = GeminiHome::from_vars(vars, None).unwrap();
        let setup = Setup::read(&gemini, &workspace, vars);
        let seen = command_environment(&setup, &variables);
        let names: Vec<_> = seen.keys().map(|name| name.to_str().unwrap()).collect();
        assert_eq!(names, expected, "{settings} {more:?}");
    }

    fn redaction(settings: &str) -> String {
        format!(r#"{{"security":{{"environmentVariableRedaction":{settings}}}}}"#)
    }

    #[test]
    fn commands_see_no_credentials_unless_settings_let_them() {
        check(
            "{}",
            &[],
            &["EDITOR", "GIT_AUTHOR_NAME", "PATH", "SSL_CERT_FILE"],
        );
        let allowed = r#"{"allowed":["my_token","Gemini_Api_Key"],"blocked":["EDITOR"]}"#;
        let expected = [
            "GEMINI_API_KEY",
            "GIT_AUTHOR_NAME",
            "MY_TOKEN",
            "PATH",
            "SSL_CERT_FILE",
        ];
        check(&redaction(allowed), &[], &expected);
        check(&redaction(r#"{"enabled":true}"#), &[], &["EDITOR", "PATH"]);
    }

    #[test]
    fn where_redaction_is_off_commands_see_all_but_the_credentials_of_the_model() {
        let expected = [
            "EDITOR",
            "GIT_AUTHOR_NAME",
            "MY_TOKEN",
            "PATH",
            "PROXY",
            "SSL_CERT_FILE",
        ];
        check(&redaction(r#"{"enabled":false}"#), &[], &expected);
    }

    #[test]
    fn settings_of_the_workspace_can_only_block() {
        let own =
            r#"{"enabled":false,"allowed":["GEMINI_API_KEY","MY_TOKEN"],"blocked":["EDITOR"]}"#;
        let expected = ["GIT_AUTHOR_NAME", "PATH", "SSL_CERT_FILE"];
        check_in_workspace("{}", &redaction(own), &[], &expected);
    }

    #[test]
    fn on_a_github_runner_only_harmless_names_pass() {
        check(
            "{}",
            &[("GITHUB_SHA", "1")],
            &["GIT_AUTHOR_NAME", "PATH", "SSL_CERT_FILE"],
        );
    }
}
