//! The captures under `fixtures/`: real output of real agents, byte for byte.
//!
//! Dropping a file in adds a test wherever captures are walked. They are evidence: add new ones, never edit old ones.

use std::fs;
use std::path::{Path, PathBuf};

/// One capture.
#[derive(Debug, Clone)]
pub struct Capture {
    /// `gemini-0.61.0/tool-write_file`, or `gemini-0.61.0/sessions/…` for a session file.
    pub name: String,
    /// The kind of its content.
    pub kind: CaptureKind,
    /// The file.
    pub path: PathBuf,
    /// How the process ended, where that was recorded.
    pub exit_code: Option<i32>,
}

/// The content of a capture. The words are those of `lapidary translate --from`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CaptureKind {
    /// The stdout of `-o stream-json`.
    StreamJson,
    /// The stdout of `claude -p --output-format stream-json`.
    ClaudeStream,
    /// The stdout of `codex exec --json`.
    CodexExec,
    /// The stdout or stderr of `-o json`.
    Json,
    /// A session file.
    Session,
    /// A transcript of the Agent Client Protocol.
    Acp,
}

impl CaptureKind {
    /// The word that `--from` takes.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::StreamJson => "stream-json",
            Self::ClaudeStream => "claude-stream",
            Self::CodexExec => "codex-exec",
            Self::Json => "json",
            Self::Session => "session",
            Self::Acp => "acp",
        }
    }
}

impl Capture {
    /// Its bytes.
    ///
    /// # Panics
    /// If the file cannot be read.
    pub fn bytes(&self) -> Vec<u8> {
        fs::read(&self.path).unwrap_or_else(|error| panic!("{}: {error}", self.path.display()))
    }
}

/// Where the captures lie.
pub fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures")
}

/// Every capture, in order of name.
///
/// # Panics
/// If there is none: a walk over nothing would pass for the wrong reason.
pub fn all() -> Vec<Capture> {
    let mut captures = Vec::new();
    for agent in sorted_entries(&fixtures()) {
        for path in sorted_entries(&agent) {
            captures.extend(read_capture(&agent, &path));
        }
        for path in sorted_entries(&agent.join("sessions")) {
            captures.push(Capture {
                name: format!("{}/sessions/{}", file_name(&agent), file_name(&path)),
                kind: CaptureKind::Session,
                path,
                exit_code: None,
            });
        }
    }
    assert!(captures.len() > 100, "the captures are missing");
    captures
}

/// The capture of that name.
///
/// # Panics
/// If there is none.
pub fn named(name: &str) -> Capture {
    let found = all().into_iter().find(|capture| capture.name == name);
    found.unwrap_or_else(|| panic!("there is no capture `{name}`"))
}

fn read_capture(agent: &Path, path: &Path) -> Option<Capture> {
    let file = file_name(path);
    let (scenario, kind) = if let Some(scenario) = file.strip_suffix(".stdout.jsonl") {
        (scenario, stream_kind(&file_name(agent)))
    } else if let Some(scenario) = file.strip_suffix(".stdout.json") {
        (scenario, CaptureKind::Json)
    } else if let Some(scenario) = file.strip_suffix(".acp.jsonl") {
        (scenario, CaptureKind::Acp)
    } else if file.ends_with(".stderr.txt") {
        (file.strip_suffix(".txt")?, CaptureKind::Json)
    } else {
        return None;
    };
    let meta = agent.join(format!(
        "{}.meta.json",
        scenario.trim_end_matches(".stderr")
    ));
    Some(Capture {
        name: format!("{}/{scenario}", file_name(agent)),
        kind,
        path: path.to_owned(),
        exit_code: exit_code(&meta),
    })
}

/// The stream of an agent, by the name of its folder.
fn stream_kind(folder: &str) -> CaptureKind {
    if folder.starts_with("claude-") {
        CaptureKind::ClaudeStream
    } else if folder.starts_with("codex-") {
        CaptureKind::CodexExec
    } else {
        CaptureKind::StreamJson
    }
}

fn exit_code(meta: &Path) -> Option<i32> {
    let text = fs::read_to_string(meta).ok()?;
    let meta: serde_json::Value = serde_json::from_str(&text).ok()?;
    meta["exit_code"].as_i64()?.try_into().ok()
}

fn sorted_entries(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut paths: Vec<_> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

fn file_name(path: &Path) -> String {
    path.file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}
