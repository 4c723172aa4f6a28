//! The transcript as Markdown.

use crate::sample::*;

#[test]
fn a_run_as_markdown() {
    insta::assert_snapshot!(markdown(&[INIT, ASKS, CALLS, DONE, &delta("Written."), TURN, END]), @r#"
    # write

    | | |
    |---|---|
    | Agent | gemini |
    | Model | `gemini-2.5-flash` |
    | Session | `9881fb80-d833-4da5-84ba-6efc6cee791a` |
    | Started | 15 November 2026, 18:15 UTC |
    | Outcome | completed |

    ## Prompt · 18:15 UTC

    > write

    <details>
    <summary>✓ write_file new.txt · 0.3 s</summary>

    `new.txt`

    ```txt
    one
    two
    ```

    </details>

    Written.

    ---

    **completed** · 220 tokens (200 in, 20 out) · 1.3 s · 1 tool call

    `gemini-2.5-flash` 220 tokens (200 in, 20 out)
    "#);
}

#[test]
fn an_edit_is_a_diff_that_says_where_it_comes_from() {
    let edit = r#"{"event":"tool_invocation","callId":"e","toolName":"replace","kind":"edit","input":{"file_path":"a.txt","old_string":"beta","new_string":"BETA"}}"#;
    let done = r#"{"event":"tool_completion","callId":"e","status":"completed","content":[{"type":"diff","path":"a.txt","oldText":"alpha\nbeta\n","newText":"alpha\nBETA\n","unified":"--- a.txt\n+++ a.txt\n@@ -1,2 +1,2 @@\n alpha\n-beta\n+BETA\n"}]}"#;
    let derived = markdown(&[edit]);
    assert!(
        derived.contains("```diff\n--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-beta\n"),
        "{derived}"
    );
    assert!(derived.contains("*diff derived from the text before and after*"));
    let given = markdown(&[edit, done]);
    assert!(
        given.contains("```diff\n--- a.txt\n+++ a.txt\n@@ -1,2 +1,2 @@\n alpha\n-beta\n+BETA\n```"),
        "{given}"
    );
    assert!(!given.contains("derived"), "{given}");
}

#[test]
fn a_fence_is_longer_than_what_it_holds() {
    let done = format!(
        r#"{{"event":"tool_completion","callId":"c1","status":"failed","output":{}}}"#,
        quoted("````\n</details>\n````")
    );
    let markdown = markdown(&[CALLS, &done]);
    assert!(
        markdown.contains("`````\n````\n</details>\n````\n`````"),
        "{markdown}"
    );
}

#[test]
fn a_failure_tells_its_reasons() {
    let end = r#"{"event":"run_end","outcome":"failed","cause":"auth_required","exitCode":11,"message":"no key","evidence":["exit code 41","stderr"],"hint":"sign in"}"#;
    let markdown = markdown(&[INIT, end]);
    let (_, footer) = markdown.split_once("\n---\n\n").unwrap();
    insta::assert_snapshot!(footer, @r#"
    **failed** · 0.3 s

    Cause: the agent is not signed in

    Message: no key

    - exit code 41
    - stderr

    Hint: sign in
    "#);
}
