//! MCP servers of a run for Gemini CLI without ACP: a settings file of the run, in the place of the system's.
//!
//! Gemini CLI merges its settings files, and only `session/new` has parameters for servers. So the run gets a copy of the
//! system's settings with the servers in it, by a variable. No file of the user or the system is changed, and the user's own
//! servers stay.
//!
//! Gemini CLI (0.61) reads such a file only if root owns it and every directory above, and no other user can write them. That is
//! so in containers that run as root. On other machines the servers need ACP.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::Path;

use lapidary_gemini::settings::parse as parse_settings;
use lapidary_gemini::{GeminiHome, Vars};
use lapidary_vocab::Json;
use serde_json::{Map, Value, json};

use super::{Job, JobError};
use crate::recording::PolicyFile;
use crate::run::RunRequest;

/// The variable that names the system's settings.
const SYSTEM_SETTINGS: &str = "GEMINI_CLI_SYSTEM_SETTINGS_PATH";

/// The name of the file of the run, beside its policy.
const FILE: &str = "system-settings.json";

/// The largest file of the system's settings that is read.
const LARGEST_SETTINGS: u64 = 4 << 20;

/// Why Gemini CLI would not read a settings file below this directory of recordings; none if it would.
pub fn settings_layer_obstacle(records: &Path) -> Option<&'static str> {
    const OBSTACLE: &str = "Gemini CLI reads a settings file of the run only where root owns each directory above it, and no other user can write them";
    let existing = records.ancestors().find_map(|it| it.canonicalize().ok());
    let mut directories = existing.iter().flat_map(|it| it.ancestors());
    let is_closed = existing.is_some() && directories.all(is_closed_directory);
    (!is_closed).then_some(OBSTACLE)
}

/// Whether root owns a directory, and no other user can write it.
#[cfg(unix)]
fn is_closed_directory(path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    const OTHERS_WRITE: u32 = 0o022;
    fs::metadata(path).is_ok_and(|about| about.uid() == 0 && about.mode() & OTHERS_WRITE == 0)
}

#[cfg(not(unix))]
fn is_closed_directory(_: &Path) -> bool {
    false
}

impl Job {
    /// Gives Gemini CLI without ACP the MCP servers of the run.
    pub(super) fn add_settings_layer(&self, request: &mut RunRequest) -> Result<(), JobError> {
        if self.speaking.mcp_servers.is_empty() {
            return Ok(());
        }
        let mut settings = self.system_settings()?;
        let servers = settings.entry("mcpServers").or_insert_with(|| json!({}));
        if let Value::Object(servers) = servers {
            let own = self.speaking.mcp_servers.iter();
            servers.extend(own.filter_map(settings_entry));
        }
        let path = PolicyFile::path(&self.records.root, &self.options.run, FILE);
        let text = Value::Object(settings).to_string();
        let written = match &request.policy_file {
            Some(beside) => beside.add_file(FILE, &text),
            None => PolicyFile::write(&path, &text).map(|file| request.policy_file = Some(file)),
        };
        written.map_err(|source| JobError::PolicyFile {
            path: path.clone(),
            source,
        })?;
        let variable = (OsString::from(SYSTEM_SETTINGS), path.into_os_string());
        request.command.envs([variable]);
        Ok(())
    }

    /// The system's settings, which the file of the run replaces. None are empty.
    fn system_settings(&self) -> Result<Map<String, Value>, JobError> {
        let vars = Vars::new(&self.environment.vars);
        let home = GeminiHome::from_vars(vars, self.environment.home.as_deref());
        let Some(home) = home else {
            return Ok(Map::new());
        };
        let path = self.environment.dir.join(home.system_settings);
        let unusable = |reason: String| JobError::SystemSettings {
            path: path.clone(),
            reason,
        };
        match read_bounded(&path) {
            Ok(text) => parse_settings(&text).map_err(|error| unusable(error.to_string())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Map::new()),
            Err(error) => Err(unusable(error.to_string())),
        }
    }
}

fn read_bounded(path: &Path) -> io::Result<String> {
    if fs::metadata(path)?.len() > LARGEST_SETTINGS {
        return Err(io::Error::other("it is too large"));
    }
    fs::read_to_string(path)
}

/// A server of the protocol's schema as an entry of `mcpServers`: its name and the rest.
fn settings_entry(server: &Json) -> Option<(String, Value)> {
    let server: Value = serde_json::from_str(server.as_str()).ok()?;
    let name = server["name"].as_str()?.to_owned();
    let pairs = |key: &str| -> Map<String, Value> {
        let list = server[key].as_array().into_iter().flatten();
        let pairs = list.filter_map(|pair| {
            let name = pair["name"].as_str()?.to_owned();
            Some((name, pair["value"].clone()))
        });
        pairs.collect()
    };
    let entry = match server["type"].as_str() {
        Some("http") => json!({"httpUrl": server["url"], "headers": pairs("headers")}),
        Some("sse") => json!({"url": server["url"], "headers": pairs("headers")}),
        _ => json!({"command": server["command"], "args": server["args"], "env": pairs("env")}),
    };
    Some((name, entry))
}

/// The names of servers, for policies that allow some of them.
pub(super) fn server_names(servers: &[Json]) -> Vec<String> {
    let entries = servers.iter().filter_map(settings_entry);
    entries.map(|(name, _)| name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_of_each_kind_become_entries_of_the_settings() {
        let stdio = json!({"name": "a", "command": "/bin/a", "args": ["x"], "env": [{"name": "N", "value": "v"}]});
        let http = json!({"type": "http", "name": "b", "url": "https://b.example",
            "headers": [{"name": "X-Key", "value": "k"}]});
        let sse = json!({"type": "sse", "name": "c", "url": "https://c.example", "headers": []});
        let entry = |server: &Value| settings_entry(&Json::from_value(server)).unwrap();
        assert_eq!(
            entry(&stdio),
            (
                "a".to_owned(),
                json!({"command": "/bin/a", "args": ["x"], "env": {"N": "v"}})
            )
        );
        assert_eq!(
            entry(&http).1,
            json!({"httpUrl": "https://b.example", "headers": {"X-Key": "k"}})
        );
        assert_eq!(
            entry(&sse).1,
            json!({"url": "https://c.example", "headers": {}})
        );
        assert_eq!(
            settings_entry(&Json::from_value(&json!({"command": "x"}))),
            None
        );
    }
}
