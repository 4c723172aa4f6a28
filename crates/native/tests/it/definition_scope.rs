//! What only a library caller can set in a definition: more directories, and a first message without the memory of extensions.

use std::fs;
use std::sync::Arc;

use lapidary_native::executor::{AgentError, WorkspaceContext};
use lapidary_native::tools::file_tools;
use lapidary_standin::api::{Script, Turn};
use serde_json::json;

use crate::scene::{Stage, request, tools};
use crate::support::TestWorkspace;

fn done() -> Turn {
    Turn::call("complete_task", json!({"result": "x"}))
}

#[tokio::test]
async fn an_agent_reaches_the_directories_of_its_definition_and_another_agent_does_not() {
    let workspace = TestWorkspace::new();
    let beside = workspace.outside().join("beside");
    fs::create_dir(&beside).unwrap();
    fs::write(beside.join("note.txt"), "a note\n").unwrap();
    let note = beside.join("note.txt");
    let shared = workspace.open();
    for is_added in [true, false] {
        let read = json!({"file_path": note});
        let script = Script::new()
            .stream(Turn::call("read_file", read))
            .stream(done());
        let mut stage = Stage::new(script);
        stage.executor.tools = file_tools(&shared);
        stage.definition.tool_config = Some(tools(&["read_file"]));
        if is_added {
            stage.definition.workspace_directories = vec![beside.clone()];
        }
        let scene = stage.play().await;
        let told = scene.responses(1);
        let is_read = told == ["read_file: a note\n"];
        assert_eq!(is_read, is_added, "{told:?}");
    }
    assert_eq!(shared.roots(), std::slice::from_ref(&workspace.root));
}

#[tokio::test]
async fn a_directory_that_is_everything_nowhere_or_relative_ends_the_task_before_the_model_is_asked()
 {
    let workspace = TestWorkspace::new();
    let link = workspace.outside().join("link");
    std::os::unix::fs::symlink("/", &link).unwrap();
    for (directory, reason) in [
        ("/".into(), "it is the root directory"),
        ("/usr/..".into(), "it is the root directory"),
        (link, "it is the root directory"),
        ("beside".into(), "it is not an absolute path"),
        (workspace.outside().join("nowhere"), "No such file"),
    ] {
        let stage = Stage::new(Script::new());
        let mut definition = stage.definition;
        definition.workspace_directories = vec![directory];
        let request = request(definition);
        let run = stage
            .executor
            .run(&request, &|_| {}, &stage.cancelled)
            .await;
        let Err(AgentError::Directory { reason: told, .. }) = run else {
            panic!("{run:?}");
        };
        assert!(told.starts_with(reason), "{told}");
        assert!(stage.model.requests().is_empty());
    }
}

#[tokio::test(start_paused = true)]
async fn a_definition_can_leave_out_the_memory_of_extensions() {
    for (included, memory) in [
        (None, "extensions and project"),
        (Some(true), "extensions and project"),
        (Some(false), "project"),
    ] {
        let mut stage = Stage::new(Script::new().stream(done()));
        stage.definition.include_extension_context = included;
        stage.executor.context = Arc::new(WorkspaceContext {
            session_memory: "extensions and project".to_owned(),
            project_memory: "project".to_owned(),
            ..WorkspaceContext::default()
        });
        let scene = stage.play().await;
        let expected = [json!({"text": memory}), json!({"text": "Find it."})];
        assert_eq!(scene.told(0), expected);
    }
}
