//! A home with much in it: settings of two owners, extensions, skills in every place.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;

/// How many extensions there are, each with skills of its own.
const EXTENSIONS: u32 = 5;

/// Makes the home and a project in it.
pub(super) fn make_home(folder: &Path, skills: u32) -> Result<(PathBuf, PathBuf)> {
    let (home, project) = (folder.join("home"), folder.join("home/project"));
    for settings in [&home, &project] {
        fs::create_dir_all(settings.join(".gemini"))?;
        fs::write(settings.join(".gemini/settings.json"), settings_text())?;
    }
    let mut places = vec![
        home.join(".gemini/skills"),
        home.join(".agents/skills"),
        project.join(".gemini/skills"),
    ];
    for nth in 0..EXTENSIONS {
        let extension = home.join(format!(".gemini/extensions/extension-{nth}"));
        fs::create_dir_all(&extension)?;
        let manifest = format!(r#"{{"name": "extension-{nth}", "version": "1.0.0"}}"#);
        fs::write(extension.join("gemini-extension.json"), manifest)?;
        places.push(extension.join("skills"));
    }
    for (nth, place) in (0..skills).zip(places.iter().cycle()) {
        let directory = place.join(format!("skill-{nth:04}"));
        fs::create_dir_all(&directory)?;
        fs::write(directory.join("SKILL.md"), skill_text(nth))?;
    }
    Ok((home, project))
}

/// A skill of about four kilobytes.
fn skill_text(nth: u32) -> String {
    let mut text = format!(
        "---\nname: skill-{nth:04}\ndescription: Reviews the changes of part {nth} for mistakes, style and missing tests\nlicense: MIT\nmetadata:\n  version: \"{nth}.0\"\n---\n\n"
    );
    for line in 0..50 {
        let _ = writeln!(
            text,
            "{line}. Look at every file that changed, and say in one sentence what it is for."
        );
    }
    text
}

/// Settings with comments, variables, servers and hooks.
fn settings_text() -> String {
    let hook = r#"{"matcher": "write_file|replace", "hooks": [{"type": "command", "name": "NAME", "command": "$HOME/check.sh", "timeout": 5000}]}"#;
    let hooks: Vec<String> = (0..40)
        .map(|nth| hook.replace("NAME", &format!("hook-{nth}")))
        .collect();
    let hooks = hooks.join(",\n      ");
    format!(
        r#"{{
  // What people change most.
  "general": {{"vimMode": true, "checkpointing": {{"enabled": true}}}},
  "ui": {{"theme": "GitHub", "hideBanner": true}},
  "tools": {{"allowed": ["run_shell_command(git status)"], "exclude": ["web_fetch"]}},
  "mcpServers": {{"files": {{"command": "npx", "args": ["-y", "files"], "env": {{"TOKEN": "${{TOKEN:-none}}"}}}}}},
  "skills": {{"disabled": ["skill-0001", "skill-0002"]}},
  /* Forty of them. */
  "hooks": {{
    "BeforeTool": [
      {hooks}
    ]
  }}
}}
"#
    )
}
