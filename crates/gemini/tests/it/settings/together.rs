//! Many processes change one file at the same time.

use std::path::PathBuf;
use std::process::Command;

use lapidary_gemini::settings::{EditError, edit};
use serde_json::Value;

const FILE: &str = "LAPIDARY_TEST_SETTINGS";
const NAME: &str = "LAPIDARY_TEST_NAME";
const EACH: usize = 20;

/// What each of them does.
#[test]
fn child() {
    let Some(path) = std::env::var_os(FILE).map(PathBuf::from) else {
        return;
    };
    let name = std::env::var(NAME).unwrap();
    for at in 0..EACH {
        edit(&path, |settings| -> Result<(), EditError> {
            settings.push(&["skills", "disabled"], &format!("{name}-{at}"))?;
            Ok(())
        })
        .unwrap();
    }
}

#[test]
fn no_change_of_another_process_is_lost_and_no_half_file_is_seen() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(".gemini/settings.json");
    let children: Vec<_> = (0..4)
        .map(|name| {
            Command::new(std::env::current_exe().unwrap())
                .args(["--exact", "settings::together::child", "--nocapture"])
                .env(FILE, &path)
                .env(NAME, name.to_string())
                .stdout(std::process::Stdio::null())
                .spawn()
                .unwrap()
        })
        .collect();
    for mut child in children {
        while child.try_wait().unwrap().is_none() {
            if let Ok(text) = std::fs::read_to_string(&path) {
                serde_json::from_str::<Value>(&text).expect("the whole file");
            }
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        assert!(child.wait().unwrap().success());
    }
    let text = std::fs::read_to_string(&path).unwrap();
    let value: Value = serde_json::from_str(&text).unwrap();
    let disabled = value["skills"]["disabled"].as_array().unwrap();
    assert_eq!(disabled.len(), 4 * EACH);
    let left = std::fs::read_dir(path.parent().unwrap()).unwrap().count();
    assert_eq!(left, 1, "no temporary file, no lock");
}
