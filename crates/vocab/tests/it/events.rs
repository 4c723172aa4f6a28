//! Events as JSON, read and written.

use lapidary_vocab::Event;

#[test]
fn fields_words_and_events_of_a_newer_version_survive() {
    for line in [
        r#"{"event":"text","text":"\ud83d","kind":"poem","id":"r-0","seq":0,"provider":"newcomer","raw":{"n":9007199254740993},"later":[1.10]}"#,
        r#"{"event":"invented_later","id":"r-1","seq":1,"provider":"gemini","x":1e400}"#,
        r#"{"event":"tool_completion","callId":"c","status":"completed","output":null,"id":"r-1","seq":1,"provider":"gemini","raw":null}"#,
        r#"{"event":"tool_completion","callId":"c","status":"postponed","content":[{"type":"hologram","z":1}],"id":"r-2","seq":2,"provider":"acp"}"#,
    ] {
        assert_eq!(Event::from_json(line).unwrap().to_json(), line);
    }
}

#[test]
fn a_wrong_type_is_an_error_not_a_guess() {
    for line in [
        "",
        "[]",
        r#"{"event":"text","text":5,"kind":"text","id":"r-0","seq":0,"provider":"gemini"}"#,
        r#"{"event":"text","text":"x","kind":"text","seq":0}"#,
    ] {
        assert!(Event::from_json(line).is_err(), "{line}");
    }
}
