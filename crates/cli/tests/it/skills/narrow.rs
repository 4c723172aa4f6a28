//! On a terminal that is narrower than what there is to say.

use super::stage::{Stage, skill};
use crate::support::{lapidary, on_a_terminal};
use crate::usage::without_colours;

fn shown(stage: &Stage, verb: &str) -> String {
    let mut command = lapidary(["skills", verb]);
    command
        .current_dir(stage.world.project())
        .env_clear()
        .envs(stage.world.environment("http://127.0.0.1:9"));
    let ran = on_a_terminal(&command, 40);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    stage.anywhere(&without_colours(&ran.stdout))
}

#[test]
fn words_go_on_below_their_beginning_and_paths_stay_whole() {
    let stage = Stage::new();
    let text = skill("one").replace(
        "Does one",
        "Reads what was written and says what it thinks of it",
    );
    stage.write("home/.gemini/skills/one/SKILL.md", text);
    stage.write("home/.gemini/skills/two/skill.md", skill("two"));
    let list = shown(&stage, "list");
    let described = "  Description: Reads what was written\n               and says what it thinks\n               of it\n  Location:    ROOT/home/.gemini/skills/one/SKILL.md\n";
    assert!(list.contains(described), "{list}");
    let check = shown(&stage, "check");
    let why = "    is called `skill.md`, and only\n    `SKILL.md` is looked for\n";
    assert!(check.contains(why), "{check}");
}
