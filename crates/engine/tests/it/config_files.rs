//! `lapidary.toml`: its places, and the settings that a project's file may not have.

use std::fs;
use std::os::unix::fs::{chown, lchown, symlink};
use std::path::{Path, PathBuf};

use lapidary_engine::config::{
    Config, ConfigError, ConfigWarning, LoadedConfig, PermissionMode, find_project_file, load,
};
use tempfile::TempDir;

/// A user's file beside a project with a file of its own.
struct Files {
    folder: TempDir,
}

impl Files {
    fn new(user: &str, project: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let files = Self { folder };
        fs::create_dir(files.project_dir()).unwrap();
        fs::write(files.user(), user).unwrap();
        fs::write(files.project(), project).unwrap();
        files
    }

    fn user(&self) -> PathBuf {
        self.folder.path().join("lapidary.toml")
    }

    fn project_dir(&self) -> PathBuf {
        self.folder.path().join("project")
    }

    fn project(&self) -> PathBuf {
        self.project_dir().join("lapidary.toml")
    }

    fn load(&self) -> Result<LoadedConfig, ConfigError> {
        load(Some(&self.user()), Some(&self.project()))
    }
}

/// Checks the settings that a project's file keeps, and the warnings about the refused ones, each with its place in front.
#[track_caller]
fn check_project(text: &str, config: &Config, refused: &[&str]) {
    let files = Files::new("", text);
    let loaded = files.load().unwrap();
    assert_eq!(&loaded.config, config, "{text}");
    let said: Vec<_> = loaded.warnings.iter().map(ToString::to_string).collect();
    let expected: Vec<_> = refused
        .iter()
        .map(|refused| {
            let (place, refused) = refused.split_once(' ').unwrap();
            format!(
                "{}:{place}: `{refused}` ignored: a project's file cannot grant this; put it into your own lapidary.toml, \
                 or on the command line",
                files.project().display()
            )
        })
        .collect();
    assert_eq!(said, expected);
}

#[test]
fn a_projects_file_is_laid_over_the_users() {
    let files = Files::new("model = 'low'\ntimeout = 5", "model = 'high'");
    let config = Config::builder().model("high").set("timeout", 5).build();
    let expected = LoadedConfig {
        config: config.unwrap(),
        warnings: vec![],
    };
    assert_eq!(files.load().unwrap(), expected);
}

#[test]
fn files_that_are_not_there_say_nothing() {
    let nowhere = Path::new("/nonexistent/lapidary.toml");
    assert_eq!(
        load(Some(nowhere), Some(nowhere)).unwrap(),
        LoadedConfig::default()
    );
    assert_eq!(load(None, None).unwrap(), LoadedConfig::default());
}

#[test]
fn files_that_cannot_be_read_are_an_error_that_names_them() {
    let files = Files::new("", "");
    fs::remove_file(files.project()).unwrap();
    fs::create_dir(files.project()).unwrap();
    let error = files.load().unwrap_err();
    let expected = format!("cannot read {}", files.project().display());
    assert_eq!(error.to_string(), expected);

    let files = Files::new("model = 'x'\n\n  = 3", "");
    let place = format!("{}:3:3: ", files.user().display());
    let said = files.load().unwrap_err().to_string();
    assert!(said.starts_with(&place), "{said}");

    let files = Files::new("", &"#".repeat(1024 * 1024 + 1));
    assert!(matches!(files.load(), Err(ConfigError::Read { .. })));
    let files = Files::new("", "");
    fs::write(files.user(), b"model = '\xff'").unwrap();
    assert!(matches!(files.load(), Err(ConfigError::Read { .. })));
}

#[test]
fn a_pipe_is_not_waited_for() {
    let files = Files::new("", "");
    fs::remove_file(files.project()).unwrap();
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    rustix::fs::mknodat(
        rustix::fs::CWD,
        files.project(),
        rustix::fs::FileType::Fifo,
        mode,
        0,
    )
    .unwrap();
    assert!(matches!(files.load(), Err(ConfigError::Read { .. })));
}

#[test]
fn a_project_cannot_grant_power() {
    let nothing = Config::default();
    for (text, refused) in [
        ("approval_mode = 'yolo'", "1:17 approval_mode = 'yolo'"),
        (
            "approval_mode = 'auto_edit'",
            "1:17 approval_mode = 'auto_edit'",
        ),
        (
            "permission_mode = 'bypassPermissions'",
            "1:19 permission_mode = 'bypassPermissions'",
        ),
        (
            "permission_mode = 'acceptEdits'",
            "1:19 permission_mode = 'acceptEdits'",
        ),
        ("allowed_tools = ['glob']", "1:17 allowed_tools = ['glob']"),
        ("trust_workspace = true", "1:19 trust_workspace = True"),
        ("sandbox = false", "1:11 sandbox = False"),
        ("record = false", "1:10 record = False"),
        ("runs_max_age = '1h'", "1:16 runs_max_age = '1h'"),
        ("runs_max_size = 1", "1:17 runs_max_size = 1"),
        ("agent = 'gemini'", "1:9 agent = 'gemini'"),
        ("working_dir = '..'", "1:15 working_dir = '..'"),
        ("working_dir = '/'", "1:15 working_dir = '/'"),
    ] {
        check_project(text, &nothing, &[refused]);
    }
    check_project(
        "sandbox = false\nmodel = 'm'\nagent = 'x'",
        &Config::builder().model("m").build().unwrap(),
        &["3:9 agent = 'x'", "1:11 sandbox = False"],
    );
}

#[test]
fn a_project_can_narrow_and_choose() {
    for text in [
        "approval_mode = 'plan'",
        "permission_mode = 'default'",
        "sandbox = true",
        "record = true",
        "trust_workspace = false",
        "allowed_tools = []",
        "timeout = 5",
        "system_prompt = 'Be brief.'",
        "transport = 'json'",
    ] {
        let (config, _) = Config::from_toml(text, Path::new("/lapidary.toml")).unwrap();
        assert_ne!(config, Config::default());
        check_project(text, &config, &[]);
    }
}

#[test]
fn a_project_includes_its_own_directories_only_and_links_do_not_help() {
    let files = Files::new(
        "",
        "include_directories = ['docs', 'link', '../other', 'missing', '/etc']\nworking_dir = 'docs'",
    );
    let docs = files.project_dir().join("docs");
    fs::create_dir(&docs).unwrap();
    fs::create_dir(files.folder.path().join("other")).unwrap();
    symlink("/etc", files.project_dir().join("link")).unwrap();
    let loaded = files.load().unwrap();
    assert_eq!(loaded.config.include_directories, Some(vec![docs.clone()]));
    assert_eq!(loaded.config.working_dir, Some(docs));
    let said: Vec<_> = loaded.warnings.iter().map(ToString::to_string).collect();
    let project = files.project_dir();
    let expected = format!(
        "{0}/lapidary.toml:1:23: `include_directories = ['{0}/link', '{0}/../other', '{0}/missing', '/etc']` ignored: a \
         project's file cannot grant this; put it into your own lapidary.toml, or on the command line",
        project.display()
    );
    assert_eq!(said, [expected]);
}

#[test]
fn a_refused_include_of_a_project_does_not_hide_the_users_includes() {
    let files = Files::new(
        "include_directories = ['/srv']",
        "include_directories = ['/etc']",
    );
    let loaded = files.load().unwrap();
    assert_eq!(loaded.config.include_directories, Some(vec!["/srv".into()]));
    assert_eq!(loaded.warnings.len(), 1);
}

#[test]
fn a_project_cannot_widen_what_its_user_narrowed() {
    let files = Files::new("approval_mode = 'plan'", "approval_mode = 'default'");
    let loaded = files.load().unwrap();
    assert_eq!(loaded.config.permission_mode, Some(PermissionMode::Plan));
    let said: Vec<_> = loaded.warnings.iter().map(ToString::to_string).collect();
    let expected = format!(
        "{}: permission mode `default` ignored: your own lapidary.toml says `plan`, and a project's file cannot widen that",
        files.project().display()
    );
    assert_eq!(said, [expected]);

    let files = Files::new("approval_mode = 'yolo'", "approval_mode = 'plan'");
    let loaded = files.load().unwrap();
    assert_eq!(loaded.config.permission_mode, Some(PermissionMode::Plan));
    assert_eq!(loaded.warnings, []);
}

#[test]
fn a_project_cannot_have_more_written_or_tried_than_its_user_or_the_usual_limit() {
    let limits = |user: &str, project: &str| {
        let loaded = Files::new(user, project).load().unwrap();
        let (config, warnings) = (loaded.config, loaded.warnings.len());
        (config.max_output, config.retries, warnings)
    };
    let large = "max_output = 2000000000\nretries = 4";
    let small = "max_output = 7\nretries = 1";
    assert_eq!(limits("", large), (None, None, 2));
    assert_eq!(limits("", small), (Some(7), Some(1), 0));
    let between = "max_output = 9\nretries = 3";
    assert_eq!(limits(small, between), (Some(7), Some(1), 0));
    assert_eq!(limits(between, small), (Some(7), Some(1), 0));
    assert_eq!(limits(large, ""), (Some(2_000_000_000), Some(4), 0));
}

#[test]
fn a_user_may_grant_what_a_project_may_not() {
    let files = Files::new(
        "approval_mode = 'yolo'\nsandbox = false\nagent = 'gemini'",
        "",
    );
    let loaded = files.load().unwrap();
    assert_eq!(
        loaded.config.permission_mode,
        Some(PermissionMode::BypassPermissions)
    );
    assert_eq!(
        (loaded.config.sandbox, loaded.warnings),
        (Some(false), vec![])
    );
}

#[test]
fn the_nearest_file_counts_as_far_as_the_root_of_the_repository() {
    let folder = tempfile::tempdir().unwrap();
    let outer = folder.path().join("lapidary.toml");
    let deep = folder.path().join("repository/sub/deep");
    fs::create_dir_all(&deep).unwrap();
    fs::write(&outer, "").unwrap();
    assert_eq!(find_project_file(&deep, None), Some(outer.clone()));

    let repository = folder.path().join("repository");
    fs::write(repository.join(".git"), "gitdir: elsewhere").unwrap();
    assert_eq!(find_project_file(&deep, None), None);
    assert_eq!(find_project_file(folder.path(), None), Some(outer));

    let inner = repository.join("lapidary.toml");
    fs::write(&inner, "").unwrap();
    assert_eq!(find_project_file(&deep, None), Some(inner.clone()));
    assert_eq!(find_project_file(&repository, None), Some(inner));
}

#[test]
fn nothing_above_the_home_directory_counts() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().join("home");
    let deep = home.join("sub/deep");
    fs::create_dir_all(&deep).unwrap();
    fs::write(folder.path().join("lapidary.toml"), "").unwrap();
    assert_eq!(find_project_file(&deep, Some(&home)), None);
    let link = folder.path().join("link");
    symlink(&home, &link).unwrap();
    assert_eq!(find_project_file(&deep, Some(&link)), None);

    let file = home.join("lapidary.toml");
    fs::write(&file, "").unwrap();
    assert_eq!(find_project_file(&deep, Some(&home)), Some(file));
}

/// Only root can give files away, so this can be seen by root alone; the rule itself has a test beside it.
#[test]
fn a_project_configuration_owned_by_another_user_is_ignored() {
    let files = Files::new("timeout = 5", "system_prompt = 'Obey me.'");
    if chown(files.project(), Some(4242), None).is_err() {
        return;
    }
    let origin = files.project();
    let expected = LoadedConfig {
        config: Config::builder().set("timeout", 5).build().unwrap(),
        warnings: vec![ConfigWarning::NotOurs { origin }],
    };
    assert_eq!(files.load().unwrap(), expected);
    let said = expected.warnings[0].to_string();
    let project = files.project();
    let words = format!("{} ignored: it belongs to another user", project.display());
    assert_eq!(said, words);

    // An unreadable file of another user is no error: any user could put one there.
    fs::remove_file(&project).unwrap();
    fs::create_dir(&project).unwrap();
    chown(&project, Some(4242), None).unwrap();
    assert_eq!(files.load().unwrap(), expected);
    fs::remove_dir(&project).unwrap();
    symlink("/nowhere", &project).unwrap();
    lchown(&project, Some(4242), None).unwrap();
    assert_eq!(files.load().unwrap(), expected);
}

#[test]
fn a_project_cannot_set_timeouts_without_limit() {
    let nothing = Config::default();
    for (text, refused) in [
        ("grace = 61", "1:9 grace = 61"),
        ("timeout = 1e9", "1:11 timeout = 1000000000.0"),
        ("start_timeout = 86401", "1:17 start_timeout = 86401"),
        ("idle_timeout = 86401", "1:16 idle_timeout = 86401"),
    ] {
        check_project(text, &nothing, &[refused]);
    }
    let text = "grace = 60\ntimeout = 86400\nstart_timeout = 0\nidle_timeout = 86400";
    let (config, _) = Config::from_toml(text, Path::new("/lapidary.toml")).unwrap();
    check_project(text, &config, &[]);
}
