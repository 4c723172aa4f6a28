//! The screen while a run goes on.

use std::time::Duration;

use lapidary::render::live::{LiveOptions, MarkSet, TerminalSize};

use super::terminal::{NARROW, Terminal, WIDE, delta, events, view};
use crate::live::LiveView;

fn call(id: &str, command: &str) -> String {
    format!(
        r#"{{"event":"tool_invocation","callId":"{id}","toolName":"run_shell_command","kind":"execute","input":{{"command":"{command}"}}}}"#
    )
}

fn result(id: &str) -> String {
    format!(r#"{{"event":"tool_completion","callId":"{id}","status":"completed"}}"#)
}

/// Shows events, one after the other.
fn show(view: &mut LiveView<Terminal>, bodies: &[String]) {
    for event in events(bodies) {
        view.show_event(&event).unwrap();
    }
}

fn check(terminal: &Terminal, expected: &[&str]) {
    assert_eq!(terminal.screen(), expected.join("\n"));
}

#[test]
fn calls_run_side_by_side_and_settle_one_by_one() {
    let (mut view, terminal) = view(WIDE, false);
    view.show_elapsed(Duration::ZERO).unwrap();
    check(&terminal, &["⠋ 0 s · starting"]);
    show(
        &mut view,
        &[
            delta("Let me look."),
            call("a", "cargo test"),
            call("b", "ls"),
        ],
    );
    view.show_elapsed(Duration::from_secs(12)).unwrap();
    let running = [
        "  Let me look.",
        "",
        "⠦ run_shell_command  cargo test  12 s",
        "⠦ run_shell_command  ls  12 s",
        "⠦ 12 s · running 2 tools",
    ];
    check(&terminal, &running);
    show(&mut view, &[result("b")]);
    let mut settled = [
        "  Let me look.",
        "",
        "✔ run_shell_command  ls",
        "⠦ run_shell_command  cargo test  12 s",
        "⠦ 12 s · running run_shell_command",
    ];
    check(&terminal, &settled);
    view.show_cancelling().unwrap();
    settled[4] = "⠦ 12 s · cancelling… (Ctrl-C again to kill)";
    check(&terminal, &settled);
    view.finish().unwrap();
    let over = [
        "  Let me look.",
        "",
        "✔ run_shell_command  ls",
        "✘ run_shell_command  cargo test  no result",
        "",
        "— 2 tool calls",
    ];
    check(&terminal, &over);
}

#[test]
fn more_calls_than_fit_are_counted() {
    let (mut view, terminal) = view(NARROW, false);
    let calls: Vec<_> = (0..9)
        .map(|n| call(&n.to_string(), &format!("echo {n}")))
        .collect();
    show(&mut view, &calls);
    check(
        &terminal,
        &[
            "⠋ run_shell_command  echo 0  0 s",
            "⠋ run_shell_command  echo 1  0 s",
            "+7 more",
            "⠋ 0 s · running 9 tools",
        ],
    );
}

#[test]
fn a_line_grows_and_takes_on_its_style_when_its_marks_are_closed() {
    let (mut view, terminal) = view(WIDE, true);
    show(&mut view, &[delta("# A ti")]);
    check(&terminal, &["  A ti", "⠋ 0 s · writing"]);
    show(&mut view, &[delta("tle\nsome **bo")]);
    check(&terminal, &["  A title", "  some **bo", "⠋ 0 s · writing"]);
    show(&mut view, &[delta("ld** words")]);
    check(
        &terminal,
        &["  A title", "  some bold words", "⠋ 0 s · writing"],
    );
    assert!(terminal.styled().contains("  some ‹bold›bold‹› words"));
}

#[test]
fn emphasis_that_goes_over_a_row_is_waited_for_but_not_for_ever() {
    let (mut view, terminal) = view(NARROW, true);
    let words = "The words that matter **come at the end of it** and then some more of them.\n";
    show(&mut view, &[delta(words)]);
    let expected = [
        "  The words that matter ‹bold›come at the end",
        "  ‹bold›of it‹› and then some more of them.",
        "‹bold blue›⠋‹dim› 0 s · writing",
        "",
    ];
    assert_eq!(terminal.styled(), expected.join("\n"));
    show(
        &mut view,
        &[delta(&format!(
            "**{}and `code`\n",
            "never closed ".repeat(9)
        ))],
    );
    assert!(
        terminal
            .everything()
            .contains("\n  **never closed never closed never\n")
    );
    assert!(terminal.styled().contains(" and ‹cyan›code\n"));
}

#[test]
fn a_line_that_becomes_shorter_leaves_nothing_behind() {
    let (mut view, terminal) = view(NARROW, true);
    let address = "https://an.example/that/is/not/short";
    show(&mut view, &[delta(&format!("[{address}]({address}"))]);
    assert_eq!(terminal.screen().lines().count(), 3);
    show(&mut view, &[delta(")")]);
    check(&terminal, &[&format!("  {address}"), "⠋ 0 s · writing"]);
}

#[test]
fn a_tick_writes_the_status_line_and_nothing_else() {
    let (mut view, terminal) = view(WIDE, false);
    show(&mut view, &[delta("some words"), call("a", "sleep 5")]);
    view.show_elapsed(Duration::from_secs(3)).unwrap();
    terminal.bytes.borrow_mut().clear();
    view.show_elapsed(Duration::from_secs(3)).unwrap();
    assert_eq!(terminal.bytes.borrow().len(), 0);
    view.show_elapsed(Duration::from_secs(4)).unwrap();
    let written = String::from_utf8(terminal.bytes.borrow().clone()).unwrap();
    assert!(!written.contains("some words"), "{written:?}");
}

#[test]
fn a_long_silence_is_named_in_the_status_line() {
    let (mut view, terminal) = view(WIDE, false);
    show(&mut view, &[delta("some words")]);
    view.show_elapsed(Duration::from_secs(15)).unwrap();
    check(&terminal, &["  some words", "⠋ 15 s · writing"]);
    view.show_elapsed(Duration::from_secs(35)).unwrap();
    let silent = "⠋ 35 s · writing, silent for 35 s (Ctrl-C cancels)";
    check(&terminal, &["  some words", silent]);
    show(&mut view, &[delta(" and more")]);
    check(&terminal, &["  some words and more", "⠋ 35 s · writing"]);
}

#[test]
fn a_resized_terminal_is_redrawn_at_once() {
    let (mut view, terminal) = view(WIDE, false);
    let words = "word ".repeat(12);
    show(
        &mut view,
        &[delta(&words), call("a", "a command that is not short")],
    );
    let size = TerminalSize {
        width: 20,
        height: 8,
    };
    terminal.resize(size);
    view.resize(size).unwrap();
    show(&mut view, &[result("a"), delta(&words)]);
    view.finish().unwrap();
    let row = "  word word word";
    let expected = [
        // The terminal itself breaks finished rows.
        "  word word word wor",
        "d word word word wor",
        "d word word word wor",
        "d",
        "",
        "✔ run_shell_comman…",
        "",
        row,
        row,
        row,
        row,
        "",
        "— 0.3 s · 1 tool",
        "│ call",
        "",
    ];
    assert_eq!(terminal.everything(), expected.join("\n"));
}

#[test]
fn without_utf8_everything_is_spelled_in_ascii() {
    let terminal = Terminal::new(WIDE);
    let options = LiveOptions {
        size: WIDE,
        colour: true,
        marks: MarkSet::Ascii,
    };
    let mut view = LiveView::new(terminal.clone(), options);
    show(
        &mut view,
        &[
            delta("- caf\u{e9} \u{96db}…"),
            call("a", "echo \u{9b}2J雛"),
            result("a"),
        ],
    );
    view.finish().unwrap();
    assert!(terminal.bytes.borrow().is_ascii());
    let expected = "  * caf\\u{e9} \\u{96db}...\n\n+ run_shell_command  echo \\u{96db}  0.3 s\n\n-- 0.6 s - 1 tool call\n";
    assert_eq!(terminal.everything(), expected);
}
