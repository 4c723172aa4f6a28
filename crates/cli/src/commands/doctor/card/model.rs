//! The mock model: it calls for a shell command if the agent offers it a shell tool, and falls silent when the prompt asks for
//! that.

use lapidary_standin::api::{AfterScript, FakeApi, RequestKind, Script, ScriptRule, Turn};
use serde_json::json;

/// The mock model's answer.
pub(super) const SAID: &str = "The proof is 42.";

/// The file that the command makes, in the project.
pub(super) const MADE: &str = "lapidary-proof.txt";

/// Part of both commands, and of no other text: it shows that a message is about one of them.
pub(super) const MARK: &str = "lapidary-proof";

/// Part of the command that only reads.
pub(super) const LOOK: &str = "lapidary-proof-look";

pub(super) const CALL_PROMPT: &str = "Show that you work (lapidary-call).";
pub(super) const WAIT_PROMPT: &str = "Think for long (lapidary-wait).";

const CALL: &str = "lapidary-call";
const WAIT: &str = "lapidary-wait";

/// The names of shell tools. The requests of an agent show which of them it has.
const SHELLS: [&str; 4] = ["Bash", "bash", "run_shell_command", "developer__shell"];

pub(super) fn card_script() -> Script {
    let waits = ScriptRule::new(Turn::text("Wait").hang());
    let waits = waits.kind(RequestKind::Stream).body(WAIT);
    let calls = SHELLS.map(|shell| {
        let args = json!({
            "command": format!("printf %s lapidary-proof > {MADE}"),
            "description": "Writes a file",
        });
        // It only reads: some agents ask about the other, and not about this.
        let look = json!({ "command": format!("cat {LOOK}"), "description": "Reads a file" });
        let turn = Turn::call(shell, args).and_call(shell, look);
        let rule = ScriptRule::new(turn).kind(RequestKind::Stream);
        rule.body(quote_word(shell)).times(1)
    });
    // Later requests have the earlier prompt in them, too.
    let script = Script::new().rule(waits);
    let script = calls.into_iter().fold(script, Script::rule);
    script.stream(SAID).after(AfterScript::Repeat)
}

fn quote_word(word: &str) -> String {
    format!("\"{word}\"")
}

/// Whether the prompt has come to the model.
pub(super) fn was_asked(api: &FakeApi) -> bool {
    model_requests(api).iter().any(|body| body.contains(CALL))
}

/// Whether a request offers the model a shell.
pub(super) fn has_shell(api: &FakeApi) -> bool {
    let told = |body: &String| SHELLS.iter().any(|shell| body.contains(&quote_word(shell)));
    model_requests(api).iter().any(told)
}

fn model_requests(api: &FakeApi) -> Vec<String> {
    let requests = api.requests();
    let conversation = requests
        .iter()
        .filter(|made| made.kind == RequestKind::Stream);
    conversation.map(|made| made.body.to_string()).collect()
}
