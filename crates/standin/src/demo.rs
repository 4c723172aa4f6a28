//! The script of `--agent demo`: a small project with a bug, and the model that mends it.
//!
//! Only the model's words are written down here. The tools that it calls, the permission rules, the test and the recording are real. Every
//! turn is a rule about the request that it answers, so the script holds no state: it can be played again in the same session.

use std::time::Duration;

use serde_json::{Value, json};

use crate::api::{ReportedUsage, Script, ScriptRule, Turn};

/// The model's name in events.
pub const MODEL: &str = "scripted";

/// The files of the project: a greeting without the name, and its test. `/bin/sh` is all that they need.
pub const FILES: [(&str, &str); 2] = [
    (
        "greet.sh",
        "# Greets the person whose name is the first argument.\necho \"Hello!\"\n",
    ),
    (
        "test.sh",
        "greeting=$(sh greet.sh Ada)\nif [ \"$greeting\" = 'Hello, Ada!' ]; then\n  echo \"ok: $greeting\"\nelse\n  \
         echo \"not ok: expected 'Hello, Ada!', got '$greeting'\"\n  exit 1\nfi\n",
    ),
];

/// The command that a rule allows in every run, as the flag `--allow` has it.
pub const ALLOWED_COMMAND: &str = "execute:sh test.sh";
/// The command that a rule denies in every run.
pub const DENIED_COMMAND: &str = "execute:git push*";
/// The edit that a rule allows where no person can be asked.
pub const ALLOWED_EDIT: &str = "edit:greet.sh";

/// The pause before each answer, so that a reader can follow.
const THINKING: Duration = Duration::from_millis(350);

/// The tool for commands.
const SHELL: &str = "run_shell_command";
/// The beginning of the answer to a call that a person or a rule rejected.
const REJECTED: &str = "User rejected this operation";

/// The model's call that a rule denies. Its words tell the last turn from the one before.
const PUSH: &str = "git push origin main";

/// Letters of a prompt that are repeated.
const LONGEST_QUOTE: usize = 60;

/// The usage of a model that is not asked.
const NO_USAGE: ReportedUsage = ReportedUsage {
    prompt: 0,
    output: 0,
    thoughts: 0,
    cached: 0,
    tool: 0,
};

const ABOUT: &str = "This is a demo. My words are scripted, and no model is asked. The rest is real: a small project in a throw-away \
    directory, the tools that I call, the rules that hold me, and the recording.";

/// The script for a prompt.
pub fn script(prompt: &str) -> Script {
    let opening = format!("{ABOUT}\n\n{}\n\n", answer_to(prompt));
    let test = || json!({"command": "sh test.sh", "description": "Tests the greeting."});
    let passed = "greet.sh says the name now, and its test passes.";
    let denied = format!("{passed} A rule denied the push, so I leave it to you.");
    let push = json!({ "command": PUSH });
    let rules = [
        // The newest turn first: its own call is in the conversation that it is asked about.
        after_message(REJECTED, final_turn(&denied)).body(format!("\"{PUSH}\"")),
        after_tool(SHELL, final_turn(passed)).body(format!("\"{PUSH}\"")),
        after_message(
            "not ok: ",
            final_turn("greet.sh stays as it was, and its test fails."),
        ),
        after_message(
            "ok: Hello, Ada!",
            call_turn("I publish that:\n\n", SHELL, push),
        ),
        after_tool(SHELL, final_turn("I was not allowed to run the test.")),
        after_message(
            REJECTED,
            call_turn(
                "I leave the file alone, and run its test:\n\n",
                SHELL,
                test(),
            ),
        ),
        after_tool("replace", call_turn("Now the test:\n\n", SHELL, test())),
        after_tool(
            "read_file",
            call_turn("It never says the name:\n\n", "replace", edit_arguments()),
        ),
        after_tool(
            "list_directory",
            call_turn("", "read_file", json!({"file_path": "greet.sh"})),
        ),
        ScriptRule::new(call_turn(
            &opening,
            "list_directory",
            json!({"dir_path": "."}),
        )),
    ];
    rules.into_iter().fold(Script::new(), Script::rule)
}

/// The answer to the words of a prompt that the script knows; any other prompt is repeated.
fn answer_to(prompt: &str) -> String {
    let lower = prompt.to_lowercase();
    let words: Vec<_> = lower
        .split(|letter: char| !letter.is_alphanumeric())
        .collect();
    let has = |known: &[&str]| known.iter().any(|word| words.contains(word));
    let answer = if lower.contains("what can you do") || has(&["help", "can"]) {
        "What I can do: list, read, edit and test this project, as far as you let me."
    } else if has(&["who", "model", "llm", "ai"]) {
        "Who I am: a script in the program that you started. `lapidary agents run` asks a real model."
    } else if has(&["hello", "hi", "hey"]) {
        "Hello! I mend a greeting, and you can watch."
    } else if has(&["cost", "costs", "price", "token", "tokens", "free"]) {
        "The demo costs nothing: it uses no token."
    } else if has(&[
        "fix", "bug", "mend", "repair", "test", "tests", "greet", "greeting",
    ]) {
        "The greeting forgets the name. I mend it and run its test."
    } else {
        let shown: String = prompt.split_whitespace().collect::<Vec<_>>().join(" ");
        let shown: String = shown.chars().take(LONGEST_QUOTE).collect();
        return format!("A script has no answer to “{shown}”. It mends a greeting instead.");
    };
    answer.to_owned()
}

/// A turn for the request that carries the result of this tool.
fn after_tool(tool: &str, turn: Turn) -> ScriptRule {
    after_message(&format!("\"name\":\"{tool}\""), turn)
}

/// A turn for the request whose last message contains this. It follows a call: a prompt with these words is no such request.
fn after_message(text: &str, turn: Turn) -> ScriptRule {
    ScriptRule::new(turn)
        .last(text)
        .body("\"functionResponse\"")
}

/// A turn that says a few words and calls a tool. No token is counted: none was used.
fn call_turn(words: &str, tool: &str, arguments: Value) -> Turn {
    let turn = match words {
        "" => Turn::call(tool, arguments),
        words => Turn::text(words).and_call(tool, arguments),
    };
    turn.usage(NO_USAGE).delay(THINKING)
}

/// The last turn.
fn final_turn(result: &str) -> Turn {
    call_turn("", "complete_task", json!({ "result": result }))
}

fn edit_arguments() -> Value {
    json!({
        "file_path": "greet.sh",
        "instruction": "Say the name.",
        "old_string": "echo \"Hello!\"",
        "new_string": "echo \"Hello, $1!\"",
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::ScriptPlayer;

    /// The tool that the model calls first.
    async fn first_call(prompt: &str) -> String {
        let player = ScriptPlayer::new(script(prompt));
        let body = json!({"contents": [{"role": "user", "parts": [{"text": prompt}]}]});
        let mut answer = player.stream(MODEL, &body.to_string()).await;
        let mut text = Vec::new();
        while let Ok(Some(bytes)) = answer.next_bytes().await {
            text.extend_from_slice(&bytes);
        }
        String::from_utf8(text).unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn a_prompt_with_the_words_of_a_result_is_a_prompt() {
        for prompt in [
            "hello",
            "not ok: ok: Hello, Ada!",
            "User rejected this operation \"functionResponse\" \"git push origin main\"",
        ] {
            let answer = first_call(prompt).await;
            assert!(answer.contains("\"list_directory\""), "{prompt}: {answer}");
        }
    }

    #[test]
    fn the_answer_depends_on_the_words_of_the_prompt() {
        for (prompt, expected) in [
            ("what can you do?", "What I can do"),
            ("Hello", "Hello!"),
            ("which model are you", "Who I am"),
            ("fix the tests", "The greeting forgets"),
            (
                "paint  it\nblack",
                "A script has no answer to “paint it black”.",
            ),
        ] {
            let answer = answer_to(prompt);
            assert!(answer.starts_with(expected), "{prompt}: {answer}");
        }
        assert!(answer_to(&"x".repeat(9000)).chars().count() < 200);
    }
}
