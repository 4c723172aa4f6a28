//! Which skills count, which take the place of others, and the notices about the rest.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use lapidary_gemini::setup::Setup;
use lapidary_gemini::skills::{
    CheckedSkills, DiscoveryTier, LoadOutcome, SkillConflict, SkillManager, SkillPlace,
    SkillSources, discover,
};
use lapidary_gemini::{GeminiHome, Vars};

use super::{skill, write};

fn names(manager: &SkillManager) -> Vec<&str> {
    let skills = manager.all_skills().iter();
    skills.map(|skill| skill.name.as_str()).collect()
}

/// A home and a workspace, trusted or not.
fn loaded(root: &Path, is_trusted: bool) -> SkillManager {
    let vars = BTreeMap::from([
        (
            "GEMINI_CLI_TRUST_WORKSPACE".into(),
            is_trusted.to_string().into(),
        ),
        (
            "GEMINI_CLI_SYSTEM_SETTINGS_PATH".into(),
            root.join("none").into(),
        ),
    ]);
    let home = GeminiHome::from_vars(Vars::new(&vars), Some(&root.join("home"))).unwrap();
    fs::create_dir_all(root.join("work")).unwrap();
    let setup = Setup::read(&home, &root.join("work"), Vars::new(&vars));
    let mut manager = SkillManager::new(SkillSources::from_setup(
        &setup,
        Some(&root.join("builtin")),
    ));
    manager.load_skills();
    manager
}

#[test]
fn the_order_is_that_in_which_gemini_cli_finds_them() {
    let root = tempfile::tempdir().unwrap();
    for name in ["b", "a", "z", "B", "é", "10", "9"] {
        write(root.path(), &format!("{name}/SKILL.md"), skill(name));
    }
    write(root.path(), "SKILL.md", skill("root"));
    for unseen in [
        "deep/er/SKILL.md",
        ".hidden/SKILL.md",
        "node_modules/SKILL.md",
        "c/skill.md",
    ] {
        write(root.path(), unseen, skill("unseen"));
    }
    let found = discover(root.path(), DiscoveryTier::User).skills;
    let found: Vec<_> = found.iter().map(|skill| skill.name.as_str()).collect();
    assert_eq!(found, ["root", "é", "z", "b", "a", "B", "9", "10"]);
}

#[test]
fn a_later_tier_takes_the_place_of_an_earlier_one_but_not_in_the_order() {
    let root = tempfile::tempdir().unwrap();
    let at = |place: &str| format!("{place}/skills/x/SKILL.md");
    write(root.path(), "builtin/x/SKILL.md", skill("x"));
    write(root.path(), "builtin/a/SKILL.md", skill("only builtin"));
    let extension = r#"{"name": "ext", "version": "1"}"#;
    write(
        root.path(),
        "home/.gemini/extensions/ext/gemini-extension.json",
        extension,
    );
    let hydrated = "---\nname: e\ndescription: in ${extensionPath}\n---\n";
    write(
        root.path(),
        "home/.gemini/extensions/ext/skills/e/SKILL.md",
        hydrated,
    );
    let places = [
        "home/.gemini",
        "home/.agents",
        "work/.gemini",
        "work/.agents",
    ];
    for place in places {
        write(root.path(), &at(place), skill("x"));
    }
    let trusted = loaded(root.path(), true);
    assert_eq!(names(&trusted), ["x", "only builtin", "e"]);
    let x = trusted.skill_by_name("X").unwrap();
    assert_eq!(x.location, root.path().join(at("work/.agents")));
    assert_eq!(
        (x.tier, x.is_builtin),
        (DiscoveryTier::WorkspaceAgents, false)
    );
    let e = trusted.skill_by_name("e").unwrap();
    assert_eq!(e.extension_name.as_deref(), Some("ext"));
    assert!(
        e.description.ends_with("home/.gemini/extensions/ext"),
        "{e:?}"
    );
    let warnings: Vec<_> = trusted
        .conflicts
        .iter()
        .filter_map(SkillConflict::warning)
        .collect();
    assert_eq!(
        warnings.len(),
        3,
        "none for what comes with Gemini CLI: {warnings:?}"
    );
    let place = |path: &str| root.path().join(path).display().to_string();
    assert_eq!(
        warnings[0],
        format!(
            r#"Skill conflict detected: "x" from "{}" is overriding the same skill from "{}"."#,
            place(&at("home/.agents")),
            place(&at("home/.gemini"))
        )
    );

    let untrusted = loaded(root.path(), false);
    let x = untrusted.skill_by_name("x").unwrap();
    assert_eq!(x.location, root.path().join(at("home/.agents")));
    let check = CheckedSkills::from_manager(&untrusted);
    let left_out = |fate: &LoadOutcome| matches!(fate, LoadOutcome::LeftOut(why) if why.contains("not trusted"));
    let left_out = check.candidates.iter().filter(|one| left_out(&one.fate));
    assert_eq!(left_out.count(), 2);
}

#[test]
fn disabled_is_whom_any_list_names_in_any_capitals() {
    let root = tempfile::tempdir().unwrap();
    for name in ["One", "two", "three"] {
        write(
            root.path(),
            &format!("home/.gemini/skills/{name}/SKILL.md"),
            skill(name),
        );
    }
    write(
        root.path(),
        "home/.gemini/settings.json",
        r#"{"skills": {"disabled": ["ONE"]}}"#,
    );
    write(
        root.path(),
        "work/.gemini/settings.json",
        r#"{"skills": {"disabled": ["two"]}}"#,
    );
    let active = |manager: &SkillManager| {
        let active = manager.active_skills().map(|skill| skill.name.clone());
        active.collect::<Vec<_>>()
    };
    assert_eq!(active(&loaded(root.path(), false)), ["two", "three"]);
    let mut trusted = loaded(root.path(), true);
    assert_eq!(active(&trusted), ["three"]);
    trusted.enable_skill("ONE");
    trusted.disable_skill("Three");
    assert_eq!(active(&trusted), ["One"]);

    write(
        root.path(),
        "home/.gemini/settings.json",
        r#"{"skills": {"enabled": false}}"#,
    );
    let off = loaded(root.path(), true);
    assert_eq!(names(&off), [""; 0]);
    assert!(
        CheckedSkills::from_manager(&off)
            .switched_off
            .unwrap()
            .contains("skills.enabled")
    );
}

#[test]
fn one_file_on_two_ways_is_no_conflict() {
    let root = tempfile::tempdir().unwrap();
    write(root.path(), "home/.gemini/skills/x/SKILL.md", skill("x"));
    fs::create_dir_all(root.path().join("home/.agents")).unwrap();
    let (from, to) = (
        root.path().join("home/.gemini/skills"),
        root.path().join("home/.agents/skills"),
    );
    std::os::unix::fs::symlink(&from, &to).unwrap();
    let manager = loaded(root.path(), true);
    assert_eq!(manager.conflicts.len(), 1);
    assert_eq!(manager.conflicts[0].warning(), None);
    let check = CheckedSkills::from_manager(&manager);
    let loaded = &check.candidates[1];
    assert_eq!(loaded.fate, LoadOutcome::Loaded);
    assert_eq!(loaded.same_file_as, Some(from.join("x/SKILL.md")));
    assert_eq!(
        check.candidates[0].fate,
        LoadOutcome::Overridden(to.join("x/SKILL.md"))
    );
}

#[test]
fn an_invalid_skill_is_refused_with_a_reason() {
    let root = tempfile::tempdir().unwrap();
    let skills = root.path();
    write(
        skills,
        "bom/SKILL.md",
        "\u{feff}---\nname: a\ndescription: b\n---\n",
    );
    write(skills, "binary/SKILL.md", [0, 159, 146, 150]);
    let huge = fs::File::create(write(skills, "huge/SKILL.md", skill("huge"))).unwrap();
    huge.set_len(50 * 1024 * 1024).unwrap();
    fs::create_dir_all(skills.join("pipe")).unwrap();
    let made = Command::new("mkfifo")
        .arg(skills.join("pipe/SKILL.md"))
        .status();
    assert!(made.unwrap().success());
    fs::create_dir_all(skills.join("gone")).unwrap();
    std::os::unix::fs::symlink("nowhere", skills.join("gone/SKILL.md")).unwrap();
    fs::create_dir_all(skills.join("folder/SKILL.md")).unwrap();
    write(skills, "fine/SKILL.md", skill("../x"));
    let found = discover(skills, DiscoveryTier::User);
    assert_eq!(found.skills.len(), 1);
    assert_eq!(found.skills[0].name, "..-x");
    let mut why: Vec<_> = found
        .refused
        .iter()
        .map(|one| one.why.to_string())
        .collect();
    why.sort();
    let expected = [
        "is a dangling link",
        "is longer than 4 MiB",
        "is not a regular file",
        "is not text",
        "there is a byte order mark before the first `---`: it must be the very beginning",
    ];
    assert_eq!(why, expected);
}

#[test]
fn files_that_gemini_cli_never_looks_for_are_found_by_the_check() {
    let root = tempfile::tempdir().unwrap();
    let skills = root.path().join("skills");
    for path in [
        "a/skill.md",
        "deep/er/SKILL.md",
        ".hidden/SKILL.md",
        "node_modules/x/SKILL.md",
    ] {
        write(&skills, path, skill("x"));
    }
    write(&skills, "empty/README.md", "");
    write(&skills, "packed.skill", "");
    // Around in circles.
    std::os::unix::fs::symlink("..", skills.join("deep/loop")).unwrap();
    let place = SkillPlace::new(DiscoveryTier::User, skills.clone());
    let mut manager = SkillManager::new(SkillSources {
        places: vec![place],
        ..SkillSources::default()
    });
    manager.load_skills();
    let told: BTreeMap<_, _> = CheckedSkills::from_manager(&manager)
        .candidates
        .into_iter()
        .map(|one| {
            let path = one
                .path
                .strip_prefix(&skills)
                .unwrap()
                .display()
                .to_string();
            (path, one.fate)
        })
        .collect();
    for (path, words) in [
        ("a/skill.md", "only `SKILL.md` is looked for"),
        ("deep/er/SKILL.md", "lies 2 directories deep"),
        (".hidden/SKILL.md", "`.hidden` is passed over"),
        ("node_modules/x/SKILL.md", "`node_modules` is passed over"),
        ("empty", "no `SKILL.md`"),
        ("packed.skill", "skills install"),
    ] {
        let Some(LoadOutcome::NotLookedFor(why)) = told.get(path) else {
            panic!("{path}: {told:?}");
        };
        assert!(why.contains(words), "{path}: {why}");
    }
    assert_eq!(told.len(), 6, "{told:?}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_directory_that_gemini_cli_cannot_name_has_no_skill() {
    use std::os::unix::ffi::OsStrExt as _;
    let root = tempfile::tempdir().unwrap();
    let odd = std::ffi::OsStr::from_bytes(b"b\xffd");
    for name in [odd, "fine".as_ref()] {
        fs::create_dir(root.path().join(name)).unwrap();
        fs::write(root.path().join(name).join("SKILL.md"), skill("x")).unwrap();
    }
    let found = discover(root.path(), DiscoveryTier::User);
    assert_eq!(found.skills.len(), 1, "{found:?}");
    assert_eq!(found.refused.len(), 1, "{found:?}");
    assert_eq!(
        found.refused[0].path,
        root.path().join(odd).join("SKILL.md")
    );
    let why = found.refused[0].why.to_string();
    assert!(why.contains("name is not UTF-8"), "{why}");
}
