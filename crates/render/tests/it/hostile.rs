//! Everything an agent, a file or a page can say is tried in every place where text can stand.

use lapidary_render::html::{HtmlRenderer, permission_html};
use lapidary_render::markdown::MarkdownRenderer;
use lapidary_render::text::{TextOptions, TextRenderer};
use lapidary_testkit::attacks::{ATTACKS, everywhere};

use crate::sample::*;
use crate::well_formed;

fn check(bodies: &[String]) {
    well_formed::clean(&text(bodies));
    well_formed::markdown(&markdown(bodies));
    well_formed::html(&html(bodies));
    without_our_colours(&coloured(bodies));
}

/// The only sequences on a terminal are our own colours.
fn without_our_colours(coloured: &str) {
    let mut pieces = coloured.split('\u{1b}');
    well_formed::clean(pieces.next().unwrap_or_default());
    for piece in pieces {
        let (style, rest) = piece
            .strip_prefix('[')
            .and_then(|piece| piece.split_once('m'))
            .expect("a colour");
        assert!(
            style.chars().all(|c| c.is_ascii_digit() || c == ';'),
            "{style:?}"
        );
        well_formed::clean(rest);
    }
}

#[test]
fn no_attack_gets_through_anywhere() {
    for attack in ATTACKS {
        check(&everywhere(attack));
    }
}

#[test]
fn no_attack_gets_through_beside_the_body() {
    for attack in ATTACKS {
        let mut events = events(&[INIT, ASKS, CALLS, DENIED, TURN, END]);
        for event in &mut events {
            event.base.timestamp = Some(attack.to_owned().into());
            event.base.session_id = Some(attack.to_owned().into());
            event.base.provider = attack.into();
        }
        well_formed::clean(&render(TextRenderer::new(TextOptions::default()), &events));
        well_formed::markdown(&render(MarkdownRenderer::default(), &events));
        well_formed::html(&render(HtmlRenderer::default(), &events));
    }
}

#[test]
fn no_attack_gets_through_in_chunks() {
    for attack in ATTACKS {
        let chunks: Vec<_> = attack.chars().map(|c| delta(&c.to_string())).collect();
        check(&chunks);
    }
}

#[test]
fn combined_attacks_reach_no_terminal_either() {
    // A fixed sequence of pseudo-random mixtures: the same in every run.
    let mut seed = 0x2545_f491_4f6c_dd1d_u64;
    let mut next = move |below: usize| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        usize::try_from(seed % below as u64).expect("a small number")
    };
    for _ in 0..400 {
        let pieces = 2 + next(5);
        let mix: Vec<_> = (0..pieces).map(|_| ATTACKS[next(ATTACKS.len())]).collect();
        let glue = ["", " ", "\n", "\n\n", "`", "\\", "> ", "[", "<"][next(9)];
        let mix = quoted(&mix.join(glue));
        check(&[
            format!(r#"{{"event":"user_input","text":{mix}}}"#),
            format!(r#"{{"event":"text","kind":"thinking","text":{mix}}}"#),
            format!(r#"{{"event":"text","kind":"text","text":{mix}}}"#),
            format!(
                r#"{{"event":"tool_completion","callId":"x","status":"failed","output":{mix}}}"#
            ),
        ]);
    }
}

#[test]
fn hostile_text_is_still_readable() {
    let said = "\u{1b}[31m<script>alert(1)</script>\u{1b}[0m \u{202e}x";
    let body = format!(
        r#"{{"event":"text","kind":"text","text":{}}}"#,
        quoted(said)
    );
    assert_eq!(text(&[&body]), "<script>alert(1)</script> \\u{202e}x\n");
    assert!(markdown(&[&body]).contains("&lt;script>alert(1)&lt;/script> \\u{202e}x"));
    assert!(html(&[&body]).contains("&lt;script&gt;alert(1)&lt;/script&gt; \\u{202e}x"));
}

/// An answer that is too long for Markdown takes a way of its own, which must be as safe.
#[test]
fn no_attack_gets_through_in_an_answer_too_long_to_be_prose() {
    let attack =
        "<script>alert(1)</script> </pre></div> [x](javascript:a) \u{1b}[31m \u{202e} ````\n";
    let long = attack.repeat(1024 * 1024 / attack.len() + 2);
    let bodies = [delta(&long), delta("the end")];
    let page = html(&bodies);
    well_formed::html(&page);
    assert!(page.contains("the end</pre>\n</div>"));
    let document = markdown(&bodies);
    well_formed::markdown(&document);
    assert!(document.contains("\n`````\n<script>"));
    assert!(document.contains("the end\n`````\n"));
}

#[test]
fn what_is_to_be_approved_hides_no_word() {
    const SPOOF: &str = r#""ls \u001b]0; rm x\u0007""#;
    for input in [
        "{\"command\":$}",
        "{\"text\":$}",
        "{\"file_path\":\"a\",\"old_string\":\"a\",\"new_string\":$}",
    ] {
        let input = input.replace('$', SPOOF);
        let line = format!(
            r#"{{"event":"permission_request","id":"r-0","seq":0,"provider":"acp","requestId":"1","toolName":"x","toolKind":"execute","toolInput":{input}}}"#
        );
        let event = lapidary_vocab::Event::from_json(&line).unwrap();
        let lapidary_vocab::Body::PermissionRequest(request) = event.body else {
            panic!("{line}");
        };
        let html = permission_html(&request);
        assert!(
            html.contains("\\u{1b}]0; ") && html.contains("\\u{7}"),
            "{html}"
        );
    }
}
