//! The transcript as a page.

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
    <h2>Prompt <time>18:15</time></h2>
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
    assert!(page.contains("<details class=\"tool failed\" open>"));
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
    assert!(page.contains("<li><a href=\"#prompt-3\">write</a></li>"));
    assert!(!html(&[ASKS]).contains("<nav"));
}
