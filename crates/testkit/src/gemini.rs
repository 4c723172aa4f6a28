//! The real Gemini CLI in a throw-away world: a home, a project, and an environment that leads nowhere but to a given model API.
//!
//! The programs are the ones `cargo xtask test` installs; tests that need them carry the feature `peers`.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

/// A version of Gemini CLI that is pinned in `peers/`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GeminiVersion {
    /// 0.24.0: the older of the two generations, with its one process and its session files of one document.
    V0_24_0,
    /// 0.61.0.
    V0_61_0,
}

impl GeminiVersion {
    /// The version as `--version` prints it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::V0_24_0 => "0.24.0",
            Self::V0_61_0 => "0.61.0",
        }
    }

    /// The program, which can be started as it is if `node` is on `PATH`.
    ///
    /// # Panics
    /// If the peers are not installed: nothing passes for want of a peer.
    pub fn program(self) -> PathBuf {
        // Both packages want to be `.bin/gemini`: each is called by the file that the name would stand for.
        let bin = match self {
            Self::V0_24_0 => "dist/index.js",
            Self::V0_61_0 => "bundle/gemini.js",
        };
        let package = format!("node_modules/gemini-{}", self.as_str());
        let program = peers().join(package).join(bin);
        assert!(program.is_file(), "no peer at {}", program.display());
        program
    }
}

/// Where `cargo xtask test` installed the peers.
///
/// # Panics
/// If they are not installed: nothing passes for want of a peer.
pub fn peers() -> PathBuf {
    let folder = std::env::var_os("LAPIDARY_PEERS");
    folder
        .expect("LAPIDARY_PEERS is set: run `cargo xtask test`")
        .into()
}

/// A folder with more peers, beside the others.
///
/// # Panics
/// If they are not installed: nothing passes for want of a peer.
pub fn peers_beside(name: &str) -> PathBuf {
    let folder = peers().with_file_name(name);
    assert!(folder.is_dir(), "no peer at {}", folder.display());
    folder
}

/// A home and a project that vanish when this is dropped.
#[derive(Debug)]
pub struct GeminiWorld {
    root: TempDir,
}

impl GeminiWorld {
    /// A world with the settings that every test needs.
    ///
    /// # Panics
    /// If there is no place for it.
    pub fn new() -> Self {
        Self::with_settings(&json!({}))
    }

    /// A world with more settings: objects are merged, other values replace the old ones.
    ///
    /// # Panics
    /// If there is no place for it.
    pub fn with_settings(overrides: &Value) -> Self {
        let root = tempfile::tempdir().expect("a temporary folder can be made");
        let world = Self { root };
        let mut settings = home_settings();
        merge_settings(&mut settings, overrides);
        let folder = world.home().join(".gemini");
        fs::create_dir_all(&folder).expect("the home can be made");
        fs::create_dir_all(world.project()).expect("the project can be made");
        fs::write(folder.join("settings.json"), settings.to_string())
            .expect("the settings can be written");
        world
    }

    /// Leaves everything where it is when this is dropped, for who looks into a failure.
    pub fn keep(&mut self) {
        self.root.disable_cleanup(true);
    }

    /// The folder that holds everything, with room for files of a test.
    pub fn root(&self) -> &Path {
        self.root.path()
    }

    /// The home folder, with `.gemini` in it.
    pub fn home(&self) -> PathBuf {
        self.root().join("home")
    }

    /// The project folder, empty at first.
    pub fn project(&self) -> PathBuf {
        self.root().join("project")
    }

    /// The whole environment for the CLI. No other variable may be inherited: a developer's own would change the outcome.
    pub fn environment(&self, base_url: &str) -> Vec<(OsString, OsString)> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        [
            ("PATH", path),
            ("HOME", self.home().into()),
            // Reports of errors are written there, and the CLI never removes them.
            ("TMPDIR", self.root().into()),
            ("LANG", "C.UTF-8".into()),
            ("TERM", "xterm-256color".into()),
            ("GEMINI_API_KEY", "not-a-key".into()),
            ("GOOGLE_GEMINI_BASE_URL", base_url.into()),
            // One process instead of a launcher that survives its signals, and a second less to wait.
            ("GEMINI_CLI_NO_RELAUNCH", "true".into()),
        ]
        .map(|(name, value)| (name.into(), value))
        .into()
    }

    /// A command that runs the CLI in the project, with nothing on its stdin.
    ///
    /// # Panics
    /// If the peers are not installed.
    pub fn command(&self, version: GeminiVersion, base_url: &str) -> Command {
        let mut command = Command::new(version.program());
        command
            .current_dir(self.project())
            .env_clear()
            .envs(self.environment(base_url))
            .stdin(Stdio::null());
        command
    }
}

impl Default for GeminiWorld {
    fn default() -> Self {
        Self::new()
    }
}

/// An account that is a key, a trusted folder, and no reason to use the network: not to look for updates (the two versions have
/// different words for it), not to report use, not to download `ripgrep`.
fn home_settings() -> Value {
    json!({
        "security": {
            "auth": { "selectedType": "gemini-api-key" },
            "folderTrust": { "enabled": false },
        },
        "general": {
            "enableAutoUpdate": false,
            "enableAutoUpdateNotification": false,
            "disableAutoUpdate": true,
            "disableUpdateNag": true,
        },
        "privacy": { "usageStatisticsEnabled": false },
        "telemetry": { "enabled": false },
        "tools": { "useRipgrep": false },
    })
}

fn merge_settings(base: &mut Value, over: &Value) {
    match (base, over) {
        (Value::Object(base), Value::Object(over)) => {
            for (key, value) in over {
                merge_settings(base.entry(key).or_insert(Value::Null), value);
            }
        }
        (base, over) => *base = over.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_of_a_test_are_merged_over_the_usual_ones() {
        let world = GeminiWorld::with_settings(
            &json!({ "security": { "folderTrust": { "enabled": true } }, "model": { "maxSessionTurns": 1 } }),
        );
        let written = fs::read_to_string(world.home().join(".gemini/settings.json"));
        let written: Value =
            serde_json::from_str(&written.expect("there are settings")).expect("of JSON");
        let mut expected = home_settings();
        expected["security"]["folderTrust"]["enabled"] = true.into();
        expected["model"] = json!({ "maxSessionTurns": 1 });
        assert_eq!(written, expected);
    }
}
