//! The text about skills that the real Gemini CLI sends to a model.

use std::fs;
use std::process::Stdio;

use lapidary_gemini::skills::{DiscoveryTier, SkillManager, SkillPlace, SkillSources};
use lapidary_standin::api::{FakeApi, Script, Turn};
use lapidary_testkit::gemini::{GeminiVersion, GeminiWorld};
use serde_json::{Value, json};

use super::{skill, write};

/// Whether any string in a value contains a text.
fn says(value: &Value, text: &str) -> bool {
    match value {
        Value::String(found) => found.contains(text),
        Value::Array(items) => items.iter().any(|item| says(item, text)),
        Value::Object(members) => members.values().any(|value| says(value, text)),
        _ => false,
    }
}

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn a_model_gets_the_same_list_of_skills_and_the_same_activated_skill() {
    let world = GeminiWorld::new();
    let skills = world.home().join(".gemini/skills");
    write(&skills, "one/SKILL.md", skill("one <b>"));
    for (folder, files) in [("a", 90), ("b/c", 90), ("d", 90), ("node_modules", 2)] {
        for file in 0..files {
            write(&skills, &format!("one/{folder}/F{file}_x.txt"), "");
        }
    }
    write(&skills, "two/SKILL.md", skill("two"));
    fs::create_dir_all(world.project()).unwrap();
    let call = Turn::call("activate_skill", json!({ "name": "one -b-" }));
    let script = Script::new().stream(call).stream("Done.");
    let api = FakeApi::start_in_thread(script).unwrap();
    let mut gemini = world.command(GeminiVersion::V0_61_0, &api.base_url());
    gemini.args(["-m", "gemini-2.5-flash", "--yolo", "-p", "hi"]);
    let ran = gemini.stdin(Stdio::null()).output().unwrap();
    assert!(ran.status.success(), "{ran:?}");

    // It finds its own skills first; ours are told behind them.
    let place = SkillPlace::new(DiscoveryTier::User, skills);
    let mut manager = SkillManager::new(SkillSources {
        places: vec![place],
        ..SkillSources::default()
    });
    manager.load_skills();
    let requests: Vec<Value> = api
        .requests()
        .into_iter()
        .map(|request| request.body)
        .collect();
    let list = manager.available_skills();
    // The CLI looks into several directories at once: which skill comes first is up to the machine.
    let entries: Vec<_> = list.split_inclusive("</skill>").collect();
    let entries = &entries[..entries.len() - 1];
    assert_eq!(entries.len(), 2, "{list}");
    let entry = |entry: &str| entry.trim_start_matches("<available_skills>").to_owned();
    let tells = |request: &&Value| entries.iter().all(|it| says(request, &entry(it)));
    let system = requests.iter().find(tells);
    assert!(system.is_some(), "{list}\n{requests:#?}");
    let activated = manager.activate_skill("one -b-").unwrap();
    let told = requests.iter().any(|request| says(request, &activated));
    assert!(told, "{activated}\n{requests:#?}");
}
