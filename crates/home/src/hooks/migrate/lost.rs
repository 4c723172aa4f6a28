//! What a hook of Claude Code's loses on the way, a sentence each.

use serde_json::Value;

use super::{Spot, milliseconds};

/// What is written in a hook and means nothing to Gemini CLI.
pub(super) fn fields(spot: &Spot<'_>, hook: &Value) -> Vec<String> {
    let fields = hook.as_object().into_iter().flatten();
    let lost = fields.filter_map(|(name, value)| Some((name, sentence(name, value)?)));
    lost.map(|(name, sentence)| spot.told(name, &sentence))
        .collect()
}

/// What is lost with a field, if anything is.
fn sentence(name: &str, value: &Value) -> Option<String> {
    let is_off = matches!(value, Value::Bool(false) | Value::Null);
    let said = match name {
        "type" | "command" => return None,
        "timeout" => return timeout(value),
        _ if is_off => return None,
        "async" | "asyncRewake" => {
            "the hook does not run in the background: Gemini CLI waits for it"
        }
        "if" => {
            "the hook runs for every call that its matcher matches: it has to look at `tool_input` itself"
        }
        "once" => "the hook runs each time, not once a session",
        "statusMessage" => "nothing is shown while the hook runs",
        "shell" => "Gemini CLI runs hooks with `bash`, on Windows with PowerShell",
        _ => "Gemini CLI has nothing of the kind",
    };
    Some(said.to_owned())
}

fn timeout(value: &Value) -> Option<String> {
    if value.is_null() || milliseconds(value).is_some() {
        return None;
    }
    let shown: String = value.to_string().chars().take(40).collect();
    Some(format!(
        "{shown} is no number of seconds that Gemini CLI can count to: the hook has its usual minute"
    ))
}

/// Gemini CLI looks for `decision`, which Claude Code has for other events.
pub(super) fn answers(spot: &Spot<'_>, command: &str) -> Option<String> {
    crate::hooks::check::answers_claude(command).then(|| {
        let said = "it answers with `permissionDecision`, which Gemini CLI does not read: say `\"decision\": \"deny\"`, and `reason`";
        spot.told("command", said)
    })
}

impl Spot<'_> {
    fn told(&self, field: &str, sentence: &str) -> String {
        let Self { path, place } = self;
        format!("`{place}.{field}` in {}: {sentence}", path.display())
    }
}
