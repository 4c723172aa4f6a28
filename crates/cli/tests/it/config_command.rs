//! `config`: made, shown and checked.

use std::fs;

use serde_json::Value;

use crate::run::world::World;
use crate::support::{output, root};

fn ran(world: &World, args: &[&str]) -> (Option<i32>, String, String) {
    let ran = output(world.lapidary(args), b"");
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (ran.status.code(), text(ran.stdout), text(ran.stderr))
}

fn assert_valid(schema: &str, instance: &Value) {
    let schema = root().join(format!("schemas/{schema}.schema.json"));
    let schema = serde_json::from_str(&fs::read_to_string(schema).unwrap()).unwrap();
    jsonschema::validate(&schema, instance).unwrap();
}

#[test]
fn a_file_is_made_once_and_shown_with_the_place_of_each_value() {
    let world = World::with_agent("");
    let file = world.path("project/lapidary.toml");
    let (code, stdout, stderr) = ran(&world, &["config", "init"]);
    assert_eq!(
        (code, stdout),
        (Some(0), format!("{}\n", file.display())),
        "{stderr}"
    );
    let (code, _, stderr) = ran(&world, &["config", "init"]);
    assert_eq!(code, Some(13));
    let said = format!(
        "error: `{}` exists already\nhint: `lapidary config show` shows what it says\n",
        file.display()
    );
    assert_eq!(stderr, said);
    let text = fs::read_to_string(&file)
        .unwrap()
        .replace("# timeout = ", "timeout = ");
    fs::write(&file, text).unwrap();
    let (code, stdout, stderr) = ran(&world, &["config", "show"]);
    assert_eq!((code, stderr.as_str()), (Some(0), ""));
    let shown: Value = serde_json::from_str(&stdout).unwrap();
    assert_valid("config", &shown);
    let settings = shown["settings"].as_array().unwrap();
    let timeout = settings.iter().find(|it| it["key"] == "timeout").unwrap();
    assert_eq!(
        (&timeout["value"], &timeout["isDefault"]),
        (&600.into(), &false.into())
    );
    assert_eq!(timeout["path"], file.to_str().unwrap());
    let (_, stdout, _) = ran(&world, &["config", "show", "--format", "text"]);
    let line = stdout
        .lines()
        .find(|line| line.starts_with("timeout"))
        .unwrap();
    assert!(
        line.contains(" 600 ") && line.contains("lapidary.toml:"),
        "{line}"
    );
    assert!(stdout.contains("(does not exist)"), "{stdout}");
}

#[test]
fn config_check_reports_findings_by_file_line_and_column() {
    let world = World::with_agent("");
    let file = world.path("project/lapidary.toml");
    fs::write(
        &file,
        "modle = 'x'\ntimeout = 5\n\n[[rule]]\nthen = 'allow'\n",
    )
    .unwrap();
    let at = file.display();
    let (code, stdout, _) = ran(&world, &["config", "check", "--format", "text"]);
    assert_eq!(code, Some(0));
    let expected = format!(
        "{at}:1:1: warning: unknown key `modle` (did you mean `model`?)\n\
         {at}:4: warning: the rule is ignored: a project's file cannot allow anything\n  \
         hint: put it into your own file (`lapidary config init --user`), or pass a file with `--config`\n"
    );
    assert_eq!(stdout, expected);
    assert_eq!(ran(&world, &["config", "check", "--strict"]).0, Some(3));
    fs::write(&file, "[[rule]]\nagent = 'cluade'\nthen = 'ask'\n").unwrap();
    let (_, stdout, _) = ran(&world, &["config", "check", "--format", "text"]);
    let told = "no agent that Lapidary knows is called `cluade` (did you mean `claude`?)";
    assert_eq!(stdout, format!("{at}:1: warning: {told}\n"));
    fs::write(&file, "model = 'x'\ntimeout = 'soon'\n").unwrap();
    let (code, stdout, _) = ran(&world, &["config", "check"]);
    let report: Value = serde_json::from_str(&stdout).unwrap();
    assert_valid("config-check", &report);
    let finding = &report["findings"][0];
    assert_eq!(
        (code, &finding["line"], &finding["column"]),
        (Some(3), &2.into(), &11.into())
    );
    assert_eq!(finding["severity"], "error");
    let (code, _, stderr) = ran(&world, &["config", "show"]);
    assert!(
        code == Some(13) && stderr.starts_with(&format!("error: {at}:2:11: ")),
        "{stderr}"
    );
}

#[test]
fn a_file_that_is_named_has_to_be_there() {
    let world = World::with_agent("");
    let (code, _, stderr) = ran(&world, &["config", "check", "--config", "none.toml"]);
    assert!(
        code == Some(13) && stderr.contains("none.toml` does not exist"),
        "{stderr}"
    );
}

#[test]
fn lapidary_without_arguments_shows_the_agents_and_the_next_step() {
    let world = World::with_agent("");
    let (code, stdout, stderr) = ran(&world, &[]);
    assert_eq!((code, stderr.as_str()), (Some(0), ""));
    assert!(stdout.contains("\nAgents   gemini"), "{stdout}");
    assert!(
        stdout.contains("\nNext     lapidary run 'explain this project'\n"),
        "{stdout}"
    );
    assert!(stdout.lines().count() <= 14, "{stdout}");
}
