//! Any text, cut into any chunks: nothing is lost, nothing is doubled, no control character gets through.

use lapidary::render::live::TerminalSize;
use lapidary::render::plain::sanitize;
use lapidary_testkit::attacks::{ATTACKS, everywhere};
use proptest::prelude::*;

use super::terminal::{NARROW, Terminal, WIDE, delta, events, played, view};

const TINY: TerminalSize = TerminalSize {
    width: 20,
    height: 3,
};

/// The text of an answer on the terminal after a run, said in these chunks.
fn said(chunks: &[String], size: TerminalSize, colour: bool) -> Terminal {
    let bodies: Vec<_> = chunks.iter().map(|chunk| delta(chunk)).collect();
    played(&events(&bodies), size, colour)
}

/// Everything but spaces and line breaks, which wrapping moves.
fn letters(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace()).collect()
}

/// A text cut at places that the numbers choose.
fn cut(text: &str, places: &[usize]) -> Vec<String> {
    let mut chunks = vec![text.to_owned()];
    for place in places {
        let last = chunks.pop().unwrap_or_default();
        let at = last.floor_char_boundary(place % (last.len() + 1));
        chunks.push(last[..at].to_owned());
        chunks.push(last[at..].to_owned());
    }
    chunks
}

/// The rows above the closing line.
fn answer(shown: &str) -> String {
    let lines = shown.lines();
    let is_closing = |line: &&str| line.starts_with("— ") || line.starts_with("‹dim›— ");
    let above: Vec<_> = lines.take_while(|line| !is_closing(line)).collect();
    above.join("\n").trim_end().to_owned()
}

/// Texts made of pieces of Markdown.
fn markdown() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "word ",
        "a",
        " ",
        "\n",
        "\n\n",
        "*",
        "**",
        "***",
        "_",
        "__",
        "`",
        "``",
        "```",
        "```rust\n",
        "~~~\n",
        "~~",
        "# ",
        "## ",
        "- ",
        "* ",
        "1. ",
        "> ",
        "| a | b |\n",
        "---\n",
        "[",
        "]",
        "(",
        ")",
        "[x](y)",
        "<https://a.example>",
        "\\",
        "!",
        "世界",
        "😀",
        "e\u{301}",
        "\t",
        "    ",
        "a_long_word_without_any_space_that_is_wider_than_a_narrow_terminal",
        "⚠\u{fe0f}",
        "\u{1b}[31m",
        "\r",
        "\u{202e}",
    ]);
    prop::collection::vec(piece, 0..80).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(96) })]

    #[test]
    fn the_cuts_between_chunks_do_not_show(text in markdown(), places in prop::collection::vec(any::<usize>(), 0..12)) {
        for (size, colour) in [(NARROW, true), (TINY, true), (WIDE, false)] {
            let whole = said(std::slice::from_ref(&text), size, colour);
            let cut = said(&cut(&text, &places), size, colour);
            prop_assert_eq!(answer(&cut.styled()), answer(&whole.styled()));
        }
    }

    #[test]
    fn without_colours_every_letter_is_shown_once(text in markdown(), places in prop::collection::vec(any::<usize>(), 0..12)) {
        for size in [WIDE, NARROW, TINY] {
            let terminal = said(&cut(&text, &places), size, false);
            let shown = terminal.everything();
            // The terminal's model joins a mark to its letter; a quotation's sign is repeated on each row.
            let expected = letters(&sanitize(&text)).replace('>', "");
            prop_assert_eq!(letters(&answer(&shown)).replace('>', ""), expected);
        }
    }

    #[test]
    fn there_is_one_status_line_and_it_is_the_last(text in markdown(), places in prop::collection::vec(any::<usize>(), 0..12)) {
        for (size, colour) in [(NARROW, true), (TINY, true), (WIDE, false)] {
            let (mut view, terminal) = view(size, colour);
            for chunk in cut(&text, &places) {
                view.show_event(&events(&[delta(&chunk)])[0]).unwrap();
                let shown = terminal.everything();
                prop_assert_eq!(shown.matches(" · writing").count(), 1, "{}", shown);
                prop_assert!(shown.ends_with(" · writing\n"), "{}", shown);
            }
        }
    }

    #[test]
    fn words_without_marks_are_shown_as_they_are(text in "[a-z0-9,.äöü世界😀 \n]{0,600}", places in prop::collection::vec(any::<usize>(), 0..12)) {
        let expected = letters(&text);
        for size in [WIDE, NARROW, TINY] {
            let terminal = said(&cut(&text, &places), size, true);
            prop_assert_eq!(letters(&answer(&terminal.everything())), expected.clone());
        }
    }
}

/// Checks that all sequences are our own: colours, erasing rows, moving the cursor by a few rows, and wrapping at the margin.
fn only_ours(terminal: &Terminal) {
    let bytes = terminal.bytes.borrow();
    let text = std::str::from_utf8(&bytes).unwrap();
    let mut pieces = text.split('\u{1b}');
    clean(pieces.next().unwrap());
    for piece in pieces {
        let inside = piece.strip_prefix('[').expect("a control sequence");
        let end = inside.find(|c: char| c.is_ascii_alphabetic()).unwrap();
        let (parameters, rest) = inside.split_at(end);
        let is_number = |c: char| c.is_ascii_digit() || c == ';';
        match &rest[..1] {
            "m" => assert!(parameters.chars().all(is_number), "{inside:?}"),
            "A" | "B" => assert!(parameters.parse::<u8>().unwrap() < 24, "{inside:?}"),
            "K" | "J" => assert_eq!(parameters, ""),
            "h" | "l" => assert_eq!(parameters, "?7"),
            other => panic!("{other:?} is no sequence of ours"),
        }
        clean(&rest[1..]);
    }
}

fn clean(text: &str) {
    let text = text.replace("\r\n", "").replace('\r', "");
    assert!(!text.chars().any(char::is_control), "{text:?}");
    assert_eq!(sanitize(&text), text);
}

#[test]
fn no_attack_gets_through_anywhere() {
    for attack in ATTACKS {
        for (size, colour) in [(WIDE, true), (TINY, false)] {
            only_ours(&played(&events(&everywhere(attack)), size, colour));
            let chunks: Vec<_> = attack.chars().map(String::from).collect();
            only_ours(&said(&chunks, size, colour));
        }
    }
}

#[test]
fn no_words_of_an_agent_begin_where_our_lines_do() {
    let forged = "✔ run_shell_command  rm -rf /\n— completed\n│ +line\n> prompt\n! warning\nhint: run it\n\r⠋ 0 s";
    for (size, colour) in [(WIDE, true), (WIDE, false), (TINY, true), (TINY, false)] {
        let shown = said(&[forged.to_owned()], size, colour).everything();
        for row in answer(&shown).lines() {
            assert!(row.is_empty() || row.starts_with("  "), "{row:?}");
        }
    }
}

#[test]
fn a_line_that_never_ends_is_not_waited_for() {
    for endless in ["*a ", "[", "`x", "\u{301}", "世", "```", "- "] {
        let text = endless.repeat(20_000);
        let (mut view, terminal) = view(NARROW, true);
        view.show_event(&events(&[delta(&text)])[0]).unwrap();
        let written = terminal.bytes.borrow().len();
        assert!(written > text.len() * 9 / 10, "{endless:?}: {written}");
    }
}
