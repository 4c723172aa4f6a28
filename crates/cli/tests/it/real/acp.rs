//! Gemini CLI, spoken to over ACP: each line that we say is checked against the protocol's own schema.

use lapidary_standin::api::{Chunk, Script, Turn};
use lapidary_testkit::gemini::Version::V0_61_0;
use serde_json::{Value, json};

use super::world::{Real, outline};
use crate::run::world::Told;

/// A run over ACP.
fn spoken(real: &Real, args: &[&str]) -> Told {
    real.run(&[&["--transport", "acp"], args].concat())
}

fn shell(command: &str) -> Turn {
    Turn::call("run_shell_command", json!({"command": command}))
}

/// The events of a name, one field of each.
fn fields<'a>(told: &'a Told, event: &str, field: &str) -> Vec<&'a str> {
    let named = told.events.iter().filter(|it| it["event"] == event);
    named.map(|it| it[field].as_str().unwrap_or("-")).collect()
}

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn text_and_thoughts() {
    let thinking = Turn::chunks([Chunk::thought("**Plan** think first"), Chunk::text("Hello "), Chunk::text("you.")]);
    let real = Real::new(V0_61_0, Script::new().stream(thinking));
    let told = spoken(&real, &["say hello"]);
    assert_eq!(told.verdict(), ("end_turn", Some(0)), "{:#?}", outline(&told));
    let lines = outline(&told);
    for line in ["user_input say hello", "turn_complete end_turn", "run_end end_turn"] {
        assert!(lines.iter().any(|it| it == line), "{line}: {lines:#?}");
    }
    let text: String = fields(&told, "stream_delta", "textDelta").into_iter().filter(|it| *it != "-").collect();
    assert!(text.contains("think first") && text.ends_with("Hello you."), "{text}");
}
