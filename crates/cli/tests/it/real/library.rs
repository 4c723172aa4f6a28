//! The library with the real CLI.

use lapidary::engine::config::Config;
use lapidary::engine::gemini_cli::PromptText;
use lapidary::engine::headless::Job;
use lapidary::execute::{DataRequest, execute};
use lapidary::vocab::Cause;
use lapidary_standin::api::Script;
use lapidary_testkit::gemini::GeminiVersion::V0_61_0;
use serde_json::{Value, json};

use super::world::Real;

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn an_execution_of_the_real_cli_is_a_success_with_the_messages_of_both_sides() {
    let real = Real::new(V0_61_0, Script::new().stream("{\"answer\": 42}"));
    let config = Config::builder().model("gemini-2.5-flash").build().unwrap();
    let prompt = PromptText::Text("go".to_owned());
    let job = Job::gemini(&real.host(), config, prompt, "run-1");
    let executed = execute(&job, DataRequest::Json, |_| {});
    assert!(executed.success, "{executed:?}");
    assert_eq!((executed.exit_code, executed.cause), (0, Cause::EndTurn));
    assert_eq!(executed.error, None);
    assert!(executed.session_id.is_some());
    assert_eq!(executed.data, Some(json!({"answer": 42})));
    let messages = executed.messages.iter().map(|message| {
        let message = serde_json::to_value(message).unwrap();
        json!({"role": message["role"], "content": message["content"]})
    });
    let messages: Vec<Value> = messages.collect();
    let expected = [
        json!({"role": "user", "content": [{"type": "text", "text": "go"}]}),
        json!({"role": "assistant", "content": [{"type": "text", "text": "{\"answer\": 42}"}]}),
    ];
    assert_eq!(messages, expected);
    real.assert_nothing_is_left();
}
