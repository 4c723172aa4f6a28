//! `cargo xtask screenshots`: the pictures of the page in `docs`, made by a real browser from a home that is made up.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Result, ensure};

use crate::page::{PageHome, PageServer};
use crate::peers;
use crate::workspace::{Workspace, run};

/// The most that a picture may weigh, in bytes.
const LARGEST: u64 = 200_000;

/// Session files of other agents, and where each agent keeps them.
const OTHERS: [(&str, &str); 4] = [
    ("claude-2.1.312", ".claude"),
    ("codex-0.166.0", ".codex"),
    ("qwen-0.24.0", ".qwen"),
    ("opencode-1.1.65", ".local/share/opencode"),
];

const PROMPTS: [&str; 6] = [
    "Add retries with backoff to the HTTP client",
    "Why does the parser drop the last line?",
    "Write a migration that splits the name column",
    "Port the config loader to TOML",
    "Profile the slow test and make it fast",
    "Review the diff on this branch",
];

/// Builds the program, and writes the pictures.
pub(crate) fn take_screenshots(workspace: &Workspace) -> Result<()> {
    peers::install_browser(workspace)?;
    run(workspace
        .cargo_command("build")
        .args(["--package", "lapidary-cli", "--bin", "lapidary"]))?;
    let lapidary = workspace.target.join("debug/lapidary");
    let home = PageHome::new(&workspace.target.join("screenshots"))?;
    for (number, day) in (1..=17_u32).enumerate() {
        let rest = ["Now add a test for it.", "Good. Commit it."];
        let first = PROMPTS[number % PROMPTS.len()];
        let prompts = [first].into_iter().chain(rest).map(str::to_owned);
        let prompts: Vec<_> = prompts.take(1 + number % 3).collect();
        home.write_session(day, &format!("2026-11-{day:02}"), &prompts)?;
    }
    let fixtures = workspace.root.join("fixtures/sessions");
    for (agent, place) in OTHERS {
        for scene in fs::read_dir(fixtures.join(agent))? {
            copy_directory(&scene?.path(), &home.home.join(place))?;
        }
    }
    for prompt in ["Make the greeting say the name", "Greet the whole team"] {
        let mut demo = home.command(&lapidary, &["run", "--agent", "demo", prompt]);
        run(demo.stdin(Stdio::null()).stdout(Stdio::null()))?;
    }
    let server = PageServer::start(&home, &lapidary)?;
    let docs = workspace.root.join("docs");
    let written =
        server.run_script(workspace, "screenshots.mjs", &[&docs.display().to_string()])?;
    for file in written.lines() {
        let size = fs::metadata(file)?.len();
        ensure!(size <= LARGEST, "`{file}` has {size} bytes");
        println!("{file}: {size} bytes");
    }
    Ok(())
}

/// Copies the directories of a scene; its own files describe it.
fn copy_directory(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            let mut copy = Command::new("cp");
            run(copy.arg("-r").arg(entry.path()).arg(to))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pictures_of_the_documents_are_small() {
        let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs");
        let mut pictures = 0;
        for file in fs::read_dir(docs).unwrap() {
            let file = file.unwrap().path();
            if file.extension().is_some_and(|it| it == "png") {
                pictures += 1;
                let size = fs::metadata(&file).unwrap().len();
                assert!(size <= LARGEST, "{}: {size}", file.display());
            }
        }
        assert!(pictures >= 4, "{pictures}");
    }
}
