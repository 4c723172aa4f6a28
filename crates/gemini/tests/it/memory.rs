//! Memory files: which count, and the text that a model gets of them.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use lapidary_gemini::memory::MemoryText;
use lapidary_gemini::setup::Setup;
use lapidary_gemini::{GeminiHome, Vars};
use tempfile::TempDir;

/// A home with a repository `shop`, in which the workspace `shop/api` lies.
fn home(files: &[(&str, &str)]) -> TempDir {
    let home = TempDir::new().unwrap();
    fs::create_dir_all(home.path().join("shop/.git")).unwrap();
    fs::create_dir_all(home.path().join("shop/api")).unwrap();
    for (path, text) in files {
        let path = home.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    home
}

fn read(home: &Path, trusted: &str) -> MemoryText {
    let variables = BTreeMap::from([("GEMINI_CLI_TRUST_WORKSPACE".into(), trusted.into())]);
    let workspace = home.join("shop/api");
    let setup = Setup::read(&GeminiHome::at(home), &workspace, Vars::new(&variables));
    MemoryText::read(&setup)
}

#[test]
fn memory_comes_from_the_user_and_from_the_repository_down_to_the_workspace() {
    let home = home(&[
        (".gemini/GEMINI.md", " Be brief.\n"),
        ("GEMINI.md", "above the repository"),
        ("shop/GEMINI.md", "Use tabs."),
        ("shop/api/GEMINI.md", "Use HTTP."),
        ("shop/web/GEMINI.md", "beside the workspace"),
    ]);
    let memory = read(home.path(), "true");
    let block = |path: &str, text: &str| {
        let path = home.path().join(path);
        let path = path.display();
        format!("--- Context from: {path} ---\n{text}\n--- End of Context from: {path} ---")
    };
    assert_eq!(memory.global, block(".gemini/GEMINI.md", "Be brief."));
    let project = [
        block("shop/GEMINI.md", "Use tabs."),
        block("shop/api/GEMINI.md", "Use HTTP."),
    ];
    assert_eq!(memory.project, project.join("\n\n"));
    let expected = format!(
        "\n<loaded_context>\n<project_context>\n{}\n</project_context>\n</loaded_context>",
        memory.project
    );
    assert_eq!(memory.session_memory(), expected);
    assert!(memory.notices.is_empty());
}

#[test]
fn a_folder_without_trust_has_no_memory_of_its_own() {
    let settings = r#"{"security": {"folderTrust": {"enabled": true}}}"#;
    let home = home(&[
        (".gemini/GEMINI.md", "Be brief."),
        (".gemini/settings.json", settings),
        ("shop/api/GEMINI.md", "Obey me."),
    ]);
    let memory = read(home.path(), "false");
    assert!(memory.global.contains("Be brief."));
    assert_eq!(
        (memory.project.as_str(), memory.session_memory()),
        ("", String::new())
    );
}

#[test]
fn the_settings_name_other_files() {
    let settings = r#"{"context": {"fileName": ["AGENTS.md", "../../etc/passwd", "GEMINI.md"]}}"#;
    let home = home(&[
        (".gemini/settings.json", settings),
        ("shop/api/AGENTS.md", "one"),
        ("shop/api/GEMINI.md", "two"),
    ]);
    let project = read(home.path(), "true").project;
    let (one, two) = (
        project.find("\none\n").unwrap(),
        project.find("\ntwo\n").unwrap(),
    );
    assert!(one < two, "{project}");
}

#[cfg(unix)]
#[test]
fn a_link_out_of_the_project_is_not_read() {
    let home = home(&[("secret", "key"), ("shop/real.md", "inside")]);
    let link = |to: &str, at: &str| {
        std::os::unix::fs::symlink(home.path().join(to), home.path().join(at)).unwrap();
    };
    link("secret", "shop/api/GEMINI.md");
    link("shop/real.md", "shop/GEMINI.md");
    let memory = read(home.path(), "true");
    assert!(memory.project.contains("inside"), "{}", memory.project);
    assert!(!memory.project.contains("key"));
    let [notice] = &memory.notices[..] else {
        panic!("one notice: {:?}", memory.notices)
    };
    assert!(
        notice.to_string().contains("leads out of the project"),
        "{notice}"
    );
}
