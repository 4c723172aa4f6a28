//! The real CLI in a home of ours, with a model that has nothing to say.

use std::path::Path;
use std::process::{Command, Stdio};

use lapidary_standin::api::{FakeApi, Script};
use lapidary_testkit::gemini::GeminiVersion;
use lapidary_testkit::recorded::RecordedHome;
use serde_json::json;

/// The output of the CLI.
#[derive(Debug)]
pub(crate) struct Told {
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// Runs the CLI with its cleanup disabled, which would remove the sessions under test.
pub(crate) fn gemini(home: &RecordedHome, version: GeminiVersion, args: &[&str]) -> Told {
    gemini_in(home, &home.project(), version, args)
}

/// The same in another project.
pub(crate) fn gemini_in(
    home: &RecordedHome,
    project: &Path,
    version: GeminiVersion,
    args: &[&str],
) -> Told {
    let settings = json!({
        "security": { "auth": { "selectedType": "gemini-api-key" }, "folderTrust": { "enabled": false } },
        "general": {
            "enableAutoUpdate": false, "enableAutoUpdateNotification": false,
            "sessionRetention": { "enabled": false },
        },
        "privacy": { "usageStatisticsEnabled": false },
        "tools": { "useRipgrep": false },
    });
    home.put("settings.json", &settings.to_string());
    // The CLI may ask for a summary of the newest session, and would repeat the request without an answer.
    let api = FakeApi::start_in_thread(Script::new()).unwrap();
    let output = Command::new(version.program())
        .args(args)
        .current_dir(project)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", home.home())
        .env("TMPDIR", home.root())
        .env("LANG", "C.UTF-8")
        .env("TERM", "xterm-256color")
        .env("GEMINI_CLI_NO_RELAUNCH", "true")
        .env("GEMINI_API_KEY", "not-a-key")
        .env("GOOGLE_GEMINI_BASE_URL", api.base_url())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    Told {
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}
