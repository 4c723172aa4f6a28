//! Finding Gemini CLI in file systems of our own.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use lapidary_engine::detect::AgentVersion;
use lapidary_engine::detect::{
    FoundProgram, GEMINI_CLI_PATH, NotFound, PlaceRefusal, RejectedPlace, SearchEnvironment,
    SearchPlatform, SearchReason, gemini, version_of_package,
};
use tempfile::TempDir;

/// A machine of its own: a root, a home in it, and nothing on PATH.
pub(crate) struct Machine {
    folder: TempDir,
    pub(crate) environment: SearchEnvironment,
}

impl Machine {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().to_owned();
        let mut environment = SearchEnvironment::from_vars([], root.join("work"));
        environment.home = Some(root.join("home"));
        environment.root = root;
        Self {
            folder,
            environment,
        }
    }

    fn at(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    /// Puts a file there that can be executed.
    pub(crate) fn program(&self, path: &str) -> PathBuf {
        let file = self.file(path, "#!/bin/sh\n");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
        file
    }

    fn file(&self, path: &str, text: &str) -> PathBuf {
        let file = self.at(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, text).unwrap();
        file
    }

    fn set_path(&mut self, dirs: &[&str]) {
        self.environment.path = dirs.iter().map(|dir| self.at(dir)).collect();
    }

    pub(crate) fn set_variable(&mut self, value: &Path) {
        let vars = &mut self.environment.vars;
        vars.insert(GEMINI_CLI_PATH.into(), value.into());
    }

    fn found(&self) -> FoundProgram {
        gemini(&self.environment).unwrap()
    }

    fn tried(&self) -> Vec<RejectedPlace> {
        match gemini(&self.environment) {
            Ok(found) => found.tried,
            Err(NotFound { tried }) => tried,
        }
    }

    /// An installation as npm makes it: a link in `bin` to a file in a package.
    pub(crate) fn install(&self, prefix: &str, version: &str) -> PathBuf {
        let package = format!("{prefix}/lib/node_modules/@google/gemini-cli");
        let about = format!(r#"{{"name": "@google/gemini-cli", "version": "{version}"}}"#);
        self.file(&format!("{package}/package.json"), &about);
        let program = self.program(&format!("{package}/bundle/gemini.js"));
        let link = self.at(&format!("{prefix}/bin/gemini"));
        fs::create_dir_all(link.parent().unwrap()).unwrap();
        symlink(program, &link).unwrap();
        link
    }
}

/// U33, P8
#[test]
fn the_variable_comes_before_path_and_path_before_common_places() {
    let mut machine = Machine::new();
    let common = machine.program("usr/local/bin/gemini");
    let found = machine.found();
    assert_eq!((found.path, found.how), (common, SearchReason::CommonPlace));

    machine.set_path(&["empty", "bin", "bin2"]);
    let on_path = machine.program("bin/gemini");
    machine.program("bin2/gemini");
    let found = machine.found();
    let expected = FoundProgram {
        path: on_path,
        how: SearchReason::Path,
        version: None,
        tried: vec![RejectedPlace {
            path: machine.at("empty/gemini"),
            how: SearchReason::Path,
            refused: PlaceRefusal::Missing,
        }],
    };
    assert_eq!(found, expected);

    let named = machine.program("opt/my-gemini");
    machine.set_variable(&named);
    let expected = FoundProgram {
        path: named,
        how: SearchReason::Variable(GEMINI_CLI_PATH),
        version: None,
        tried: vec![],
    };
    assert_eq!(machine.found(), expected);
}

/// U32, which goes on to PATH: the program that runs then is not the one that was named.
#[test]
fn a_variable_that_names_no_program_is_an_error_that_says_why() {
    let mut machine = Machine::new();
    machine.set_path(&["bin"]);
    let program = machine.program("bin/gemini");
    machine.set_variable(Path::new("not/there"));
    let missing = gemini(&machine.environment).unwrap_err();
    let named = RejectedPlace {
        path: machine.at("work/not/there"),
        how: SearchReason::Variable(GEMINI_CLI_PATH),
        refused: PlaceRefusal::Missing,
    };
    assert_eq!(
        missing.to_string(),
        format!(
            "cannot use `{}`, which GEMINI_CLI_PATH names as Gemini CLI: no such file",
            named.path.display()
        )
    );
    assert!(missing.hint().starts_with("correct GEMINI_CLI_PATH"));
    assert_eq!(missing.tried, [named]);
    machine.set_variable(Path::new(""));
    assert_eq!(machine.found().path, program);
}

/// P9
#[test]
fn not_found_says_where_it_was_looked_for_and_where_to_get_it() {
    let mut machine = Machine::new();
    machine.set_path(&["bin"]);
    let missing = gemini(&machine.environment).unwrap_err();
    assert_eq!(
        missing.to_string(),
        "Gemini CLI not found. Install from: https://github.com/google-gemini/gemini-cli"
    );
    assert!(missing.hint().contains("npm install -g @google/gemini-cli"));
    let tried: Vec<_> = missing
        .tried
        .iter()
        .map(|tried| tried.path.clone())
        .collect();
    let expected = [
        "bin",
        "usr/local/bin",
        "opt/homebrew/bin",
        "home/linuxbrew/.linuxbrew/bin",
        "home/.volta/bin",
        "home/.npm-global/bin",
        "home/.local/bin",
        "home/.bun/bin",
        "home/.local/share/pnpm",
        "home/.local/share/pnpm/bin",
        "home/Library/pnpm",
    ];
    assert_eq!(tried, expected.map(|dir| machine.at(dir).join("gemini")));
}

#[test]
fn a_place_that_is_named_twice_is_looked_at_once() {
    let mut machine = Machine::new();
    let everywhere = machine.tried().len();
    machine.set_path(&["home/.bun/bin", "usr/local/bin", "usr/local/bin"]);
    let tried = machine.tried();
    assert_eq!(tried.len(), everywhere);
    assert_eq!(tried[0].path, machine.at("home/.bun/bin/gemini"));
}

#[test]
fn each_place_that_is_wrong_says_what_is_wrong() {
    let mut machine = Machine::new();
    machine.set_path(&["a", "b", "c", "d", "e"]);
    machine.environment.path.push(PathBuf::from("."));
    fs::create_dir_all(machine.at("a/gemini")).unwrap();
    machine.file("b/gemini", "text");
    fs::create_dir(machine.at("c")).unwrap();
    symlink("/nowhere", machine.at("c/gemini")).unwrap();
    machine.file("d", "not a directory");
    fs::create_dir(machine.at("e")).unwrap();
    let socket = std::os::unix::net::UnixListener::bind(machine.at("e/gemini")).unwrap();
    let tried = machine.tried();
    let said: Vec<_> = tried[..6]
        .iter()
        .map(|tried| tried.refused.to_string())
        .collect();
    let expected = [
        "a directory",
        "not executable",
        "a link to /nowhere, which does not exist",
        "no such file",
        "not a regular file",
        "a relative part of PATH is not followed",
    ];
    assert_eq!(said, expected);
    drop(socket);
}

/// A repository must not bring the program that is run in it.
#[test]
fn the_working_directory_is_not_searched() {
    let mut machine = Machine::new();
    machine.program("work/gemini");
    machine.program("work/bin/gemini");
    machine.environment.path = vec![PathBuf::new(), PathBuf::from("bin")];
    assert!(gemini(&machine.environment).is_err());
    machine.set_variable(Path::new("bin/gemini"));
    assert_eq!(machine.found().path, machine.at("work/bin/gemini"));
}

#[test]
fn every_common_place_is_searched() {
    for place in [
        "usr/local/bin",
        "opt/homebrew/bin",
        "home/linuxbrew/.linuxbrew/bin",
        "home/.local/share/mise/installs/node/22.1.0/bin",
        "home/.nvm/versions/node/v22.1.0/bin",
        "home/.volta/bin",
        "home/.local/share/fnm/node-versions/v22.1.0/installation/bin",
        "home/.fnm/node-versions/v22.1.0/installation/bin",
        "home/.npm-global/bin",
        "home/.local/bin",
        "home/.bun/bin",
        "home/.local/share/pnpm",
    ] {
        let machine = Machine::new();
        let program = machine.program(&format!("{place}/gemini"));
        let found = machine.found();
        assert_eq!(
            (found.path, found.how),
            (program, SearchReason::CommonPlace)
        );
    }
}

#[test]
fn the_newest_of_several_versions_is_taken() {
    let machine = Machine::new();
    for version in [
        "v9.11.0", "v20.9.0", "v20.11.1", "v20.11.0", "lts", "system",
    ] {
        machine.program(&format!("home/.nvm/versions/node/{version}/bin/gemini"));
    }
    fs::create_dir_all(machine.at("home/.nvm/versions/node/v22.0.0/bin")).unwrap();
    let found = machine.found();
    assert_eq!(
        found.path,
        machine.at("home/.nvm/versions/node/v20.11.1/bin/gemini")
    );
    let last = found.tried.last().unwrap();
    assert_eq!(
        last.path,
        machine.at("home/.nvm/versions/node/v22.0.0/bin/gemini")
    );
}

#[test]
fn without_a_home_only_the_system_is_searched() {
    let mut machine = Machine::new();
    for home in [None, Some(PathBuf::from("relative"))] {
        machine.environment.home = home;
        assert_eq!(machine.tried().len(), 3);
    }
}

#[test]
fn on_windows_programs_have_endings() {
    let mut machine = Machine::new();
    machine.environment.platform = SearchPlatform::Windows;
    assert_eq!(
        machine.environment.pathext,
        [".COM", ".EXE", ".BAT", ".CMD"]
    );
    machine.set_path(&["npm"]);
    machine.program("npm/gemini");
    assert!(gemini(&machine.environment).is_err());
    let shim = machine.program("npm/gemini.cmd");
    assert_eq!(machine.found().path, shim);
    let program = machine.program("npm/gemini.exe");
    assert_eq!(machine.found().path, program);
    machine.environment.pathext = vec![".CMD".to_owned()];
    assert_eq!(machine.found().path, shim);
    machine.set_path(&[]);
    let global = machine.program("home/AppData/Roaming/npm/gemini.cmd");
    assert_eq!(machine.found().path, global);
}

#[test]
fn the_version_is_that_of_the_package_behind_the_link() {
    let mut machine = Machine::new();
    machine.set_path(&["prefix/bin"]);
    let link = machine.install("prefix", "0.61.0");
    let found = machine.found();
    assert_eq!(
        (found.path, found.version),
        (link, Some(AgentVersion::new(0, 61, 0)))
    );
}

#[track_caller]
fn check_package(text: &str, program: &str, expected: Option<&str>) {
    let machine = Machine::new();
    machine.file("p/package.json", text);
    let program = machine.program(&format!("p/{program}"));
    let version = version_of_package(&program).map(|version| version.to_string());
    assert_eq!(version.as_deref(), expected, "{text}");
}

#[test]
fn only_the_right_package_names_the_version() {
    let right = r#"{"name":"@google/gemini-cli","version":"0.61.0-preview.1"}"#;
    check_package(right, "gemini", Some("0.61.0-preview.1"));
    check_package(right, "a/b/c/gemini", Some("0.61.0-preview.1"));
    check_package(right, "a/b/c/d/gemini", None);
    check_package(r#"{"name":"other","version":"0.61.0"}"#, "gemini", None);
    check_package(r#"{"name":"@google/gemini-cli"}"#, "gemini", None);
    check_package(
        r#"{"name":"@google/gemini-cli","version":"newest"}"#,
        "gemini",
        None,
    );
    check_package(r#"{"name":3,"version":"0.61.0"}"#, "gemini", None);
    check_package("not json", "gemini", None);
}

#[test]
fn a_nameless_package_inside_is_passed_by_and_another_one_is_not() {
    let machine = Machine::new();
    machine.file(
        "p/package.json",
        r#"{"name":"@google/gemini-cli","version":"0.61.0"}"#,
    );
    machine.file("p/dist/package.json", r#"{"type":"module"}"#);
    let program = machine.program("p/dist/gemini.js");
    assert_eq!(
        version_of_package(&program),
        Some(AgentVersion::new(0, 61, 0))
    );
    machine.file(
        "p/dist/package.json",
        r#"{"name":"inner","version":"1.0.0"}"#,
    );
    assert_eq!(version_of_package(&program), None);
}

#[test]
fn the_variables_of_a_process_say_where_to_look() {
    let vars = [
        ("HOME", "/home/me"),
        ("PATH", "/a:/b::c"),
        ("PATHEXT", ".EXE;;.CMD"),
    ];
    let vars = vars.map(|(name, value)| (name.into(), value.into()));
    let environment = SearchEnvironment::from_vars(vars.clone(), "/work");
    let expected = SearchEnvironment {
        vars: vars.into(),
        home: Some("/home/me".into()),
        path: vec!["/a".into(), "/b".into(), "".into(), "c".into()],
        pathext: vec![".EXE".to_owned(), ".CMD".to_owned()],
        dir: "/work".into(),
        root: "/".into(),
        platform: SearchPlatform::Unix,
    };
    assert_eq!(environment, expected);
}
