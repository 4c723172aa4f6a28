//! The terminal's view.

use std::time::Duration;

use lapidary_render::live::{self, Narrator};
use lapidary_render::text::{TextOptions, TextRenderer};

use crate::sample::*;

#[test]
fn a_run_reads_like_a_conversation() {
    let said = delta("Written.");
    insta::assert_snapshot!(text(&[INIT, ASKS, CALLS, DONE, &said, TURN, END]), @r#"
    session  gemini-2.5-flash  9881fb80-d833-4da5-84ba-6efc6cee791a
    > write
    ● write_file new.txt
      ✓ 0.3 s
    Written.
    — completed · 220 tokens (200 in, 20 out) · 1.3 s · 1 tool call
    "#);
}

#[test]
fn a_refused_call_is_visible() {
    insta::assert_snapshot!(text(&[INIT, ASKS, CALLS, DENIED, &delta("Could not."), TURN, END]), @r#"
    session  gemini-2.5-flash  9881fb80-d833-4da5-84ba-6efc6cee791a
    > write
    ● write_file new.txt
      ✗ failed · 0.3 s
      │ Tool "write_file" not found.
    Could not.
    — completed · 220 tokens (200 in, 20 out) · 1.3 s · 1 tool call, 1 failed
    "#);
}

#[test]
fn calls_side_by_side_name_their_results() {
    let glob = r#"{"event":"tool_invocation","callId":"g","toolName":"glob","kind":"search","input":{"pattern":"**/*.py"}}"#;
    let grep = r#"{"event":"tool_invocation","callId":"s","toolName":"grep_search","kind":"search","input":{"pattern":"TODO"}}"#;
    let globbed = r#"{"event":"tool_completion","callId":"g","status":"completed","output":"Found 2 matching file(s)"}"#;
    let grepped = r#"{"event":"tool_completion","callId":"s","status":"completed"}"#;
    insta::assert_snapshot!(text(&[glob, grep, globbed, grepped]), @r#"
    ● glob **/*.py
    ● grep_search TODO
      ✓ glob **/*.py · 0.6 s
      │ Found 2 matching file(s)
      ✓ grep_search TODO · 0.6 s
    "#);
}

#[test]
fn an_edit_shows_its_change_and_a_command_its_output() {
    let edit = r#"{"event":"tool_invocation","callId":"e","toolName":"replace","kind":"edit","input":{"file_path":"a.txt","old_string":"beta","new_string":"BETA"}}"#;
    let edited = r#"{"event":"tool_completion","callId":"e","status":"completed"}"#;
    let command = r#"{"event":"tool_invocation","callId":"x","toolName":"run_shell_command","kind":"execute","input":{"command":"seq 20"}}"#;
    let lines: Vec<_> = (1..=20).map(|n| n.to_string()).collect();
    let ran = format!(
        r#"{{"event":"tool_completion","callId":"x","status":"completed","output":{}}}"#,
        quoted(&lines.join("\n"))
    );
    insta::assert_snapshot!(text(&[edit, edited, command, &ran]), @r#"
    ● replace a.txt
      ✓ 0.3 s · +1 −1
      │ -beta
      │ +BETA
    ● run_shell_command seq 20
      ✓ 0.3 s
      │ 1
      │ 2
      │ 3
      │ 4
      │ 5
      │ 6
      │ 7
      │ 8
      │ … 12 more lines
    "#);
}

#[test]
fn errors_and_warnings_are_shown_once() {
    let warning = r#"{"event":"session_status","status":"error","message":"Loop detected, stopping execution","extensions":{"gemini.severity":"warning"}}"#;
    let turn =
        r#"{"event":"turn_complete","isError":true,"errors":["quota is gone"],"durationMs":0}"#;
    let end = r#"{"event":"run_end","outcome":"failed","cause":"quota_terminal","exitCode":16,"message":"quota is gone","evidence":["exit code 1"],"hint":"wait"}"#;
    let noise = r#"{"event":"diagnostic","kind":"noise","message":"a line that is not JSON"}"#;
    insta::assert_snapshot!(text(&[INIT, noise, warning, turn, end]), @r#"
    session  gemini-2.5-flash  9881fb80-d833-4da5-84ba-6efc6cee791a
    ! diagnostic: noise: a line that is not JSON
    ! warning: Loop detected, stopping execution
    ✗ error: quota is gone
    — failed: the account's quota is used up · 1.2 s
      exit code 1
      hint: wait
    "#);
}

#[test]
fn text_from_before_the_run_is_called_earlier() {
    let replayed = r#"{"event":"user_input","text":"fix the tests","isSynthetic":true,"extensions":{"acp.replay":true}}"#;
    assert_eq!(text(&[replayed]), "> (earlier, 1 line) fix the tests\n");
}

#[test]
fn a_transcript_with_times_names_each_day_once() {
    let init = r#"{"event":"session_init","model":"m","timestamp":"2026-11-16T23:10:00.000Z"}"#;
    let asked = |at: &str| {
        let input = r#"{"event":"user_input","text":"go on","isSynthetic":false"#;
        format!(r#"{input},"timestamp":"2026-11-{at}:00.000Z"}}"#)
    };
    let [first, second, third] = ["16T23:11", "17T00:05", "17T00:09"].map(asked);
    let renderer = TextRenderer::new(TextOptions::default()).with_times();
    let shown = render(renderer, &events(&[init, &first, &second, &third]));
    insta::assert_snapshot!(shown, @r#"
    session  m  9881fb80-d833-4da5-84ba-6efc6cee791a  16 November 2026, 23:10 UTC
    23:11 UTC
    > go on
    17 November 2026, 00:05 UTC
    > go on
    00:09 UTC
    > go on
    "#);
}

#[test]
fn thoughts_and_context_stand_apart() {
    let context = r#"{"event":"user_input","text":"<session_context>\nmuch\n</session_context>","isSynthetic":true}"#;
    let thought = r#"{"event":"text","kind":"thinking","text":"First this.\n\nThen that."}"#;
    let said = r#"{"event":"text","kind":"text","text":"Done."}"#;
    let usage = r#"{"event":"usage_update","stepUsage":{"input_tokens":100,"output_tokens":10,"total_tokens":115}}"#;
    let hidden = r#"{"event":"available_commands","availableCommands":[]}"#;
    insta::assert_snapshot!(text(&[context, ASKS, thought, said, usage, usage, hidden]), @r#"
    > (context, 3 lines) <session_context>…
    > write
    ┆ First this.
    ┆
    ┆ Then that.
    Done.
    — 230 tokens (200 in, 20 out) · 1.8 s
      not shown: 1 command list update
    "#);
}

#[test]
fn words_that_came_in_chunks_are_not_repeated() {
    let whole = r#"{"event":"text","kind":"text","text":"Hello there."}"#;
    assert_eq!(
        text(&[&delta("Hello "), &delta("there."), whole]),
        "Hello there.\n"
    );
    assert_eq!(text(&[&delta("Hello "), whole]), "Hello \nHello there.\n");
}

#[test]
fn a_turn_that_is_not_the_last_has_its_own_line() {
    insta::assert_snapshot!(text(&[ASKS, &delta("One."), TURN, ASKS, &delta("Two."), TURN, END]), @r#"
    > write
    One.
    — 220 tokens (200 in, 20 out) · 1.3 s
    > write
    Two.
    — completed · 440 tokens (400 in, 40 out) · 2.5 s
    "#);
}

#[test]
fn a_chunk_is_written_as_it_comes() {
    use lapidary_render::Renderer as _;
    let mut renderer =
        lapidary_render::text::TextRenderer::new(lapidary_render::text::TextOptions {
            colour: false,
        });
    let mut out = Vec::new();
    let [first, second] = &events(&[delta("Hel"), delta("lo")])[..] else {
        unreachable!("two events")
    };
    renderer.event(first, &mut out).unwrap();
    assert_eq!(out, b"Hel");
    renderer.event(second, &mut out).unwrap();
    assert_eq!(out, b"Hello");
}

#[test]
fn colours_are_added_around_the_words() {
    let coloured = coloured(&[ASKS, CALLS, DENIED]);
    assert!(
        coloured.starts_with("\u{1b}[1m\u{1b}[36m> write\u{1b}[0m\n"),
        "{coloured:?}"
    );
    assert!(
        coloured.contains("\u{1b}[31m  ✗ failed · 0.3 s\u{1b}[0m"),
        "{coloured:?}"
    );
}

#[test]
fn a_sub_agents_calls_are_marked_as_its_own() {
    let spawn = r#"{"event":"subagent_spawn","callId":"s","agentType":"reviewer","description":"look twice"}"#;
    let call = r#"{"event":"tool_invocation","callId":"c","parentCallId":"s","toolName":"read_file","kind":"read","input":{"file_path":"a.rs"}}"#;
    let done =
        r#"{"event":"subagent_complete","callId":"s","status":"completed","summary":"fine"}"#;
    insta::assert_snapshot!(text(&[spawn, call, done]), @r#"
    · sub-agent starts: reviewer: look twice
    ↳ ● read_file a.rs
    · sub-agent ends: completed
    "#);
}

#[test]
fn a_hook_that_times_out_blocks_nothing_and_is_reported() {
    let slow = r#"{"event":"hook_run","hookEvent":"BeforeTool","hook":"slow","durationMs":300,"timedOut":true,"error":"it had not ended after 300 ms"}"#;
    let shown = text(&[slow]);
    let said = "slow: timed out after 300 ms; it blocks nothing";
    assert!(shown.contains(said), "{shown}");
}

#[test]
fn a_denied_call_without_arguments_is_named_by_its_title() {
    let denied = r#"{"event":"permission_decision","requestId":"1","toolName":"edit","toolKind":"edit","toolInput":{},"title":"src/main.rs","decision":"denied","reason":"no"}"#;
    let shown = text(&[denied]);
    assert!(shown.contains("denied: edit src/main.rs: no"), "{shown}");
}

/// Over ACP a denied call may never get a result.
#[test]
fn a_denied_call_is_shown_as_denied_on_a_terminal() {
    let denied = r#"{"event":"permission_decision","requestId":"1","toolUseId":"c1","toolName":"write_file","toolKind":"edit","toolInput":{},"decision":"denied","decidedBy":"hook","reason":"secret"}"#;
    let told = |bodies: &[&str]| {
        let mut narrator = Narrator::new(live::LiveOptions {
            size: live::TerminalSize {
                width: 80,
                height: 24,
            },
            colour: false,
            marks: live::MarkSet::Unicode,
        });
        for event in &events(bodies) {
            narrator.event(event, Duration::ZERO);
        }
        narrator.finish();
        let rows = narrator.take_rows();
        let rows: Vec<_> = rows.into_iter().map(|row| row.text).collect();
        rows.join("\n")
    };
    let shown = told(&[CALLS, denied, CALLS, END]);
    assert!(shown.contains("✘ write_file  new.txt  denied"), "{shown}");
    let shown = told(&[CALLS, END]);
    assert!(
        shown.contains("✘ write_file  new.txt  no result"),
        "{shown}"
    );
}
