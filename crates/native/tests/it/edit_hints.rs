//! A miss of `replace`: Gemini CLI's sentence, and beside it the place that was probably meant.

use lapidary_native::tools::file_tools;
use lapidary_standin::api::{Script, Turn};
use serde_json::{Value, json};

use crate::scene::{Stage, tools};
use crate::support::TestWorkspace;

async fn response_to(old: &str) -> Value {
    let workspace = TestWorkspace::new();
    workspace.write("a.rs", "fn one() {\n    let total = count + 1;\n}\n");
    let call =
        json!({"file_path": "a.rs", "instruction": "x", "old_string": old, "new_string": "y"});
    let script = Script::new()
        .stream(Turn::call("replace", call))
        .stream(Turn::call("complete_task", json!({"result": "x"})));
    let mut stage = Stage::new(script);
    stage.executor.tools = file_tools(&workspace.open());
    stage.definition.tool_config = Some(tools(&["replace"]));
    let scene = stage.play().await;
    scene.told(1)[0]["functionResponse"]["response"].clone()
}

#[tokio::test]
async fn a_miss_has_the_sentence_of_gemini_cli_and_the_nearest_place_beside_it() {
    let unclear = response_to("    let totals = count + 2;\n").await;
    let near = response_to("    let sum = count + total - 1;\n").await;
    let far = response_to("nothing like it at all").await;
    let error = far["error"].as_str().unwrap();
    assert!(
        error.starts_with("Could not find an exact match for 'old_string' in 'a.rs'."),
        "{error}"
    );
    assert_eq!(far, json!({"error": error}));
    let hint =
        "Lines 2-2 are nearly the same, but the lines that the edit changes are different there.";
    assert_eq!(unclear, json!({"error": error, "hint": hint}));
    let hint = "The nearest text is at lines 2-2. Line 2 of the file is `    let total = count + 1;`, and `old_string` has `    let sum = count + total - 1;`.";
    assert_eq!(near, json!({"error": error, "hint": hint}));
}
