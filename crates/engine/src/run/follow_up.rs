//! Another prompt in the session of a headless run, in the words of each agent.

use lapidary_vocab::event::Provider;

use crate::process::Command;

/// Makes the command continue a session. The bytes of its stdin are returned; `None` for an agent that cannot.
pub(super) fn resume_session(
    command: &mut Command,
    provider: &Provider,
    session: &str,
    prompt: String,
) -> Option<Vec<u8>> {
    match provider {
        Provider::Gemini => {
            continue_session(command, session);
            Some(prompt.into_bytes())
        }
        Provider::Claude => {
            command.remove_flag("--continue");
            continue_session(command, session);
            let message = serde_json::json!({"role": "user", "content": prompt});
            let line = serde_json::json!({"type": "user", "message": message});
            Some(format!("{line}\n").into_bytes())
        }
        Provider::Codex => {
            // `resume` is a command of `codex exec` behind all options: `… resume ID -`.
            command.truncate_before(&["resume", "-"]);
            command.args(["resume", session, "-"]);
            Some(prompt.into_bytes())
        }
        _ => None,
    }
}

fn continue_session(command: &mut Command, session: &str) {
    command.remove_option("--session-id");
    command.remove_option("--resume");
    command.args(["--resume", session]);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resumed(provider: &Provider, args: &[&str]) -> (Vec<String>, Vec<u8>) {
        let mut command = Command::new("agent", "/");
        command.args(args.iter().copied());
        let input = resume_session(&mut command, provider, "s-1", "again".to_owned());
        let args = command.arguments().iter();
        let args = args.map(|arg| arg.to_str().unwrap().to_owned());
        (args.collect(), input.unwrap())
    }

    #[test]
    fn each_agent_continues_a_session_in_its_own_words() {
        let (args, input) = resumed(&Provider::Gemini, &["-o", "x", "--session-id", "a"]);
        assert_eq!(args, ["-o", "x", "--resume", "s-1"]);
        assert_eq!(input, b"again");
        let (args, input) = resumed(&Provider::Claude, &["-p", "--continue", "--verbose"]);
        assert_eq!(args, ["-p", "--verbose", "--resume", "s-1"]);
        let message: serde_json::Value = serde_json::from_slice(&input).unwrap();
        assert_eq!(message["message"]["content"], "again");
        for args in [
            &["exec", "--json", "-"][..],
            &["exec", "--json", "resume", "--last", "-"],
        ] {
            let (args, input) = resumed(&Provider::Codex, args);
            assert_eq!(args, ["exec", "--json", "resume", "s-1", "-"]);
            assert_eq!(input, b"again");
        }
    }
}
