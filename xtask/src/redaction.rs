//! The secrets of a generated corpus that `sessions export --redact` finds, compared with those of detect-secrets.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use lapidary_testkit::secrets::{SecretContext, SecretSample, innocent, secrets};

use crate::workspace::{Workspace, run};

/// The size of the corpus: as many secrets as innocent texts.
const COUNT: usize = 1_000;

/// Prints the name of every file below a folder in which detect-secrets finds a secret, with all its plugins and without
/// verifying over the network.
const SCAN: &str = "\
import os, sys
from detect_secrets.core.scan import scan_file
from detect_secrets.settings import default_settings
with default_settings() as settings:
    for name in sorted(os.listdir(sys.argv[1])):
        if any(True for _ in scan_file(os.path.join(sys.argv[1], name))):
            print(name)
";

/// Prints recall and false positives of both.
pub(crate) fn compare_redaction(workspace: &Workspace) -> Result<()> {
    let folder = workspace.target.join("redaction");
    let _ = fs::remove_dir_all(folder.join("corpus"));
    let samples: Vec<SecretSample> = [secrets(COUNT), innocent(COUNT)].concat();
    let ours = found_by_us(workspace, &folder, &samples)?;
    let theirs = found_by_detect_secrets(workspace, &folder, &samples)?;
    print_table("secrets found", &samples, true, &ours, &theirs);
    print_table("innocent texts touched", &samples, false, &ours, &theirs);
    Ok(())
}

/// The numbers of the samples from which the redactor removed text: the whole secret, where there is one.
fn found_by_us(
    workspace: &Workspace,
    folder: &Path,
    samples: &[SecretSample],
) -> Result<HashSet<usize>> {
    run(workspace
        .cargo_command("build")
        .args(["-p", "lapidary-cli"]))?;
    let (from, to) = (
        folder.join("corpus/sessions"),
        folder.join("corpus/redacted"),
    );
    fs::create_dir_all(&from)?;
    let mut files = Vec::new();
    for (number, sample) in samples.iter().enumerate() {
        let record = serde_json::json!({"id": "1", "type": "user", "content": sample.text});
        let file = from.join(format!("{number:04}.jsonl"));
        fs::write(&file, format!("{record}\n"))?;
        files.push(file);
    }
    let output = Command::new(workspace.target.join("debug/lapidary"))
        .args(["sessions", "export", "--redact", "--to", "session", "-o"])
        .arg(&to)
        .args(&files)
        .output()?;
    ensure!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let mut found = HashSet::new();
    for (number, sample) in samples.iter().enumerate() {
        let after = session_message(&to.join(format!("{number:04}.jsonl")))?;
        let is_found = match &sample.secret {
            Some(secret) => !after.contains(secret.as_str()),
            None => after != sample.text,
        };
        found.extend(is_found.then_some(number));
    }
    Ok(found)
}

/// The message of a session file.
fn session_message(file: &Path) -> Result<String> {
    let text =
        fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    let record = text.lines().find(|line| line.contains("\"content\""));
    let record = record.context("no message was written")?;
    let record: serde_json::Value = serde_json::from_str(record)?;
    let content = record["content"].as_str();
    Ok(content.context("the message has no text")?.to_owned())
}

/// The numbers of the samples in which detect-secrets reports a secret.
fn found_by_detect_secrets(
    workspace: &Workspace,
    folder: &Path,
    samples: &[SecretSample],
) -> Result<HashSet<usize>> {
    let python = detect_secrets_python(workspace, folder)?;
    let plain = folder.join("corpus/plain");
    fs::create_dir_all(&plain)?;
    for (number, sample) in samples.iter().enumerate() {
        let ending = sample.context.file_ending();
        fs::write(plain.join(format!("{number:04}.{ending}")), &sample.text)?;
    }
    let output = Command::new(python)
        .args(["-c", SCAN])
        .arg(&plain)
        .output()?;
    ensure!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let names = String::from_utf8_lossy(&output.stdout);
    let numbers = names.lines().filter_map(|name| name.get(..4)?.parse().ok());
    Ok(numbers.collect())
}

/// The interpreter of a virtual environment that has the pinned detect-secrets.
fn detect_secrets_python(workspace: &Workspace, folder: &Path) -> Result<PathBuf> {
    let environment = folder.join("venv");
    let python = environment.join("bin/python");
    if !python.exists() {
        run(Command::new("python3")
            .args(["-m", "venv"])
            .arg(&environment))
        .context("this needs python3 with venv")?;
    }
    let pins = workspace.root.join("peers/redaction/requirements.txt");
    run(Command::new(&python)
        .args([
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
        ])
        .arg("--requirement")
        .arg(pins))?;
    Ok(python)
}

fn print_table(
    title: &str,
    samples: &[SecretSample],
    of_secrets: bool,
    ours: &HashSet<usize>,
    theirs: &HashSet<usize>,
) {
    println!(
        "{title:<24} {:>6} {:>9} {:>15}",
        "of", "lapidary", "detect-secrets"
    );
    let print = |name: &str, is_counted: &dyn Fn(&SecretSample) -> bool| {
        let of_these = |number: &&usize| is_counted(&samples[**number]);
        let all = samples.iter().filter(|it| is_counted(it)).count();
        let ours = ours.iter().filter(of_these).count();
        let theirs = theirs.iter().filter(of_these).count();
        println!("{name:<24} {all:>6} {ours:>9} {theirs:>15}");
    };
    for context in SecretContext::ALL {
        let is_counted =
            |it: &SecretSample| it.secret.is_some() == of_secrets && it.context == context;
        print(context.as_str(), &is_counted);
    }
    print("all", &|it| it.secret.is_some() == of_secrets);
    println!();
}
