//! A thousand skills.

use std::os::unix::process::CommandExt as _;

use super::stage::{Stage, skill};

/// The CPU time that a process and its children used according to the kernel, in milliseconds.
const MEASURE: &str = "import json, resource, subprocess, sys
spent = []
for _ in range(5):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
print(min(spent) * 1000)";

/// The limit for a debug build. A release build takes a tenth of that (see docs/skills.md); the bench measures it.
const DEBUG_MS: f64 = 600.0;

#[test]
fn a_thousand_skills_load_in_no_time() {
    let stage = Stage::new();
    let body = "Do this, then that.\n".repeat(100);
    for number in 0..1000 {
        let text = format!("{}{body}", skill(&format!("skill-{number}")));
        stage.write(
            &format!("home/.gemini/skills/skill-{number}/SKILL.md"),
            text,
        );
    }
    let list = stage.object(&["list"]);
    assert_eq!(list["skills"].as_array().unwrap().len(), 1000);
    let measured = stage.command(&["list"]);
    let mut python = std::process::Command::new("python3");
    python
        .args(["-c", MEASURE])
        .arg(measured.get_program())
        .args(measured.get_args())
        .current_dir(stage.world.project())
        .env_clear()
        .envs(stage.world.environment(""))
        .arg0("python3");
    let spent = python.output().unwrap();
    let spent: f64 = String::from_utf8(spent.stdout)
        .unwrap()
        .trim()
        .parse()
        .unwrap();
    assert!(spent < DEBUG_MS, "{spent} ms");
}
