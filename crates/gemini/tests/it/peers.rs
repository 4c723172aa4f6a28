//! The real Gemini CLI agrees.

use std::fs;
use std::process::Stdio;

use lapidary_gemini::trust::Trust;
use lapidary_gemini::{GeminiHome, Vars};
use lapidary_standin::api::{FakeApi, Script};
use lapidary_testkit::gemini::{GeminiVersion, GeminiWorld};
use serde_json::json;

/// What Gemini CLI exits with in a folder that it does not trust.
const UNTRUSTED: i32 = 55;

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn gemini_cli_refuses_exactly_the_folders_that_we_call_untrusted() {
    for (rules, variable, is_trusted) in [
        ("{}", None, false),
        (
            r#"{"PROJECT": "DO_NOT_TRUST", "ROOT/a-longer-name-than-that": "TRUST_PARENT"}"#,
            None,
            true,
        ),
        (
            r#"{"ROOT": "TRUST_FOLDER", "PROJECT": "DO_NOT_TRUST"}"#,
            None,
            false,
        ),
        (r#"{"PROJECT": "TRUST_FOLDER"}"#, Some("false"), false),
    ] {
        let settings = json!({ "security": { "folderTrust": { "enabled": true } } });
        let world = GeminiWorld::with_settings(&settings);
        let root = world.root().canonicalize().unwrap();
        let rules = rules
            .replace("PROJECT", &root.join("project").display().to_string())
            .replace("ROOT", &root.display().to_string());
        fs::write(world.home().join(".gemini/trustedFolders.json"), &rules).unwrap();

        let mut vars = world
            .environment("")
            .into_iter()
            .collect::<std::collections::BTreeMap<_, _>>();
        vars.extend(variable.map(|value| ("GEMINI_CLI_TRUST_WORKSPACE".into(), value.into())));
        let vars = Vars::new(&vars);
        let home = GeminiHome::from_vars(vars, Some(&world.home())).unwrap();
        let ours = Trust::for_folder(&world.project(), &home, vars);
        assert_eq!(
            matches!(ours, Trust::Trusted(_)),
            is_trusted,
            "{rules}: {ours:?}"
        );

        let api = FakeApi::start_in_thread(Script::new()).unwrap();
        let mut command = world.command(GeminiVersion::V0_61_0, &api.base_url());
        command.args(["-m", "gemini-2.5-flash", "-p", "hi"]);
        command.envs(variable.map(|value| ("GEMINI_CLI_TRUST_WORKSPACE", value)));
        let status = command
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .unwrap();
        let expected = if is_trusted { 0 } else { UNTRUSTED };
        assert_eq!(status.code(), Some(expected), "{rules}");
    }
}
