//! The transcript as a page.

use lapidary_render::html::FragmentWriter;

use crate::sample::*;
use crate::well_formed;

#[test]
fn a_run_as_a_page() {
    let page = html(&[
        INIT,
        ASKS,
        CALLS,
        DONE,
        &delta("Written, *all* of it."),
        TURN,
        END,
    ]);
    well_formed::html(&page);
    insta::assert_snapshot!(main_of(&page), @r#"
    <section class="prompt" id="prompt-1">
    <h2>Prompt <time datetime="2026-11-15T18:15:00.300Z">18:15</time></h2>
    <div class="typed" dir="auto">write</div>
    </section>
    <details class="tool done">
    <summary><span class="mark" aria-hidden="true">✓</span> <span class="name">write_file</span> <span class="subject">new.txt</span> <span class="vh">done</span> <span class="time">0.3 s</span> </summary>
    <div class="body">
    <figure><figcaption>new.txt</figcaption><pre class="code" tabindex="0"><code>one
    two
    </code></pre></figure>
    </div>
    </details>
    <div class="answer prose" dir="auto">
    <p>Written, <em>all</em> of it.</p>
    </div>
    "#);
    let (_, header) = page.split_once("<header").unwrap();
    insta::assert_snapshot!(header.split_once("</header>").unwrap().0, @r#"
     class="masthead">
    <p class="kicker"><span>gemini session</span><span class="badge good">completed</span></p>
    <h1>write</h1>
    <dl class="facts">
    <div><dt>Model</dt><dd>gemini-2.5-flash</dd></div>
    <div><dt>Started</dt><dd><time datetime="2026-11-15T18:15:00.000Z">15 November 2026 <small>18:15 UTC</small></time></dd></div>
    <div><dt>Duration</dt><dd>1.3 s</dd></div>
    <div><dt>Tokens</dt><dd>220 <small>200 in, 20 out</small></dd></div>
    <div><dt>Tool calls</dt><dd>1</dd></div>
    <div class="wide"><dt>Session</dt><dd><code>9881fb80-d833-4da5-84ba-6efc6cee791a</code></dd></div>
    </dl>
    "#);
    let (_, footer) = page.split_once("<footer>").unwrap();
    insta::assert_snapshot!(footer, @r#"
    <section class="verdict">
    <h2>How it ended <span class="badge good">completed</span></h2>
    </section>
    <p>220 tokens (200 in, 20 out) · 1.3 s · 1 tool call</p>
    <table class="accounts">
    <caption>Tokens by model</caption>
    <thead><tr><th scope="col">Model</th><th scope="col">In</th><th scope="col">of it cached</th><th scope="col">Out</th><th scope="col">Sum</th></tr></thead>
    <tbody>
    <tr><th scope="row">gemini-2.5-flash</th><td>200</td><td>–</td><td>20</td><td>220</td></tr>
    </tbody>
    </table>
    <p class="colophon">Written by Lapidary from 7 events.</p>
    </footer>
    </body>
    </html>
    "#);
}

#[test]
fn a_page_stands_alone() {
    let page = html(&[INIT]);
    for part in [
        "<html lang=\"en\">",
        "<meta charset=\"utf-8\">",
        "content=\"default-src 'none'; style-src 'unsafe-inline'",
        "name=\"viewport\"",
        "(prefers-color-scheme: dark)",
        "@media print",
    ] {
        assert!(page.contains(part), "{part}");
    }
    for part in ["<script", "<link", "url(", "@import", " src="] {
        assert!(!page.contains(part), "{part}");
    }
}

#[test]
fn a_failed_call_stands_open_and_others_are_folded() {
    let page = html(&[CALLS, DENIED]);
    assert!(page.contains("<details class=\"tool failed\" id=\"failure-1\" open>"));
    assert!(page.contains("Tool &quot;write_file&quot; not found."));
    assert!(html(&[CALLS, DONE]).contains("<details class=\"tool done\">"));
    assert!(html(&[CALLS]).contains("no result"));
}

#[test]
fn a_diff_in_a_commands_output_of_another_tool_is_coloured() {
    let call =
        r#"{"event":"tool_invocation","callId":"d","toolName":"git_diff","kind":"mcp","input":{}}"#;
    let done = r#"{"event":"tool_completion","callId":"d","status":"completed","output":"diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-<a>\n+b\n"}"#;
    let page = html(&[call, done]);
    assert!(
        page.contains("<span class=\"del\">-&lt;a&gt;\n</span><span class=\"add\">+b\n</span>"),
        "{page}"
    );
}

#[test]
fn a_picture_is_named_not_loaded() {
    let done = r#"{"event":"tool_completion","callId":"c1","status":"completed","content":[{"type":"image","mimeType":"image/png","data":"AAAA"},{"type":"hologram","z":1}]}"#;
    let page = html(&[CALLS, done]);
    assert!(
        page.contains("image not shown, image/png, 4 characters of Base64"),
        "{page}"
    );
    assert!(page.contains("hologram"));
}

#[test]
fn chunks_around_an_echo_are_one_answer() {
    let whole = r#"{"event":"text","kind":"text","text":"One **two**."}"#;
    let page = html(&[&delta("One **t"), &delta("wo**."), whole]);
    assert_eq!(page.matches("<strong>two</strong>").count(), 1);
}

#[test]
fn a_long_session_lists_its_prompts() {
    let page = html(&[ASKS, ASKS, ASKS]);
    assert!(
        page.contains("<li><a href=\"#prompt-3\">write</a> <span class=\"when\">18:15</span></li>")
    );
    assert!(page.contains("<details open>\n<summary>3 prompts</summary>"));
    assert!(!html(&[ASKS]).contains("<nav"));
    let long = html(&[ASKS; 40]);
    assert!(long.contains("<details>\n<summary>40 prompts</summary>"));
}

/// The same event on another day.
fn later(body: &str, day: u8) -> String {
    body.replacen(
        '{',
        &format!(r#"{{"timestamp":"2026-11-{day}T09:01:00.000Z","#),
        1,
    )
}

#[test]
fn prompts_of_several_days_are_dated() {
    let one = html(&[later(ASKS, 15), later(ASKS, 15)]);
    assert!(!one.contains("class=\"day\""), "{one}");
    let two = html(&[later(ASKS, 15), later(ASKS, 16), later(ASKS, 16)]);
    assert_eq!(two.matches("class=\"day\"").count(), 2, "{two}");
    assert!(
        two.contains("<span>Monday, 16 November 2026</span>"),
        "{two}"
    );
    assert!(
        two.contains("<span class=\"when\">16 Nov, 09:01</span>"),
        "{two}"
    );
    let two = markdown(&[later(ASKS, 15), later(ASKS, 16)]);
    assert!(
        two.contains("## Prompt 2 · 16 November 2026, 09:01 UTC"),
        "{two}"
    );
}

#[test]
fn failures_lead_to_each_other() {
    let error = r#"{"event":"session_status","status":"error","message":"no"}"#;
    let page = html(&[ASKS, CALLS, DENIED, error, CALLS, DONE, CALLS, DENIED]);
    well_formed::html(&page);
    assert!(
        page.contains("<a href=\"#failure-1\">2 failed</a>"),
        "{page}"
    );
    for number in 1..=3 {
        assert_eq!(page.matches(&format!("id=\"failure-{number}\"")).count(), 1);
    }
    let second = "id=\"failure-2\"><p class=\"jump\">Failure 2 of 3 <a href=\"#failure-1\">previous</a> <a href=\"#failure-3\">next</a></p>";
    assert!(page.contains(second), "{page}");
    assert!(!html(&[CALLS, DENIED]).contains("class=\"jump\""));
}

const ALLOWED: &str = r#"{"event":"permission_decision","requestId":"1","toolUseId":"c1","toolName":"write_file","toolKind":"edit","toolInput":{},"decision":"allowed","decidedBy":"rule","rule":"ci.toml:3"}"#;
const REFUSED: &str = r#"{"event":"permission_decision","requestId":"1","toolUseId":"c1","toolName":"write_file","toolKind":"edit","toolInput":{},"decision":"denied","decidedBy":"user","reason":"not now"}"#;
const ASKED: &str = r#"{"event":"permission_request","requestId":"1","toolUseId":"c1","toolName":"write_file","toolKind":"edit","toolInput":{}}"#;

#[test]
fn a_call_tells_who_permitted_it() {
    let page = html(&[CALLS, ASKED, ALLOWED, CALLS, DONE]);
    assert!(
        page.contains("<span class=\"answer\">allowed by rule ci.toml:3</span>"),
        "{page}"
    );
    assert!(!page.contains("class=\"notice"), "{page}");
    let page = html(&[CALLS, ASKED, REFUSED]);
    assert!(
        page.contains("<details class=\"tool unanswered\" open>"),
        "{page}"
    );
    assert!(
        page.contains("<p class=\"note\">Denied by the user: not now</p>"),
        "{page}"
    );
    let open = html(&[CALLS, ASKED]);
    assert!(open.contains("permission asked, no answer"), "{open}");
    let shown = markdown(&[CALLS, ASKED, ALLOWED, DONE]);
    assert!(
        shown.contains("write_file new.txt · allowed by rule ci.toml:3 · "),
        "{shown}"
    );
    let shown = text(&[CALLS, ASKED, ALLOWED, DONE]);
    assert!(
        shown.contains("● write_file new.txt\n  · allowed by rule ci.toml:3\n  ✓ "),
        "{shown}"
    );
}

#[test]
fn a_call_that_waits_for_permission_is_not_shown_as_running() {
    let mut writer = FragmentWriter::for_run();
    let states = ["running", "asks for permission", "running"];
    for (event, state) in events(&[CALLS, ASKED, ALLOWED]).iter().zip(states) {
        writer.push(event);
        let blocks = writer.take_changed();
        let state = format!("<span class=\"state\">{state}</span>");
        assert!(blocks[0].html.contains(&state), "{}", blocks[0].html);
    }
}

#[test]
fn each_of_several_turns_shows_its_usage() {
    let costs = |dollars: &str| {
        TURN.replace(
            "\"durationMs\"",
            &format!("\"costUsd\":{dollars},\"durationMs\""),
        )
    };
    let page = html(&[ASKS, &costs("0.25"), ASKS, CALLS, DONE, &costs("0.75"), END]);
    assert!(
        page.contains("<span>220 tokens (200 in, 20 out) · $0.25 · 1.3 s</span>"),
        "{page}"
    );
    assert!(
        page.contains("<span>220 tokens (200 in, 20 out) · $0.50 · 1.3 s · 1 tool call</span>"),
        "{page}"
    );
    assert!(page.contains("<dt>Cost</dt><dd>$0.75</dd>"), "{page}");
    // A session file has no ends of turns.
    let usage = r#"{"event":"usage_update","stepUsage":{"input_tokens":100,"output_tokens":10}}"#;
    let page = html(&[ASKS, usage, ASKS, usage, usage]);
    assert!(page.contains("<span>110 tokens (100 in, 10 out)"), "{page}");
    assert!(page.contains("<span>220 tokens (200 in, 20 out)"), "{page}");
    assert!(!html(&[ASKS, TURN, END]).contains("class=\"turn\""));
}

#[test]
fn a_thought_without_a_title_begins_with_its_words() {
    let thought = |text: &str| {
        format!(
            r#"{{"event":"text","kind":"thinking","text":{}}}"#,
            quoted(text)
        )
    };
    for said in ["****\nlook", ": look"] {
        assert!(html(&[&thought(said)]).contains("<span class=\"gist\">look</span>"));
        assert_eq!(text(&[&thought(said)]), "┆ look\n");
    }
}
