//! A project of 5,000 files with 20 skills and 10 agents, and a directory of 200,000 files to search.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;

/// Files of the project.
const FILES: usize = 5_000;
const SKILLS: usize = 20;
const AGENTS: usize = 10;
/// Files that are searched.
pub(super) const SEARCHED_FILES: usize = 200_000;
/// Files of a directory.
const PER_DIRECTORY: usize = 100;

/// Settings without which Gemini CLI looks for updates, or asks for an account.
const SETTINGS: &str = r#"{"security":{"auth":{"selectedType":"gemini-api-key"},"folderTrust":{"enabled":false}},"general":{"enableAutoUpdate":false,"enableAutoUpdateNotification":false},"privacy":{"usageStatisticsEnabled":false},"telemetry":{"enabled":false},"tools":{"useRipgrep":false}}"#;

const NOWHERE: &str = "http://127.0.0.1:9";

/// The directories.
#[derive(Debug)]
pub(super) struct AgentScene {
    home: PathBuf,
    project: PathBuf,
    pub(super) searched: PathBuf,
}

impl AgentScene {
    /// Writes the files that are kept below `corpora`, unless they are there, and a new home in `folder`: runs leave recordings in it.
    pub(super) fn lay_out(corpora: &Path, folder: &Path) -> Result<Self> {
        let corpus = corpora.join(format!("agents-{FILES}-{SEARCHED_FILES}-v1"));
        let scene = Self {
            home: folder.join("home"),
            project: corpus.join("project"),
            searched: corpus.join("searched"),
        };
        let stamp = corpus.join("complete");
        if !stamp.exists() {
            eprintln!("agents: writing {SEARCHED_FILES} files, once");
            let _ = fs::remove_dir_all(&corpus); // of a run that was broken off
            write_files(&scene.project.join("src"), FILES)?;
            fs::write(scene.project.join("GEMINI.md"), "Be brief.\n".repeat(2_000))?;
            write_files(&scene.searched, SEARCHED_FILES)?;
            fs::write(stamp, "")?;
        }
        let _ = fs::remove_dir_all(folder);
        scene.write_home()?;
        Ok(scene)
    }

    fn write_home(&self) -> Result<()> {
        let gemini = self.home.join(".gemini");
        fs::create_dir_all(gemini.join("agents"))?;
        fs::write(gemini.join("settings.json"), SETTINGS)?;
        for number in 0..SKILLS {
            let skill = gemini.join(format!("skills/skill-{number}"));
            fs::create_dir_all(&skill)?;
            let text = format!(
                "---\nname: skill-{number}\ndescription: For task {number}.\n---\n{}",
                "Do it.\n".repeat(100)
            );
            fs::write(skill.join("SKILL.md"), text)?;
        }
        for number in 0..AGENTS {
            let text = format!(
                "---\nname: agent-{number}\ndescription: For task {number}.\nmax_turns: 50\n---\nYou do task {number}.\n"
            );
            fs::write(gemini.join(format!("agents/agent-{number}.md")), text)?;
        }
        Ok(())
    }

    /// A program in the project, with an environment that leads to the mock API alone.
    pub(super) fn scene_command(
        &self,
        url: &str,
        program: &Path,
        arguments: &[&str],
    ) -> Vec<OsString> {
        let mut command: Vec<OsString> = ["env", "-i", "-C"].map(OsString::from).into();
        command.push(self.project.clone().into_os_string());
        let path = std::env::var_os("PATH").unwrap_or_default();
        let variables = [
            ("PATH", path),
            ("HOME", self.home.clone().into_os_string()),
            ("LANG", "C.UTF-8".into()),
            ("GEMINI_API_KEY", "not-a-key".into()),
            ("GOOGLE_GEMINI_BASE_URL", url.into()),
            ("GEMINI_CLI_NO_RELAUNCH", "true".into()),
            // No program may reach more than the mock API: no server listens at this proxy.
            ("HTTP_PROXY", NOWHERE.into()),
            ("HTTPS_PROXY", NOWHERE.into()),
            ("NO_PROXY", "127.0.0.1".into()),
        ];
        for (name, value) in variables {
            let mut variable = OsString::from(format!("{name}="));
            variable.push(value);
            command.push(variable);
        }
        command.push(program.as_os_str().to_owned());
        command.extend(arguments.iter().map(OsString::from));
        command
    }
}

/// Text files of about a kilobyte. One in a thousand has the word that is searched for.
fn write_files(directory: &Path, count: usize) -> Result<()> {
    let text = "fn value(count: usize) -> usize {\n    count + 1\n}\n".repeat(20);
    for number in 0..count {
        let place = directory.join((number / PER_DIRECTORY).to_string());
        if number % PER_DIRECTORY == 0 {
            fs::create_dir_all(&place)?;
        }
        let found = if number % 1000 == 500 {
            format!("let needle_{number} = 1;\n")
        } else {
            String::new()
        };
        let name = format!("{}.txt", number % PER_DIRECTORY);
        fs::write(place.join(name), format!("{text}{found}"))?;
    }
    Ok(())
}
