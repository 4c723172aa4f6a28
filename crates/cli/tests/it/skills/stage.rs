//! A world for skills: a home, a project, and the commands that run in it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use lapidary_testkit::gemini::{GeminiVersion, GeminiWorld};
use serde_json::{Value, json};

use crate::support::{Ran, lapidary, output};

pub(super) struct Stage {
    pub(super) world: GeminiWorld,
}

/// A skill that is one.
pub(super) fn skill(name: &str) -> String {
    format!("---\nname: {name}\ndescription: Does {name}\n---\nDo {name}.\n")
}

impl Stage {
    pub(super) fn new() -> Self {
        Self::with_settings(&json!({}))
    }

    pub(super) fn with_settings(settings: &Value) -> Self {
        Self {
            world: GeminiWorld::with_settings(settings),
        }
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.world.root().join(name)
    }

    pub(super) fn write(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    /// Our command in the project, with nothing of the surroundings.
    pub(super) fn command(&self, args: &[&str]) -> Command {
        let mut command = lapidary(["skills"].iter().chain(args));
        command
            .current_dir(self.world.project())
            .env_clear()
            .envs(self.world.environment("http://127.0.0.1:9"));
        command
    }

    pub(super) fn run(&self, args: &[&str]) -> Ran {
        ran(self.command(args))
    }

    /// One that must go well and print an object.
    pub(super) fn object(&self, args: &[&str]) -> Value {
        self.printed(args, 0)
    }

    /// The object that one prints that ends so.
    pub(super) fn printed(&self, args: &[&str], code: i32) -> Value {
        let ran = self.run(args);
        assert_eq!(ran.code, Some(code), "{ran:?}");
        serde_json::from_str(&ran.stdout).unwrap()
    }

    /// Gemini CLI's command in the project.
    pub(super) fn gemini(&self, args: &[&str]) -> Ran {
        let mut command = self
            .world
            .command(GeminiVersion::V0_61_0, "http://127.0.0.1:9");
        command.arg("skills").args(args);
        ran(command)
    }

    /// All files and links below a directory, with their contents and targets, without the path of this world.
    pub(super) fn files(&self, directory: &str) -> Vec<(String, String)> {
        let mut found = Vec::new();
        self.collect(&self.path(directory), &mut found);
        found.sort();
        found
    }

    fn collect(&self, directory: &Path, found: &mut Vec<(String, String)>) {
        for entry in fs::read_dir(directory).into_iter().flatten() {
            let path = entry.unwrap().path();
            let name = self.anywhere(&path.display().to_string());
            if path.is_symlink() {
                let to = fs::read_link(&path).unwrap();
                found.push((
                    name,
                    format!("-> {}", self.anywhere(&to.display().to_string())),
                ));
            } else if path.is_dir() {
                found.push((name, "directory".to_owned()));
                self.collect(&path, found);
            } else {
                let bytes = fs::read(&path).unwrap();
                found.push((name, String::from_utf8_lossy(&bytes).into_owned()));
            }
        }
    }

    /// A text without the name of this world.
    pub(super) fn anywhere(&self, text: &str) -> String {
        let root = self.world.root();
        let real = root.canonicalize().unwrap();
        text.replace(&real.display().to_string(), "ROOT")
            .replace(&root.display().to_string(), "ROOT")
    }
}

pub(super) fn ran(command: Command) -> Ran {
    let output = output(command, b"");
    Ran {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}
