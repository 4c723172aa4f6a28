//! Packs the clients, and installs the packed files into an empty project of npm and an empty environment of Python. Once for all tests.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use lapidary_testkit::gemini::peers_beside;

use super::ran;
use crate::support::{program, root};

/// The clients as a user has them.
#[derive(Debug)]
pub(super) struct InstalledClients {
    /// What `cargo xtask dist` wrote.
    pub(super) packed: PathBuf,
    /// A project of npm.
    pub(super) project: PathBuf,
    /// An environment of Python.
    pub(super) environment: PathBuf,
}

/// The installed clients.
pub(super) fn installed_clients() -> &'static InstalledClients {
    static INSTALLED: OnceLock<InstalledClients> = OnceLock::new();
    INSTALLED.get_or_init(install)
}

impl InstalledClients {
    /// A program with a state directory of its own, and no variable of the caller.
    pub(super) fn program(&self, name: impl AsRef<Path>, state: &Path) -> Command {
        let mut command = program(name.as_ref());
        command
            .current_dir(&self.project)
            .env("HOME", state)
            .env("LAPIDARY_STATE_DIR", state)
            .env_remove("XDG_STATE_HOME");
        command
    }

    /// Node.js in the project.
    pub(super) fn node(&self, state: &Path) -> Command {
        self.program("node", state)
    }

    /// The environment's Python.
    pub(super) fn python(&self, state: &Path) -> Command {
        self.program(self.environment.join("bin/python"), state)
    }

    /// A packed file, by the beginning of its name.
    pub(super) fn packed_file(&self, start: &str) -> PathBuf {
        let files = fs::read_dir(&self.packed).unwrap();
        let mut files = files.map(|file| file.unwrap().path());
        let found = files.find(|path| {
            path.file_name()
                .unwrap()
                .to_str()
                .unwrap()
                .starts_with(start)
        });
        found.unwrap_or_else(|| panic!("no file begins with {start}"))
    }
}

fn install() -> InstalledClients {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("clients");
    let _ = fs::remove_dir_all(&folder); // of the last run
    let clients = InstalledClients {
        packed: folder.join("packed"),
        project: folder.join("project"),
        environment: folder.join("environment"),
    };
    fs::create_dir_all(&clients.project).unwrap();
    pack(&clients.packed);
    std::thread::scope(|scope| {
        scope.spawn(|| install_npm(&clients));
        scope.spawn(|| install_python(&clients));
    });
    clients
}

fn pack(out: &Path) {
    let xtask = std::env::var_os("LAPIDARY_XTASK");
    let mut xtask = program(xtask.expect("LAPIDARY_XTASK is set: run `cargo xtask test`"));
    xtask
        .args([
            "dist",
            "--store",
            "--base-url",
            "http://127.0.0.1:9/releases",
        ])
        .arg("--binary")
        .arg(env!("CARGO_BIN_EXE_lapidary"))
        .arg("--out")
        .arg(out)
        .env("CARGO_MANIFEST_DIR", root().join("xtask"))
        .env("SOURCE_DATE_EPOCH", "1700000000");
    let packed = ran(xtask);
    assert_eq!(packed.code, Some(0), "{packed:?}");
}

fn install_npm(clients: &InstalledClients) {
    fs::write(
        clients.project.join("package.json"),
        r#"{"private": true, "type": "module"}"#,
    )
    .unwrap();
    let mut npm = program("npm");
    npm.args([
        "install",
        "--offline",
        "--ignore-scripts",
        "--no-audit",
        "--no-fund",
    ])
    .arg(clients.packed_file("lapidary-0.1.0.tgz"))
    .arg(clients.packed_file("lapidary-linux-x64"))
    .current_dir(&clients.project);
    let installed = ran(npm);
    assert_eq!(installed.code, Some(0), "{installed:?}");
    // For the compiler: users have these in their project.
    let types = peers_beside("peers-clients").join("node_modules/@types");
    std::os::unix::fs::symlink(types, clients.project.join("node_modules/@types")).unwrap();
}

fn install_python(clients: &InstalledClients) {
    let mut venv = program("python3");
    venv.args(["-m", "venv", "--without-pip"]);
    venv.arg(&clients.environment);
    assert_eq!(ran(venv).code, Some(0));
    let mut pip = program("python3");
    pip.args(["-m", "pip", "--python"])
        .arg(clients.environment.join("bin/python"))
        .args(["install", "--no-index", "--no-deps", "--quiet"])
        .args([
            "--disable-pip-version-check",
            "--root-user-action",
            "ignore",
        ])
        .arg(clients.packed_file("lapidary_cli"));
    let installed = ran(pip);
    assert_eq!(installed.code, Some(0), "{installed:?}");
}
