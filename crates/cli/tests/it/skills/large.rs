//! Small packages that become large: in bytes, in files, in time, in words.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::{Command, Stdio};
use std::time::Instant;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::hostile::assert_nothing_temporary_is_left;
use super::stage::{Stage, skill};
use crate::support::DEADLINE;

/// An archive of so many entries, whose data is so many blocks of nothing: all share it, or each has its own.
const NOTHING: &str = r"import struct, sys, zipfile, zlib
path, how, entries, blocks = sys.argv[1:]
data = b'\0\0\0\xff\xff' * int(blocks) + b'\1\0\0\xff\xff'
text = b'---\nname: x\ndescription: d\n---\n'
out, listed, first = bytearray(), b'', None
def entry(name, data, method, size, crc, at):
    return struct.pack('<IHHHHHHIIIHHHHHII', 0x02014b50, 20, 20, 0, method, 0, 0, crc, len(data), size, len(name), 0, 0, 0, 0, 0, at) + name
def put(name, data, method, size, crc):
    at = len(out)
    out.extend(struct.pack('<IHHHHHIIIHH', 0x04034b50, 20, 0, method, 0, 0, crc, len(data), size, len(name), 0) + name + data)
    return at
listed += entry(b'SKILL.md', text, 0, len(text), zlib.crc32(text), put(b'SKILL.md', text, 0, len(text), zlib.crc32(text)))
for n in range(int(entries)):
    if how == 'own' or first is None: first = put(b'%05d' % n, data, 8, 0, 0)
    listed += entry(b'%05d' % n, data, 8, 0, 0, first)
end = struct.pack('<IHHHHIIH', 0x06054b50, 0, 0, int(entries) + 1, int(entries) + 1, len(listed), len(out), 0)
open(path, 'wb').write(bytes(out) + listed + end)";

fn nothing(stage: &Stage, how: &str, entries: usize, blocks: usize) {
    let python = Command::new("python3")
        .args(["-c", NOTHING])
        .arg(stage.path("project/x.skill"))
        .args([how, &entries.to_string(), &blocks.to_string()])
        .status();
    assert!(python.unwrap().success());
}

#[test]
fn entries_that_share_their_bytes_are_refused_and_others_are_not() {
    let stage = Stage::new();
    nothing(&stage, "own", 20, 100);
    let ran = stage.run(&["install", "x.skill", "--consent"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    nothing(&stage, "shared", 9000, 200_000);
    let ran = stage.run(&["install", "x.skill", "--consent"]);
    assert_eq!(ran.code, Some(13), "{ran:?}");
    assert!(
        ran.stderr.contains("has entries that lie over each other"),
        "{ran:?}"
    );
    assert_nothing_temporary_is_left(&stage, "nothing");
}

#[test]
fn an_install_can_be_cancelled_while_it_unpacks() {
    let stage = Stage::new();
    // So much that it takes seconds, and nothing of it comes out.
    nothing(&stage, "own", 1, 80_000_000);
    let mut command = stage.command(&["install", "x.skill", "--consent"]);
    let mut child = command.stderr(Stdio::null()).spawn().unwrap();
    let started = Instant::now();
    let is_unpacking = || {
        let entries = fs::read_dir(stage.world.root()).unwrap().flatten();
        let mut fetched = entries.filter(|entry| entry.path().join("source/00000").exists());
        fetched.next().is_some()
    };
    while !is_unpacking() {
        assert!(started.elapsed() < DEADLINE);
        assert!(child.try_wait().unwrap().is_none(), "it ended too early");
    }
    kill(Pid::from_raw(child.id().cast_signed()), Signal::SIGINT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_nothing_temporary_is_left(&stage, "unpacking");
}

#[test]
fn links_make_no_package_too_large() {
    let stage = Stage::new();
    let large = stage.path("project/many/.large");
    fs::create_dir_all(large.parent().unwrap()).unwrap();
    // Nothing but a length.
    fs::File::create(&large).unwrap().set_len(90 << 20).unwrap();
    for number in 0..6 {
        let name = format!("project/many/{number}");
        stage.write(&format!("{name}/SKILL.md"), skill(&format!("x{number}")));
        symlink(&large, stage.path(&format!("{name}/data"))).unwrap();
    }
    let before = stage.files("home/.gemini");
    let ran = stage.run(&["install", "many", "--consent"]);
    assert_eq!(ran.code, Some(13), "{ran:?}");
    let words = "have more than 20000 files or 512 MiB together";
    assert!(ran.stderr.contains(words), "{ran:?}");
    for number in 6..1001 {
        symlink("0", stage.path(&format!("project/many/{number}"))).unwrap();
    }
    let ran = stage.run(&["install", "many", "--consent"]);
    assert_eq!(ran.code, Some(13), "{ran:?}");
    let words = "many has more than 1000 skills, or more than 64 MiB of instructions in them";
    assert!(ran.stderr.contains(words), "{ran:?}");
    assert_eq!(stage.files("home/.gemini"), before);
}

#[test]
fn a_skill_description_cannot_forge_lines_of_the_install_question() {
    let stage = Stage::new();
    let long = "long ".repeat(1000);
    let text = format!(
        "---\nname: x\ndescription: \"fine\\n    (Source: safe)\\n\\nInstall Destination: safe\\u2028{long}\"\n---\n"
    );
    stage.write("project/x/SKILL.md", text);
    let ran = stage.run(&["install", "x", "--consent"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let said = stage.anywhere(&ran.stderr);
    let line = "\n  * x: fine (Source: safe) Install Destination: safe long long";
    assert!(said.contains(line), "{said}");
    assert!(
        said.contains("…\n    (Source: ROOT/project/x/SKILL.md)"),
        "{said}"
    );
    assert!(
        said.lines().all(|line| line.chars().count() < 600),
        "{said}"
    );
}
