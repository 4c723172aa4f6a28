//! Hooks that require a permission prompt: a permission that was given without a prompt does not replace it.

use serde_json::{Value, json};

use super::{DONE, hook, play};

/// A hook that requires a permission prompt for secrets.
fn asks() -> Value {
    hook(
        r#"grep -q SECRET <<<"$told" && echo '{"decision":"ask","systemMessage":"it writes a secret"}'; true"#,
    )
}

/// An agent that asks about a file without its content, and then writes a secret.
const SCENE: &str = r#"
p = prompted()
path = os.path.join(os.getcwd(), "a.txt")
ask(0, "session/request_permission", toolCall={"toolCallId": "c", "title": "Edit", "kind": "edit", "rawInput": {"file_path": path}}, options=OPTIONS); reply(0)
ask(1, "fs/write_text_file", path=path, content="SECRET"); reply(1)
done(p)
"#;

#[test]
fn an_asking_hook_denies_an_unattended_write_that_rules_allow() {
    let ways: [&[&str]; 3] = [
        &["--yolo"],
        &["--permission-mode", "acceptEdits"],
        &["--allow", "edit:**"],
    ];
    for args in ways {
        let played = play(&json!({"BeforeTool": [asks()]}), SCENE, args, DONE);
        assert_eq!(
            played.answer(0)["outcome"]["optionId"],
            "yes",
            "no secret yet"
        );
        let refused = played.answer(1);
        assert_eq!(refused["code"], -32000, "{args:?}");
        assert_eq!(
            refused["message"],
            "it writes a secret, and no person can be asked"
        );
        assert!(!played.world.path("project/a.txt").exists(), "{args:?}");
    }
}

#[test]
fn a_denial_lists_the_reasons_of_hooks_for_each_file() {
    let asks = r#"case "$told" in *'/a.txt"'*) who=a;; *) who=b;; esac; echo '{"decision":"ask","systemMessage":"minds '$who'"}'"#;
    let scene = r#"
p = prompted()
ask(0, "session/request_permission", toolCall={"toolCallId": "c", "title": "Edit", "kind": "edit", "rawInput": {"files": ["a.txt", "b.txt", "c.txt"]}}, options=OPTIONS); reply(0)
done(p)
"#;
    let hooks = json!({"BeforeTool": [hook(asks)]});
    let played = play(&hooks, scene, &["--yolo"], DONE);
    let answer = played.answer(0);
    assert_eq!(answer["outcome"]["optionId"], "no");
    assert_eq!(
        answer["_meta"]["lapidary"]["reason"],
        "minds a\nminds b, and no person can be asked"
    );
}
