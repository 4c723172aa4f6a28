//! Skills that are missing, or not in the place where the command looks: the message says where they are, or which name the user
//! meant.

use std::fs;

use serde_json::json;

use super::stage::{Stage, ran, skill};
use crate::usage::{on_a_terminal, without_colours};

#[test]
fn a_name_that_was_mistyped_is_guessed() {
    let stage = Stage::new();
    stage.write("home/.gemini/skills/reviewer/SKILL.md", skill("reviewer"));
    let said = |args: &[&str]| stage.run(args).stderr;
    assert_eq!(
        said(&["enable", "revewer"]),
        "error: there is no skill `revewer`\nhint: did you mean `reviewer`?\n"
    );
    assert_eq!(
        said(&["uninstall", "Reviewer"]),
        "error: Skill \"Reviewer\" is not installed in the user scope.\nhint: did you mean `reviewer`?\n"
    );
    let disabled = said(&["disable", "revewer"]);
    let words = "warning: there is no skill `revewer` here; did you mean `reviewer`?\n";
    assert!(disabled.ends_with(words), "{disabled}");
    let far = said(&["uninstall", "pdf"]);
    let words = "hint: `lapidary skills check` says where each skill is\n";
    assert!(far.ends_with(words), "{far}");
}

#[test]
fn uninstall_says_where_a_skill_of_another_scope_is_installed() {
    let stage = Stage::new();
    let extension = json!({ "name": "ext", "version": "1.0.0" });
    stage.write(
        "home/.gemini/extensions/ext/gemini-extension.json",
        extension.to_string(),
    );
    for (place, name) in [
        ("home/.gemini/extensions/ext/skills", "extended"),
        ("home/.gemini/skills", "mine"),
        ("project/.gemini/skills", "ours"),
        ("home/.agents/skills", "theirs"),
        ("project/.agents/skills", "all of us"),
    ] {
        stage.write(&format!("{place}/{name}/SKILL.md"), skill(name));
    }
    stage.write("home/.gemini/skills/SKILL.md", skill("top"));
    let before = stage.files("");
    let by_hand = "where nothing is installed or uninstalled: remove it by hand";
    for (name, scope, hint) in [
        (
            "mine",
            "workspace",
            "it is in `ROOT/home/.gemini/skills/mine`: say --scope user",
        ),
        (
            "ours",
            "user",
            "it is in `ROOT/project/.gemini/skills/ours`: say --scope workspace",
        ),
        (
            "theirs",
            "user",
            &format!("it is in `ROOT/home/.agents/skills/theirs`, {by_hand}"),
        ),
        (
            "all of us",
            "workspace",
            &format!("it is in `ROOT/project/.agents/skills/all of us`, {by_hand}"),
        ),
        (
            "extended",
            "user",
            "it comes with the extension `ext`: `lapidary skills disable extended` switches it off",
        ),
        (
            "top",
            "user",
            "it is `ROOT/home/.gemini/skills/SKILL.md`: remove it by hand",
        ),
    ] {
        let ran = stage.run(&["uninstall", name, "--scope", scope]);
        assert_eq!(ran.code, Some(13), "{ran:?}");
        let expected = format!(
            "error: Skill \"{name}\" is not installed in the {scope} scope.\nhint: {hint}\n"
        );
        assert_eq!(stage.anywhere(&ran.stderr), expected);
    }
    assert_eq!(stage.files(""), before);
}

#[test]
fn a_skill_that_is_left_out_is_no_skill_that_is_not_there() {
    let stage = Stage::with_settings(&json!({
        "security": { "folderTrust": { "enabled": true } },
    }));
    stage.write("project/.gemini/skills/shipit/SKILL.md", skill("shipit"));
    let why = "the workspace is not trusted: it is not in the list of trusted folders";
    let here = stage.run(&["disable", "shipit"]).stderr;
    assert!(!here.contains("there is no skill"), "{here}");
    assert!(
        here.contains("warning: this workspace is not trusted"),
        "{here}"
    );
    let user = stage.run(&["disable", "shipit", "--scope", "user"]).stderr;
    let words = format!("warning: skill `shipit` is skipped here: {why}\n");
    assert!(user.ends_with(&words), "{user}");
    assert_eq!(stage.run(&["enable", "shipit"]).code, Some(0));
    let again = stage.run(&["enable", "shipit"]);
    let expected = format!("Skill \"shipit\" is already enabled.\n{words}");
    assert_eq!((again.code, again.stderr), (Some(0), expected));

    let note = "1 skill of the workspace skipped: it is not trusted; see `lapidary skills check`";
    fs::remove_file(stage.path("project/.gemini/settings.json")).unwrap();
    let list = stage.run(&["list", "--format", "text"]);
    assert_eq!(
        (list.stdout.as_str(), list.stderr),
        ("No skills discovered.\n", format!("note: {note}\n"))
    );
    let list = stage.object(&["list"]);
    super::commands::assert_valid("skills", &list);
    assert_eq!(list["notes"], json!([note]));
}

#[test]
fn skills_of_gemini_cli_that_cannot_be_shown_are_not_left_out_in_silence() {
    let stage = Stage::new();
    let wrapper = stage.write("bin/gemini", "#!/bin/sh\nexec node gemini.js \"$@\"\n");
    let mut permissions = fs::metadata(&wrapper).unwrap().permissions();
    std::os::unix::fs::PermissionsExt::set_mode(&mut permissions, 0o755);
    fs::set_permissions(&wrapper, permissions).unwrap();
    let said = |args: &[&str]| {
        let mut command = stage.command(args);
        command.env("GEMINI_CLI_PATH", &wrapper);
        stage.anywhere(&ran(command).stderr)
    };
    assert_eq!(
        said(&["list", "--all", "--format", "text"]),
        "note: the skills that come with Gemini CLI cannot be shown: none are beside `ROOT/bin/gemini`; GEMINI_CLI_PATH can name the Gemini CLI itself\n"
    );
    assert_eq!(said(&["list", "--format", "text"]), "");
    let mut nowhere = stage.command(&["list", "--all", "--format", "text"]);
    nowhere.env("PATH", "/nowhere");
    let nowhere = ran(nowhere).stderr;
    assert!(nowhere.contains("there is no Gemini CLI here"), "{nowhere}");
}

#[test]
fn a_file_instead_of_a_directory_of_skills_is_an_error_with_a_hint() {
    let stage = Stage::new();
    stage.write("project/mine/SKILL.md", skill("mine"));
    for name in ["pdf.zip", "pdf.skill", "notes.txt"] {
        stage.write(&format!("project/{name}"), "x");
    }
    for (verb, source, hint) in [
        ("install", "mine/SKILL.md", "give its directory, `mine`"),
        ("link", "mine/SKILL.md", "give its directory, `mine`"),
        (
            "install",
            "pdf.zip",
            "an archive must be called .skill: rename it `pdf.skill` and install that",
        ),
        (
            "link",
            "pdf.skill",
            "`link` takes a directory; `lapidary skills install` unpacks it",
        ),
        (
            "install",
            "notes.txt",
            "give a directory, the address of a git repository, or a .skill file",
        ),
        ("link", "notes.txt", "`link` takes a directory"),
    ] {
        let ran = stage.run(&[verb, source, "--consent"]);
        assert_eq!(ran.code, Some(13), "{ran:?}");
        let expected = format!("error: `{source}` is a file\nhint: {hint}\n");
        assert_eq!(ran.stderr, expected, "{verb}");
    }
}

#[test]
fn a_path_that_is_not_in_a_source_is_said_with_those_that_are() {
    let stage = Stage::new();
    stage.write("project/repo/skills/x/SKILL.md", skill("x"));
    stage.write("project/flat/x/SKILL.md", skill("x"));
    stage.write("project/one/SKILL.md", skill("one"));
    for (source, path, expected) in [
        (
            "repo",
            "nope",
            "in repo\nhint: there are skills: `--path skills` (1 skill)\n",
        ),
        (
            "flat",
            "nope",
            "in flat\nhint: there are skills: without --path (1 skill)\n",
        ),
        (
            "one",
            "nope",
            "in one\nhint: there are skills: without --path (1 skill)\n",
        ),
        (
            "repo",
            "skills/x/SKILL.md",
            "in repo\nhint: it is a file: give its directory, `--path skills/x`\n",
        ),
    ] {
        let ran = stage.run(&["install", source, "--path", path, "--consent"]);
        assert_eq!(ran.code, Some(13), "{ran:?}");
        let expected = format!("error: there is no directory `{path}` {expected}");
        assert!(ran.stderr.ends_with(&expected), "{ran:?}");
    }
}

#[test]
fn paths_are_said_without_dots_as_gemini_cli_says_them() {
    let stage = Stage::new();
    stage.write("source/mine/SKILL.md", skill("mine"));
    let ran = stage.run(&["install", "../source/./mine", "--consent"]);
    let said = stage.anywhere(&ran.stderr);
    assert!(
        said.starts_with("Searching for skills in ROOT/source/mine...\n"),
        "{said}"
    );
    assert!(
        said.contains("(Source: ROOT/source/mine/SKILL.md)"),
        "{said}"
    );
    assert!(
        !said.contains("/../") && !said.contains("ROOT/project"),
        "{said}"
    );
}

#[test]
fn the_install_question_names_the_skills_it_would_replace() {
    let stage = Stage::new();
    stage.write("project/mine/a/SKILL.md", skill("a"));
    stage.write("project/mine/b/SKILL.md", skill("b"));
    stage.write("home/.gemini/skills/b/SKILL.md", skill("b"));
    let (home, source) = (stage.world.home(), stage.path("project/mine"));
    let env = [("HOME", home.to_str().unwrap())];
    for verb in ["install", "link"] {
        let args = ["skills", verb, source.to_str().unwrap()];
        let (shown, code) = on_a_terminal(&args, &env, b"n\n");
        assert_eq!(code, Some(130), "{shown}");
        let shown = without_colours(&shown).replace("\r\n", "\n");
        let words = "note: replaces what is there already: b\nDo you want to continue?";
        assert!(shown.contains(words), "{shown}");
    }
}

#[test]
fn a_namesake_that_counted_before_still_counts() {
    let stage = Stage::new();
    stage.write("home/.gemini/skills/pdf/SKILL.md", skill("pdf"));
    stage.write("project/.gemini/skills/pdf/SKILL.md", skill("pdf"));
    let ran = stage.run(&["uninstall", "pdf"]);
    let said = stage.anywhere(&ran.stderr);
    let words =
        "warning: `ROOT/project/.gemini/skills/pdf/SKILL.md` has the same name, and still counts\n";
    assert!(said.ends_with(words), "{said}");
}
