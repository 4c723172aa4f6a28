//! The parts of a Claude Code hook that are lost in translation, a sentence each.

use serde_json::Value;

use super::SourceSpot;
use super::timeout::{default_milliseconds, timeout_milliseconds};

/// The fields of a hook that mean nothing to Gemini CLI.
pub(super) fn lost_fields(spot: &SourceSpot<'_>, hook: &Value) -> Vec<String> {
    let fields = hook.as_object().into_iter().flatten();
    let lost = fields.filter_map(|(name, value)| Some((name, loss_sentence(spot, name, value)?)));
    lost.map(|(name, sentence)| spot.field_sentence(name, &sentence))
        .collect()
}

/// The sentence on a lost field, if it had an effect.
fn loss_sentence(spot: &SourceSpot<'_>, name: &str, value: &Value) -> Option<String> {
    let is_off = matches!(value, Value::Bool(false) | Value::Null);
    let said = match name {
        "type" | "command" => return None,
        "timeout" => return timeout_loss(spot, value),
        _ if is_off => return None,
        "async" | "asyncRewake" => {
            "the hook does not run in the background: Gemini CLI waits for it"
        }
        "if" => {
            "the hook runs for every call that its matcher matches: it has to look at `tool_input` itself"
        }
        "onFailure" if value == "block" => {
            "if the hook fails or takes too long, the call passes: Gemini CLI blocks nothing then"
        }
        "once" => "the hook runs each time, not once a session",
        "statusMessage" => "nothing is shown while the hook runs",
        "shell" => "Gemini CLI runs hooks with `bash`, on Windows with PowerShell",
        _ => "Gemini CLI has nothing of the kind",
    };
    Some(said.to_owned())
}

fn timeout_loss(spot: &SourceSpot<'_>, value: &Value) -> Option<String> {
    if value.is_null() || timeout_milliseconds(value).is_some() {
        return None;
    }
    let shown: String = value.to_string().chars().take(40).collect();
    let seconds = default_milliseconds(spot.event) / 1000;
    Some(format!(
        "{shown} is not a valid number of seconds: the hook gets the default, {seconds}"
    ))
}

/// Why an event of Claude Code's has no translation.
pub(super) fn event_loss(name: &str) -> &'static str {
    match name {
        "PermissionRequest" => {
            "Gemini CLI asks no hook for permission, so what these deny is not denied any more; a `BeforeTool` hook can deny, but hears of every call"
        }
        "PostToolUseFailure" => {
            "Gemini CLI has no such event; an `AfterTool` hook also runs after calls that succeed"
        }
        _ => "Gemini CLI has no such event",
    }
}

/// Nothing of Gemini CLI's tells when one of its subagents is done.
pub(super) fn subagent_loss(spot: &SourceSpot<'_>, matcher: &str) -> Option<String> {
    if !spot.event.eq_ignore_ascii_case("SubagentStop") {
        return None;
    }
    let SourceSpot { path, place, .. } = spot;
    let dropped = match matcher.trim() {
        "" | "*" => String::new(),
        matcher => format!(", and its matcher `{matcher}` is dropped"),
    };
    Some(format!(
        "`{place}` in {}: it runs when the agent itself is done, not one of its subagents{dropped}",
        path.display()
    ))
}

/// Gemini CLI looks for `decision`, which Claude Code has for other events.
pub(super) fn answer_loss(spot: &SourceSpot<'_>, command: &str) -> Option<String> {
    crate::hooks::check::answers_claude(command).then(|| {
        let said = "it answers with `permissionDecision`, which Gemini CLI does not read: say `\"decision\": \"deny\"`, and `reason`";
        spot.field_sentence("command", said)
    })
}

/// What these print is context for the model in Claude Code, and a message for the user in Gemini CLI 0.61.
pub(super) fn context_loss(spot: &SourceSpot<'_>, command: &str) -> Option<String> {
    let is_context = matches!(spot.event, "UserPromptSubmit" | "SessionStart");
    (is_context && !command.contains("additionalContext")).then(|| {
        let said = "text that it prints is shown to you, not to the model: print `{\"hookSpecificOutput\": {\"additionalContext\": \"…\"}}`";
        spot.field_sentence("command", said)
    })
}

impl SourceSpot<'_> {
    fn field_sentence(&self, field: &str, sentence: &str) -> String {
        let Self { path, place, .. } = self;
        format!("`{place}.{field}` in {}: {sentence}", path.display())
    }
}
