//! Attacks on the readers of an agent's output, and every place where they can stand.

/// Texts of a hostile file, page or model.
pub const ATTACKS: [&str; 45] = [
    "<script>alert(1)</script>",
    "\"onmouseover=\"alert(1)",
    "'onmouseover='alert(1)",
    "<img src=x onerror=alert(1)>",
    "[x](javascript:alert(1))",
    "[x](JaVaScRiPt:alert(1))",
    "[x](https://a.example/\"onmouseover=\"alert(1))",
    "[x](java&#115;cript:alert(1))",
    "[x]: javascript:alert(1)\n\n[x]",
    "[x](data:text/html,<script>alert(1)</script>)",
    "<javascript:alert(1)>",
    "![x](https://tracker.example/pixel.png)",
    "![x][y]\n\n[y]: https://tracker.example/pixel.png",
    "[![x](data:a)](javascript:b)",
    "[[a](javascript:x)](javascript:y)",
    "[a](<javascript:x>)",
    "</details>",
    "</summary></details><details>",
    "</style></title></head>",
    "</main></body></html>",
    "<!-- ",
    "<![CDATA[",
    "<?php",
    "<pre>\n\n",
    "&lt;script&gt; &amp; &#60;b&#62;",
    "\\<b>",
    "\\\\<b>",
    "\u{1b}[31mred\u{1b}[0m",
    "\u{1b}]8;;https://evil.example\u{1b}\\click\u{1b}]8;;\u{1b}\\",
    "\u{1b}]52;c;aGk=\u{7}",
    "\u{9b}2J\u{9d}0;t\u{9c}",
    "\u{1b}]0;never ends",
    "user\u{202e}nimda\u{2066}",
    "nul\0bell\u{7}back\u{8}del\u{7f}",
    "over\rwritten\r\n",
    "```",
    "````\n</details>\n````",
    "~~~~",
    "`code\n</details>\n`",
    "    <b>indented</b>",
    "> <b>quoted</b>\n> ```",
    "- list\n\n      <b>\n  ```\n  open",
    "| a | <b> |\n|---|---|\n| `|` | x |",
    "[^1]\n\n[^1]: <b>note</b>\n    ![x](y)",
    "# heading <b>\n===\n---",
];

/// The attack in every field of every event that people see.
pub fn everywhere(attack: &str) -> Vec<String> {
    let templates = [
        r#"{"event":"session_init","model":$,"cwd":$}"#,
        r#"{"event":"user_input","text":$}"#,
        r#"{"event":"user_input","text":$,"isSynthetic":true}"#,
        r#"{"event":"text","kind":"thinking","text":$}"#,
        r#"{"event":"text","kind":$,"text":$}"#,
        r#"{"event":"text","kind":"text","text":$}"#,
        r#"{"event":"text","kind":"error","text":$}"#,
        r#"{"event":"text","kind":"text","text":$,"parentCallId":$}"#,
        r#"{"event":"tool_invocation","callId":"a","toolName":$,"kind":$,"input":{"command":$,$:$},"title":$}"#,
        r#"{"event":"tool_completion","callId":"a","status":$,"isError":true,"output":$,"content":[{"type":"text","text":$},{"type":"terminal","output":$,"signal":$,"exitCode":1,"truncated":true}]}"#,
        r#"{"event":"tool_invocation","callId":"b","toolName":"replace","kind":"edit","input":{"file_path":$,"old_string":"x","new_string":$}}"#,
        r#"{"event":"tool_completion","callId":"b","status":"completed","output":{"output":$}}"#,
        r#"{"event":"tool_invocation","callId":"c","toolName":"write_file","kind":"edit","input":{"file_path":$,"content":$}}"#,
        r#"{"event":"tool_completion","callId":"c","status":"completed","content":[{"type":"diff","path":$,"oldText":"","newText":$},{"type":"diff","unified":$},{"type":"image","mimeType":$,"uri":$},{"type":"resource_link","uri":$},{"type":$,"z":$}]}"#,
        r#"{"event":"tool_invocation","callId":"d","toolName":"read_file","kind":"read","input":{"file_path":"a.html"}}"#,
        r#"{"event":"tool_completion","callId":"d","status":"completed","output":$}"#,
        r#"{"event":"tool_completion","callId":$,"status":"cancelled","output":[$,{$:$}]}"#,
        r#"{"event":"session_status","status":$,"message":$}"#,
        r#"{"event":"session_mode","currentModeId":$}"#,
        r#"{"event":"permission_request","requestId":"p","toolName":$,"toolKind":$,"toolInput":{"command":$},"reason":$}"#,
        r#"{"event":"hook_run","hookEvent":$,"hook":$,"decision":$,"reason":$,"exitCode":2}"#,
        r#"{"event":"subagent_spawn","callId":"s","agentType":$,"description":$}"#,
        r#"{"event":"subagent_complete","callId":"s","status":$,"summary":$}"#,
        r#"{"event":"context_compaction","trigger":$,"summary":$}"#,
        r#"{"event":"diagnostic","kind":$,"message":$,"raw":$}"#,
        r#"{"event":$,"x":$}"#,
        r#"{"event":"turn_complete","isError":true,"errors":[$],"modelUsage":{$:{"inputTokens":1}}}"#,
        r#"{"event":"turn_complete","result":$}"#,
        r#"{"event":"run_end","outcome":$,"cause":$,"exitCode":1,"message":$,"evidence":[$],"hint":$}"#,
    ];
    let quoted = lapidary_vocab::Json::from_value(&attack)
        .as_str()
        .to_owned();
    templates
        .iter()
        .map(|template| template.replace('$', &quoted))
        .collect()
}
