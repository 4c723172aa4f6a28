//! The real Gemini CLI finds the same skills, and does the same to them.
//!
//! A start of it costs seconds, so many cases share one; `cargo xtask test --full` gives each its own.

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;

use lapidary_testkit::gemini::GeminiVersion;
use lapidary_testkit::mutate::SeededRng;
use serde_json::{Value, json};

use super::cases;
use super::stage::{Stage, skill};

/// How many cases one start has, and how many worlds there are.
fn sizes() -> (usize, usize) {
    match std::env::var_os("LAPIDARY_FULL") {
        Some(_) => (1, 200),
        None => (160, 2),
    }
}

/// The same cases in every run, or the cases of the seed in `LAPIDARY_SEED`.
fn seed() -> u64 {
    let named = std::env::var("LAPIDARY_SEED").ok();
    named.map_or(1, |seed| seed.parse().unwrap())
}

/// A world with so many cases, wherever skills are looked for.
fn generated(rng: &mut SeededRng, count: usize, is_trusted: bool) -> Stage {
    let disabled: Vec<String> = (0..=count / 10)
        .map(|number| format!("OWN-{number}"))
        .collect();
    let stage = Stage::with_settings(&json!({
        "skills": { "disabled": disabled },
        "security": { "folderTrust": { "enabled": !is_trusted } },
    }));
    let extension = json!({ "name": "ext", "version": "1.0.0" });
    stage.write(
        "home/.gemini/extensions/ext/gemini-extension.json",
        extension.to_string(),
    );
    stage.write(
        "project/.gemini/settings.json",
        r#"{"skills": {"disabled": ["own-1", "case"]}}"#,
    );
    let places = [
        "home/.gemini/extensions/ext/skills",
        "home/.gemini/skills",
        "home/.agents/skills",
        "project/.gemini/skills",
        "project/.agents/skills",
    ];
    for number in 0..count {
        let place = places[rng.below(places.len())];
        // Some are called alike, so that there are conflicts.
        let name = format!("own-{}", rng.below(count + count / 4));
        let text = cases::skill(rng, &name);
        stage.write(&format!("{place}/{}", cases::path(rng, number)), text);
    }
    stage
}

/// What `gemini skills list` would print of our list.
fn as_gemini_prints(list: &Value) -> String {
    let skills = list["skills"].as_array().unwrap();
    if skills.is_empty() {
        return "No skills discovered.\n".to_owned();
    }
    let mut text = "Discovered Agent Skills:\n\n".to_owned();
    for skill in skills {
        let field = |name: &str| skill[name].as_str().unwrap();
        let state = if skill["disabled"] == true {
            "[Disabled]"
        } else {
            "[Enabled]"
        };
        let builtin = if skill["isBuiltin"] == true {
            " [Built-in]"
        } else {
            ""
        };
        let _ = writeln!(text, "{} {state}{builtin}", field("name"));
        let _ = writeln!(text, "  Description: {}", field("description"));
        let _ = writeln!(text, "  Location:    {}\n", field("location"));
    }
    text
}

/// The lines that tell of conflicts, directory by directory. Those of one directory are sorted: Gemini CLI reads its files at
/// once, and on a busy machine it warns of them in another order. Names may have more than one line.
fn conflicts(said: &str) -> Vec<&str> {
    let lines = said.lines();
    let mut lines: Vec<&str> = lines
        .filter(|line| line.starts_with("Skill conflict detected"))
        .collect();
    for of_one_directory in lines.chunk_by_mut(|one, next| directory(one) == directory(next)) {
        of_one_directory.sort_unstable();
    }
    lines
}

/// The directory whose skill overrides another one.
fn directory(conflict: &str) -> Option<&str> {
    let (_, rest) = conflict.split_once("\" from \"")?;
    let (file, _) = rest.split_once("\" is overriding")?;
    let (skill, _) = file.rsplit_once('/')?;
    skill.rsplit_once('/').map(|(directory, _)| directory)
}

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn gemini_cli_lists_the_same_skills_in_the_same_order_with_the_same_warnings() {
    let (count, worlds) = sizes();
    let mut found = 0;
    for world in 0..worlds {
        let seed = seed() * 1000 + world as u64;
        let stage = generated(&mut SeededRng::new(seed), count, world % 2 == 0);
        let mut command = stage.command(&["list", "--all", "--format", "json"]);
        command.env("GEMINI_CLI_PATH", GeminiVersion::V0_61_0.program());
        let ours: Value = serde_json::from_str(&super::stage::ran(command).stdout).unwrap();
        let theirs = stage.gemini(&["list", "--all"]);
        assert_eq!(as_gemini_prints(&ours), theirs.stdout, "seed {seed}");
        let warnings = ours["warnings"].as_array().into_iter().flatten();
        let warnings: Vec<_> = warnings.map(|warning| warning.as_str().unwrap()).collect();
        let warnings = warnings.join("\n");
        let ours_said = conflicts(&warnings);
        assert_eq!(ours_said, conflicts(&theirs.stderr), "seed {seed}");
        found += ours["skills"].as_array().unwrap().len();
    }
    assert!(found > 100, "only {found} skills: the test is blind");
}

/// What both say, without what only one says on the way.
fn said(stage: &Stage, stderr: &str) -> Vec<String> {
    let is_ours = |line: &str| line.starts_with("warning: ") || line.starts_with("note: ");
    let lines = stage.anywhere(stderr);
    let lines = lines
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !is_ours(line));
    lines.map(str::to_owned).collect()
}

/// Two worlds that are made alike: one for them, one for us.
struct Twins {
    theirs: Stage,
    ours: Stage,
}

impl Twins {
    fn new(make: impl Fn(&Stage)) -> Self {
        let (theirs, ours) = (Stage::new(), Stage::new());
        make(&theirs);
        make(&ours);
        Self { theirs, ours }
    }

    /// Both do the same, say the same and leave the same behind.
    fn both(&self, args: &[&str]) {
        let theirs = self.theirs.gemini(args);
        let ours = self.ours.run(args);
        assert_eq!(
            (theirs.code, ours.code),
            (Some(0), Some(0)),
            "{args:?} {theirs:?} {ours:?}"
        );
        assert_eq!(
            said(&self.ours, &ours.stderr),
            said(&self.theirs, &theirs.stderr),
            "{args:?}"
        );
        for place in ["home/.gemini/skills", "project/.gemini/skills"] {
            assert_eq!(self.ours.files(place), self.theirs.files(place), "{args:?}");
        }
        for file in [
            "home/.gemini/settings.json",
            "project/.gemini/settings.json",
        ] {
            let read = |stage: &Stage| {
                let text = fs::read_to_string(stage.path(file)).ok()?;
                let settings = serde_json::from_str::<Value>(&text).ok()?;
                // What else is there, Gemini CLI rewrites when it feels like it.
                Some(settings["skills"].clone())
            };
            assert_eq!(read(&self.ours), read(&self.theirs), "{args:?} {file}");
        }
    }
}

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn gemini_cli_enables_and_disables_alike() {
    let twins = Twins::new(|stage| {
        stage.write("home/.gemini/skills/one/SKILL.md", skill("one"));
        let settings = r#"{ "skills": { "disabled": ["two", "three"] }, "theme": "x" }"#;
        stage.write("project/.gemini/settings.json", settings);
    });
    twins.both(&["disable", "one", "--scope", "user"]);
    twins.both(&["disable", "one"]);
    twins.both(&["disable", "two"]);
    twins.both(&["enable", "one"]);
}

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn gemini_cli_installs_links_and_uninstalls_alike() {
    let twins = Twins::new(|stage| {
        let mut rng = SeededRng::new(seed() * 1000 + 777);
        for number in 0..40 {
            // The names of files: a name that cannot be one ends the installation of all of them.
            let text = if number % 2 == 0 {
                skill(&format!("\"own: {}\"", rng.below(30)))
            } else {
                skill(&format!("own {}", rng.below(30)))
            };
            stage.write(&format!("project/package/skill-{number}/SKILL.md"), text);
            stage.write(
                &format!("project/package/skill-{number}/scripts/run.sh"),
                "#!/bin/sh\n",
            );
        }
        stage.write("project/linked/a/SKILL.md", skill("linked a"));
        stage.write("project/linked/b/SKILL.md", skill("linked b"));
        stage.write("project/.gemini/skills/by-directory/SKILL.md", "no skill");
        pack(
            stage,
            "project/packed.skill",
            &[("inside/SKILL.md", &skill("inside"))],
        );
    });
    // Which of two that are called alike is overwritten is said at another moment.
    twins.both_but_their_words(&["install", "package", "--consent"]);
    twins.both(&["link", "linked", "--scope", "workspace", "--consent"]);
    twins.both_but_their_words(&["install", "packed.skill", "--path", ".", "--consent"]);
    twins.both(&["uninstall", "inside"]);
    twins.both(&["uninstall", "by-directory", "--scope", "workspace"]);
}

impl Twins {
    /// Like `both`, but compares only the success messages: the others name temporary files, or come in another order.
    fn both_but_their_words(&self, args: &[&str]) {
        let theirs = self.theirs.gemini(args);
        let ours = self.ours.run(args);
        assert_eq!(
            (theirs.code, ours.code),
            (Some(0), Some(0)),
            "{args:?} {theirs:?} {ours:?}"
        );
        let installed = |stage: &Stage, said: &str| {
            let lines = stage.anywhere(said);
            let lines = lines
                .lines()
                .filter(|line| line.starts_with("Successfully"));
            let mut lines: Vec<String> = lines.map(str::to_owned).collect();
            lines.sort();
            lines
        };
        let ours_said = installed(&self.ours, &ours.stderr);
        assert!(!ours_said.is_empty());
        assert_eq!(
            ours_said,
            installed(&self.theirs, &theirs.stderr),
            "{args:?}"
        );
        for place in ["home/.gemini/skills", "project/.gemini/skills"] {
            assert_eq!(self.ours.files(place), self.theirs.files(place), "{args:?}");
        }
    }
}

/// An archive with these files, made by Python: not by what unpacks it.
pub(super) fn pack(stage: &Stage, name: &str, files: &[(&str, &str)]) {
    const PACK: &str = "import json, sys, zipfile
with zipfile.ZipFile(sys.argv[1], 'w', zipfile.ZIP_DEFLATED) as archive:
    for name, text in json.load(sys.stdin): archive.writestr(name, text)";
    let path = stage.path(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let mut python = std::process::Command::new("python3")
        .args(["-c", PACK])
        .arg(&path)
        .stdin(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = python.stdin.take().unwrap();
    stdin
        .write_all(json!(files).to_string().as_bytes())
        .unwrap();
    drop(stdin);
    assert!(python.wait().unwrap().success());
}
