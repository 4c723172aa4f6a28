//! Extreme files: deep, long, unreadable, or full of mistakes.

use std::fs;
use std::thread;

use lapidary_gemini::settings::{EditError, EditOutcome, edit};
use lapidary_gemini::trust::{Trust, TrustDoubt};
use lapidary_gemini::{ReadError, UpstreamReaction};
use lapidary_testkit::work::{assert_linear, cost};
use serde_json::{Value, json};

use super::{USER, WORKSPACE, trusted};
use crate::machine::Machine;

/// As deep as we go.
const DEEPEST: usize = 512;

const MIB: usize = 1024 * 1024;

fn nested(levels: usize) -> String {
    let turns = ["{\"a\":", "["].iter().cycle().take(levels);
    let ends = ["}", "]"].iter().cycle().take(levels);
    let ends: Vec<_> = ends.copied().collect();
    let open: String = turns.copied().collect();
    let close: String = ends.into_iter().rev().collect();
    format!("{open}1{close}")
}

fn verdict(machine: &Machine) -> UpstreamReaction {
    let setup = machine.setup();
    let file = &setup.settings.files[0];
    let error = file.content.as_ref().unwrap_err();
    let told = setup.notices[0].to_string();
    let verdict = error.verdict(&file.path);
    assert!(told.ends_with(&verdict.to_string()), "{told}");
    verdict
}

/// A thread with half the usual stack handles settings of the greatest depth that we accept, at any key.
#[test]
fn no_depth_overflows_the_stack() {
    let deep = nested(DEEPEST - 4);
    let text = format!(
        r#"{{"x": {deep}, "hooks": {{"BeforeTool": [{deep}], "Odd": {deep}}}, "mcpServers": {{"s": {deep}}},
            "experimental": {{"codebaseInvestigatorSettings": {{"model": {deep}}}}}, "skills": {{"disabled": [{deep}]}}}}"#
    );
    let manifest = format!(r#"{{"name": "e", "version": "1", "x": {deep}}}"#);
    let machine = trusted()
        .file(USER, &text)
        .file(WORKSPACE, &text)
        .file("home/.gemini/extensions/e/gemini-extension.json", &manifest);
    let path = machine.path(USER);
    let used = || {
        let setup = machine.setup();
        assert!(setup.is_trusted(), "{:?}", setup.notices);
        assert_eq!(setup.extensions[0].name, "e");
        let merged = Value::Object(setup.merged().clone());
        assert_eq!(setup.get(&["x"]), merged.get("x"));
        let changed = edit(&path, |document| {
            document.push(&["tools", "exclude"], "a").map(drop)
        });
        assert_eq!(changed.unwrap(), EditOutcome::Yes);
        merged.to_string().len()
    };
    let small = thread::Builder::new().stack_size(MIB);
    let length = thread::scope(|scope| small.spawn_scoped(scope, used).unwrap().join().unwrap());
    assert!(length > 6 * deep.len());
    let after = fs::read_to_string(&path).unwrap();
    assert!(after.starts_with(&text[..text.len() - 1]));
}

#[test]
fn settings_beyond_our_bounds_are_not_called_a_mistake() {
    let deep = format!("{{\n\"x\": {}}}", nested(DEEPEST));
    let machine = trusted().file(USER, &deep);
    assert_eq!(verdict(&machine), UpstreamReaction::MayRead);
    let setup = machine.setup();
    let told = setup.notices[0].to_string();
    assert!(told.contains(":2:"), "{told}");
    assert!(told.contains(": has more than 512 levels; "), "{told}");
    assert!(matches!(
        setup.trust,
        Trust::Unknown(TrustDoubt::UnreadFile { .. })
    ));
    assert!(matches!(
        machine.trust(),
        Trust::Unknown(TrustDoubt::UnreadFile { .. })
    ));

    let many = format!("{{\"x\": [1{}]}}", ",1".repeat(1_000_000));
    assert_eq!(
        verdict(&trusted().file(USER, &many)),
        UpstreamReaction::MayRead
    );

    // Nothing is written for a file that is mostly a hole.
    let machine = trusted().file(USER, "{}");
    let file = fs::File::options()
        .write(true)
        .open(machine.path(USER))
        .unwrap();
    file.set_len(64 * MIB as u64 + 1).unwrap();
    assert_eq!(verdict(&machine), UpstreamReaction::MayRead);
    let told = machine.setup().notices[0].to_string();
    assert!(told.contains(": is longer than 64 MiB; "), "{told}");
}

#[test]
fn settings_that_gemini_cli_reads_are_read() {
    let text = r#"{"model": {"maxSessionTurns": 1e400}, "skills": {"disabled": ["\ud800"]}, "y\udc00": 1}"#;
    let long = format!("{{\"x\": \"{}\"}}", "a".repeat(5 * MIB));
    let machine = trusted().file(USER, text).file(WORKSPACE, &long);
    let setup = machine.setup();
    assert_eq!(setup.notices, []);
    assert_eq!(
        setup.get(&["model", "maxSessionTurns"]),
        Some(&json!(f64::MAX))
    );
    assert_eq!(
        setup.get(&["skills", "disabled"]),
        Some(&json!(["\u{fffd}"]))
    );
    assert_eq!(setup.get(&["x"]).unwrap().as_str().unwrap().len(), 5 * MIB);
    let changed = edit(&machine.path(USER), |document| {
        document.push(&["skills", "disabled"], "b").map(drop)
    });
    assert_eq!(changed.unwrap(), EditOutcome::Yes);
    let after = fs::read_to_string(machine.path(USER)).unwrap();
    assert_eq!(after, text.replace(r#""\ud800""#, r#""\ud800", "b""#));
}

#[test]
fn a_change_that_would_make_a_file_too_deep_is_refused() {
    let machine = Machine::new().file(USER, "{}");
    let path = machine.path(USER);
    let deep: Value = (0..DEEPEST).fold(json!(1), |inner, _| json!([inner]));
    let refused = edit(&path, |document| document.set(&["y"], deep)).unwrap_err();
    assert!(matches!(
        refused,
        EditError::Spoiled {
            source: ReadError::TooDeep(_),
            ..
        }
    ));
    assert_eq!(fs::read_to_string(&path).unwrap(), "{}");
}

#[test]
fn bytes_that_are_no_text_are_read_but_never_written_over() {
    let text = b"{\n  // \xe9t\xe9\n  \"skills\": {\"disabled\": [\"\xff\"]}\n}";
    let machine = trusted().file(USER, "");
    let path = machine.path(USER);
    fs::write(&path, text).unwrap();
    let setup = machine.setup();
    assert_eq!(
        setup.get(&["skills", "disabled"]),
        Some(&json!(["\u{fffd}"]))
    );
    let refused = edit(&path, |document| {
        document.push(&["skills", "disabled"], "b").map(drop)
    });
    assert_eq!(
        refused.unwrap_err().to_string(),
        format!("`{}` is not UTF-8 at line 2 column 6", path.display())
    );
    assert_eq!(fs::read(&path).unwrap(), text);
}

#[cfg(unix)]
#[test]
fn an_unreachable_file_is_missing_and_a_pipe_is_not_waited_for() {
    use std::os::unix::fs::symlink;
    let machine = trusted().file(USER, "");
    let path = machine.path(USER);
    let replace = |target: &str| {
        fs::remove_file(&path).unwrap();
        symlink(target, &path).unwrap();
    };
    replace("settings.json");
    assert_eq!(verdict(&machine), UpstreamReaction::Misses);
    replace("/dev/null");
    assert_eq!(verdict(&machine), UpstreamReaction::MayRead);
    replace("..");
    assert_eq!(verdict(&machine), UpstreamReaction::Refuses);
}

/// Wrong keys and wrong items, all on one line that is not ASCII: the slowest input for a reader that counts columns from the
/// start of the line.
#[cfg(target_os = "linux")]
fn wrong(count: usize) -> String {
    let keys = (0..count).map(|at| format!("\"é{at}\": 1"));
    let keys: Vec<_> = keys.collect();
    let items = vec!["1"; count].join(", ");
    let keys = keys.join(", ");
    format!("{{\"skills\": {{\"disabled\": [{items}]}}, \"mcpServers\": {{{keys}}}}}")
}

/// Counting from the start for each of them would be quadratic.
#[cfg(target_os = "linux")]
#[test]
fn many_mistakes_cost_no_more_than_each_of_them() {
    assert_linear(3_000, |count| {
        let machine = Machine::new().file(USER, &wrong(count));
        cost(|| assert_eq!(machine.setup().notices.len(), 2 * count))
    });
}

/// Taking it off item by item would be quadratic.
#[cfg(target_os = "linux")]
#[test]
fn a_name_that_is_on_a_list_many_times_is_taken_off_at_once() {
    assert_linear(1_000, |count| {
        let settings = json!({ "skills": { "disabled": vec!["one"; count] } });
        let machine = Machine::new().file(USER, &settings.to_string());
        let setup = machine.setup();
        let spent = cost(|| lapidary_gemini::skills::enable(&setup, "one").unwrap());
        let after: Value =
            serde_json::from_str(&fs::read_to_string(machine.path(USER)).unwrap()).unwrap();
        assert_eq!(after["skills"]["disabled"], json!([]));
        spent
    });
}
