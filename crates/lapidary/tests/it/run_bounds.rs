//! Bounds that a run passes on: options below it allow no more.

use std::fs;
use std::path::Path;

use lapidary::directories::surroundings;
use lapidary::engine::budget::{Budget, BudgetUnknown};
use lapidary::engine::config::{Config, PermissionMode};
use lapidary::engine::confine::ConfineMode;
use lapidary::engine::headless::Job;
use lapidary::engine::policy::PermissionEffect::{Allow, Deny};
use lapidary::prepare::{ConfigFiles, RunBounds, RunOptions, RunSurroundings, VaultUse};
use tempfile::TempDir;

struct BoundsScene {
    root: TempDir,
}

impl BoundsScene {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        for name in ["project/inner", "outside", "home"] {
            fs::create_dir_all(root.path().join(name)).unwrap();
        }
        Self { root }
    }

    fn job(&self, directory: &str, options: &RunOptions) -> Result<Job, String> {
        let vars = [("HOME".into(), self.root.path().join("home").into())];
        let place = RunSurroundings {
            environment: surroundings(vars, self.root.path().join(directory)),
            program: "/bin/false".into(),
        };
        let job = options.job(&place, &mut |_| {});
        job.map_err(|error| error.to_string())
    }

    /// The bounds of a run with these options, as a program below it reads them.
    fn bounds(&self, options: &RunOptions) -> RunBounds {
        let job = self.job("project", options).unwrap();
        let value = RunBounds::of_job(&job, options).to_value().unwrap();
        RunBounds::parse(&value).unwrap()
    }
}

fn options(config: Config) -> RunOptions {
    RunOptions {
        config,
        config_files: ConfigFiles::None,
        vault: VaultUse::Off,
        ..RunOptions::new("r")
    }
}

fn rule_names(job: &Job) -> Vec<String> {
    let rules = job.speaking.rules.iter();
    rules.map(|rule| rule.name.clone()).collect()
}

#[test]
fn options_below_a_run_add_denials_and_lose_everything_that_allows_more() {
    let scene = BoundsScene::new();
    let outer = RunOptions {
        rules: vec![
            (Allow, "edit:src/**".to_owned()),
            (Deny, "fetch".to_owned()),
        ],
        ..options(Config {
            budget: Some(Budget::parse("tokens=100,turns=9").unwrap()),
            ..Config::default()
        })
    };
    let inner = RunOptions {
        rules: vec![(Allow, "*".to_owned()), (Deny, "execute".to_owned())],
        bounds: vec![scene.bounds(&outer)],
        ..options(Config {
            permission_mode: Some(PermissionMode::BypassPermissions),
            budget: Some(Budget::parse("tokens=900,turns=3").unwrap()),
            budget_unknown: Some(BudgetUnknown::Warn),
            trust_workspace: Some(true),
            confine: Some(ConfineMode::Off),
            allowed_tools: Some(vec!["run_shell_command".to_owned()]),
            include_directories: Some(vec!["inner".into(), "../outside".into()]),
            confine_write: Some(vec!["../outside".into()]),
            ..Config::default()
        })
    };
    let job = scene.job("project", &inner).unwrap();
    assert_eq!(
        rule_names(&job),
        [
            "--deny 'execute'",
            "--deny 'fetch'",
            "--allow 'edit:src/**'"
        ]
    );
    let config = &job.config;
    assert_eq!(config.permission_mode, Some(PermissionMode::Default));
    assert_eq!(config.budget.unwrap().to_string(), "tokens=100,turns=3");
    assert_eq!(
        (
            config.budget_unknown,
            config.trust_workspace,
            config.confine
        ),
        (None, None, None)
    );
    assert_eq!(config.allowed_tools, Some(Vec::new()));
    assert_eq!(config.include_directories, Some(vec!["inner".into()]));
    assert_eq!(config.confine_write, Some(Vec::new()));
}

#[test]
fn a_run_works_only_below_the_directory_of_the_run_above_it() {
    let scene = BoundsScene::new();
    let inner = RunOptions {
        bounds: vec![scene.bounds(&options(Config::default()))],
        ..options(Config::default())
    };
    assert!(scene.job("project/inner", &inner).is_ok());
    let refused = scene.job("outside", &inner).unwrap_err();
    assert!(
        refused.contains("where the run above this one works"),
        "{refused}"
    );
    let _ = std::os::unix::fs::symlink(
        scene.root.path().join("outside"),
        scene.root.path().join("project/link"),
    );
    assert!(scene.job("project/link", &inner).is_err());
}

#[test]
fn the_outermost_bounds_hold_against_bounds_that_an_agent_made_up() {
    let scene = BoundsScene::new();
    let forged = RunBounds {
        directory: Path::new("/").to_owned(),
        ..scene.bounds(&RunOptions {
            rules: vec![(Allow, "*".to_owned())],
            ..options(Config {
                permission_mode: Some(PermissionMode::BypassPermissions),
                ..Config::default()
            })
        })
    };
    let inner = RunOptions {
        bounds: vec![forged, scene.bounds(&options(Config::default()))],
        ..options(Config {
            permission_mode: Some(PermissionMode::BypassPermissions),
            ..Config::default()
        })
    };
    let job = scene.job("project", &inner).unwrap();
    assert_eq!(rule_names(&job), Vec::<String>::new());
    assert_eq!(job.config.permission_mode, Some(PermissionMode::Default));
    assert!(scene.job("outside", &inner).is_err());
}

#[test]
fn a_value_that_lapidary_did_not_write_is_no_bounds() {
    for value in ["", "{}", "[]", "{\"directory\": \"/\"}", "yes"] {
        assert_eq!(RunBounds::parse(value), None, "{value}");
    }
}
