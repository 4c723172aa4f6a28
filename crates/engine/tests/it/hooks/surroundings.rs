//! The surroundings of hooks: the settings about them, and the environment that a hook finds.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use lapidary_engine::hooks::{HookContext, VariableRedaction, fire};
use lapidary_gemini::hooks::HookPlan;
use lapidary_gemini::setup::Setup;
use lapidary_gemini::{GeminiHome, Vars};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::{Scene, hook};

/// The surroundings of a session in the scene's folder, where the user's settings are these.
fn with_settings(scene: &Scene, settings: &Value) -> HookContext {
    let home = scene.path().join("home");
    let work = scene.path().join("work");
    for folder in [home.join(".gemini"), work.clone()] {
        fs::create_dir_all(folder).unwrap();
    }
    let none = home.join("none").into_os_string();
    let vars = [
        ("GEMINI_CLI_SYSTEM_SETTINGS_PATH", none.clone()),
        ("GEMINI_CLI_SYSTEM_DEFAULTS_PATH", none),
    ];
    let vars: BTreeMap<_, _> = vars.map(|(name, path)| (name.into(), path)).into();
    let home = GeminiHome::at(home);
    fs::write(home.user_settings(), settings.to_string()).unwrap();
    let setup = Setup::read(&home, &work, Vars::new(&vars));
    HookContext::from_setup(&setup, "s1", Vec::new())
}

#[tokio::test]
async fn redacted_variables_do_not_reach_a_hook() {
    let scene = Scene::new();
    let mut around = scene.around();
    let token = ("MY_TOKEN".into(), "secret".into());
    around.variables.push(token);
    let plan = HookPlan {
        hooks: vec![hook("echo \"$MY_TOKEN|$INHERITED|${GEMINI_CWD}\"")],
        ..HookPlan::default()
    };
    let cwd = scene.path().display();
    for (enabled, expected) in [(true, ""), (false, "secret")] {
        around.redaction = VariableRedaction {
            enabled,
            ..VariableRedaction::default()
        };
        let fired = fire(&plan, scene.call(), &around, &CancellationToken::new()).await;
        let said = fired.runs[0].stdout.text();
        assert_eq!(said.trim_end(), format!("{expected}|yes|{cwd}"));
    }
}

#[test]
fn settings_configure_the_redaction_of_variables() {
    let scene = Scene::new();
    assert_eq!(
        with_settings(&scene, &json!({})).redaction,
        VariableRedaction::default()
    );
    let said = json!({"enabled": true, "allowed": ["A", 7], "blocked": ["B"]});
    let settings = json!({"security": {"environmentVariableRedaction": said}});
    let expected = VariableRedaction {
        enabled: true,
        allowed: vec!["A".to_owned()],
        blocked: vec!["B".to_owned()],
    };
    assert_eq!(with_settings(&scene, &settings).redaction, expected);
}

#[test]
fn plans_stay_in_the_project_or_are_the_sessions_own() {
    let scene = Scene::new();
    let plans = |directory: &str| {
        let settings = json!({"general": {"plan": {"directory": directory}}});
        with_settings(&scene, &settings).plans_dir
    };
    assert_eq!(plans("my/plans"), scene.path().join("work/my/plans"));
    for elsewhere in ["", "../out", "/out"] {
        let plans = plans(elsewhere);
        let base = scene.path().join("home/.gemini/tmp");
        assert!(plans.starts_with(base), "{}", plans.display());
        assert!(
            plans.ends_with(Path::new("s1/plans")),
            "{}",
            plans.display()
        );
    }
}

#[test]
fn the_hook_context_of_an_untrusted_folder_is_untrusted() {
    let scene = Scene::new();
    for matters in [true, false] {
        let settings = json!({"security": {"folderTrust": {"enabled": matters}}});
        assert_eq!(with_settings(&scene, &settings).is_trusted, !matters);
    }
}
