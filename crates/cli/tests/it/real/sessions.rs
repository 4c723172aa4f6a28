//! Sessions, as far as they are passed through.

use lapidary_standin::api::Script;
use lapidary_testkit::gemini::GeminiVersion::V0_61_0;

use super::world::Real;

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn a_session_is_begun_with_an_id_and_continued() {
    let real = Real::new(
        V0_61_0,
        Script::new().stream("One.").stream("Two.").stream("Three."),
    );
    let id = "0e0f8f5c-1111-4222-8333-abcdefabcdef";
    let told = real.run(&["--session-id", id, "first question"]);
    assert_eq!(told.verdict(), ("end_turn", Some(0)));
    assert_eq!(told.end()["sessionId"], id);
    for session in ["latest", id] {
        let told = real.run(&["--resume", session, "next question"]);
        assert_eq!(told.verdict(), ("end_turn", Some(0)), "{told:?}");
        assert_eq!(told.end()["sessionId"], id);
    }
    let requests = real.api.requests();
    let last = requests.last().unwrap();
    assert!(
        format!("{last:?}").contains("first question"),
        "the model is told what was said before"
    );
    let told = real.run(&["--resume", "no-such-session", "go"]);
    assert_eq!(told.verdict(), ("bad_input", Some(13)), "{told:?}");
}
