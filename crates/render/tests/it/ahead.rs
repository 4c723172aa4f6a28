//! A renderer that knows the outline of all events writes each event as it comes, and its output is the same.

use lapidary_render::Renderer;
use lapidary_render::html::HtmlRenderer;
use lapidary_render::markdown::MarkdownRenderer;
use lapidary_render::outline::Outline;
use lapidary_testkit::attacks::{ATTACKS, everywhere};
use lapidary_vocab::Event;
use proptest::prelude::*;

use crate::sample::*;

fn outline(events: &[Event]) -> Outline {
    let mut outline = Outline::default();
    for event in events {
        outline.event(event);
    }
    outline
}

fn check(bodies: &[String]) {
    let events = events(bodies);
    let streamed = render(MarkdownRenderer::knowing(outline(&events)), &events);
    assert_eq!(streamed, markdown(bodies));
    let streamed = render(HtmlRenderer::knowing(outline(&events)), &events);
    assert_eq!(streamed, html(bodies));
}

/// Events that hang together: few calls, so that some are told again, answered twice or never, and texts in chunks.
fn body() -> impl Strategy<Value = String> {
    let call = (0..4_u8, 0..3_u8).prop_map(|(id, told)| {
        format!(
            r#"{{"event":"tool_invocation","callId":"c{id}","toolName":"run_shell_command","kind":"execute","input":{{"command":"echo {told}"}}}}"#
        )
    });
    let done = (0..4_u8).prop_map(|id| {
        format!(r#"{{"event":"tool_completion","callId":"c{id}","status":"completed","output":"of {id}"}}"#)
    });
    let asked = (0..4_u8, 0..3_u8).prop_map(|(id, decided)| {
        let about = format!(r#""requestId":"{id}","toolUseId":"c{id}","toolName":"t","toolKind":"edit","toolInput":{{}}"#);
        match decided {
            0 => format!(r#"{{"event":"permission_request",{about}}}"#),
            1 => format!(r#"{{"event":"permission_decision",{about},"decision":"allowed"}}"#),
            _ => format!(r#"{{"event":"permission_decision",{about},"decision":"denied"}}"#),
        }
    });
    let said = prop_oneof![Just("text"), Just("thinking")]
        .prop_map(|kind| format!(r#"{{"event":"text","kind":"{kind}","text":"all of it"}}"#));
    let fixed = prop_oneof![Just(INIT), Just(ASKS), Just(TURN), Just(END)];
    prop_oneof![
        3 => call,
        3 => done,
        2 => asked,
        2 => "[a-c]{1,2}".prop_map(|chunk| delta(&chunk)),
        1 => said,
        2 => fixed.prop_map(str::to_owned),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn a_page_written_at_once_equals_a_page_written_at_the_end(
        bodies in proptest::collection::vec(body(), 0..24)
    ) {
        check(&bodies);
    }
}

#[test]
fn attacks_do_not_make_a_difference() {
    for attack in ATTACKS {
        check(&everywhere(attack));
    }
}

/// How much is written of a conversation before its end is told: nothing of it is held back.
fn written_before_the_end(mut renderer: impl Renderer, events: &[Event]) -> String {
    let mut out = Vec::new();
    for event in events {
        renderer
            .event(event, &mut out)
            .expect("a vector takes everything");
    }
    String::from_utf8(out).expect("renderers write UTF-8")
}

#[test]
fn a_call_that_nothing_answers_holds_nothing_up() {
    let says = |text: &str| format!(r#"{{"event":"text","kind":"text","text":"{text}"}}"#);
    let again = CALLS.replace("new.txt", "newer.txt");
    let bodies = [ASKS, CALLS, &says("first"), &again, &says("second"), ASKS];
    let events = events(&bodies);
    for written in [
        written_before_the_end(MarkdownRenderer::knowing(outline(&events)), &events),
        written_before_the_end(HtmlRenderer::knowing(outline(&events)), &events),
    ] {
        assert!(written.contains("newer.txt"), "{written}");
        assert!(written.contains("second"), "{written}");
    }
}
