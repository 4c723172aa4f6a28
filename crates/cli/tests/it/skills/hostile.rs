//! Hostile archives, repositories, addresses and homes.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::symlink;
use std::process::Command;

use crate::run::world::{MARK, Mark};

use super::peers::pack;
use super::stage::{Stage, ran, skill};

/// Archives that Python makes and an install must refuse, by name.
const ARCHIVES: &str = "import struct, sys, zipfile, zlib
kind, path = sys.argv[1:]
def entry(name, mode=0):
    info = zipfile.ZipInfo(name)
    info.external_attr = mode << 16
    return info
with zipfile.ZipFile(path, 'w', zipfile.ZIP_DEFLATED) as archive:
    archive.writestr('good/SKILL.md', '---\\nname: good\\ndescription: d\\n---\\n')
    if kind == 'traversal': archive.writestr('good/../../evil', 'x')
    if kind == 'absolute': archive.writestr(entry('/tmp/lapidary-evil'), 'x')
    if kind == 'backslash':
        info = entry('x'); info.filename = '..\\\\evil'; archive.writestr(info, 'x')
    if kind == 'symlink': archive.writestr(entry('good/link', 0o120777), '/etc/passwd')
    if kind == 'device': archive.writestr(entry('good/null', 0o020666), '')
    if kind == 'twice': archive.writestr('good/./SKILL.md', 'other')
    if kind == 'again': archive.writestr('good/SKILL.md', 'other')
    if kind == 'folders':
        for n in range(400): archive.writestr(f'{n}/' + 'a/' * 26 + 'x', '')
    if kind == 'listed':
        for n in range(200): info = entry(f'good/{n}'); info.comment = b'c' * 65535; archive.writestr(info, '')
    if kind == 'many':
        for n in range(10001): archive.writestr(f'good/{n}', '')
    if kind == 'bomb':
        with archive.open('good/zeros', 'w') as out:
            for _ in range(101): out.write(bytes(1 << 20))
    if kind == 'long': archive.writestr('good/' + 'n' * 300, '')
    if kind == 'long folder': archive.writestr('good/' + 'n' * 300 + '/x', '')
    if kind == 'long path': archive.writestr('good/' + ('n' * 200 + '/') * 25 + 'x', '')
    if kind == 'renamed':
        # Another name than the list shows, as another system may write it.
        for n in range(400):
            info = entry(f'x{n}')
            name = b'\\1' + struct.pack('<L', zlib.crc32(info.filename.encode())) + (f'{n}/' + 'd/' * 26 + 'f').encode()
            info.extra = struct.pack('<HH', 0x7075, len(name)) + name
            archive.writestr(info, '')
    if kind == 'deep': archive.writestr('a/' * 40 + 'x', '')";

#[test]
fn an_archive_that_leads_out_or_is_too_much_is_refused_whole() {
    for (kind, words) in [
        ("traversal", "points outside the archive"),
        ("absolute", "points outside the archive"),
        ("backslash", "points outside the archive"),
        ("deep", "lies more than 32 directories deep"),
        ("symlink", "is a link or the like"),
        ("device", "is a link or the like"),
        ("twice", "more than one entry `good/./SKILL.md`"),
        ("again", "more than one entry `good/SKILL.md`"),
        ("folders", "more than 10000 files or 100 MiB"),
        ("listed", "more than 10000 files or 100 MiB"),
        ("many", "more than 10000 files or 100 MiB"),
        ("bomb", "more than 10000 files or 100 MiB"),
        ("renamed", "more than 10000 files or 100 MiB"),
        ("long", "has an entry `good/nnn"),
        ("long folder", "whose name is too long"),
        ("long path", "whose name is too long"),
    ] {
        let stage = Stage::new();
        let path = stage.path("project/evil.skill");
        let python = Command::new("python3")
            .args(["-W", "ignore", "-c", ARCHIVES, kind])
            .arg(&path)
            .status();
        assert!(python.unwrap().success());
        assert!(path.metadata().unwrap().len() < 16 * 1024 * 1024);
        let ran = stage.run(&["install", "evil.skill", "--consent"]);
        assert_eq!(ran.code, Some(13), "{kind}: {ran:?}");
        assert!(
            ran.stderr.contains("evil.skill") && ran.stderr.contains(words),
            "{kind}: {ran:?}"
        );
        assert!(!stage.path("home/.gemini/skills").exists(), "{kind}");
        assert_nothing_temporary_is_left(&stage, kind);
    }
}

/// The world is also what `TMPDIR` names.
pub(super) fn assert_nothing_temporary_is_left(stage: &Stage, what: &str) {
    let entries = fs::read_dir(stage.world.root()).unwrap().flatten();
    let left: Vec<_> = entries
        .map(|entry| entry.file_name())
        .filter(|name| name.to_string_lossy().starts_with("lapidary-"))
        .collect();
    assert!(left.is_empty(), "{what}: {left:?}");
}

#[test]
fn an_invalid_skill_archive_is_refused_with_a_reason() {
    let stage = Stage::new();
    stage.write("project/text.skill", "no zip");
    fs::create_dir_all(stage.path("project/folder.skill")).unwrap();
    for (name, words) in [
        ("text.skill", "is not a readable zip archive"),
        ("folder.skill", "not a regular file"),
        ("none.skill", "No such file"),
    ] {
        let ran = stage.run(&["install", name, "--consent"]);
        assert_eq!(ran.code, Some(13), "{ran:?}");
        assert!(
            ran.stderr.contains(name) && ran.stderr.contains(words),
            "{ran:?}"
        );
    }
    pack(
        &stage,
        "project/fine.SKILL",
        &[("SKILL.md", &skill("fine"))],
    );
    assert_eq!(
        stage.run(&["install", "fine.SKILL", "--consent"]).code,
        Some(0)
    );
    assert!(stage.path("home/.gemini/skills/fine/SKILL.md").is_file());
}

/// Odd but valid archives: behind other data, with a comment that looks like an end record, with large numbers.
const ODD_ARCHIVES: &str = "import io, sys, zipfile
kind, path = sys.argv[1:]
if kind == 'large': zipfile.ZIP_FILECOUNT_LIMIT = 0
made = io.BytesIO()
with zipfile.ZipFile(made, 'w', zipfile.ZIP_DEFLATED) as archive:
    archive.writestr('odd/SKILL.md', '---\\nname: odd\\ndescription: d\\n---\\n')
    archive.writestr('odd/a/', '')
    archive.writestr('odd/a/b', 'x' * 100000)
    if kind == 'comment': archive.comment = b'PK\\5\\6 is no end' + b'.' * 30
with open(path, 'wb') as file: file.write((b'#!/bin/sh\\n' if kind == 'behind' else b'') + made.getvalue())";

#[test]
fn an_archive_may_be_odd_as_long_as_it_is_one() {
    for kind in ["plain", "behind", "comment", "large"] {
        let stage = Stage::new();
        let python = Command::new("python3")
            .args(["-c", ODD_ARCHIVES, kind])
            .arg(stage.path("project/odd.skill"))
            .status();
        assert!(python.unwrap().success());
        let ran = stage.run(&["install", "odd.skill", "--consent"]);
        assert_eq!(ran.code, Some(0), "{kind}: {ran:?}");
        let length = fs::metadata(stage.path("home/.gemini/skills/odd/a/b"));
        assert_eq!(length.unwrap().len(), 100_000, "{kind}");
    }
}

/// A repository with skills below `skills`.
pub(super) fn repository(stage: &Stage) -> String {
    stage.write("repo/skills/x/SKILL.md", skill("x"));
    stage.write("repo/skills/x/run.sh", "#!/bin/sh\n");
    let script = "git init -q . && git add -A && git -c user.name=a -c user.email=a@example.org commit -qm first";
    let made = Command::new("sh")
        .args(["-c", script])
        .current_dir(stage.path("repo"))
        .status();
    assert!(made.unwrap().success());
    format!("file://{}", stage.path("repo").display())
}

#[test]
fn a_repository_is_cloned_and_only_its_skills_stay() {
    let stage = Stage::new();
    let url = repository(&stage);
    let bare = stage.run(&["install", &url, "--consent"]);
    assert_eq!(bare.code, Some(13));
    assert!(
        bare.stderr.contains("`--path skills` (1 skill)"),
        "{bare:?}"
    );
    let out = stage.run(&["install", &url, "--path", "../..", "--consent"]);
    assert_eq!(out.code, Some(13));
    assert!(
        out.stderr
            .contains("Invalid path: Directory traversal not allowed."),
        "{out:?}"
    );
    let done = stage.run(&["install", &url, "--path", "skills", "--consent"]);
    assert_eq!(done.code, Some(0), "{done:?}");
    assert!(stage.path("home/.gemini/skills/x/run.sh").is_file());
    assert_nothing_temporary_is_left(&stage, "cloning");
}

#[test]
fn install_reads_no_link_that_leaves_the_repository() {
    let stage = Stage::new();
    let skills = stage.path("repo/skills");
    fs::create_dir_all(skills.join("evil")).unwrap();
    symlink("/proc/kmsg", skills.join("evil/SKILL.md")).unwrap();
    let url = repository(&stage);
    let read = stage.run(&["install", &url, "--path", "skills", "--consent"]);
    assert_eq!(read.code, Some(13), "{read:?}");
    assert!(
        read.stderr.contains("a link that points outside"),
        "{read:?}"
    );
    // Further down, too.
    let below = stage.run(&["install", &url, "--consent"]);
    assert_eq!(below.code, Some(13), "{below:?}");
    assert!(
        below.stderr.contains("`--path skills/x` (1 skill)"),
        "{below:?}"
    );
    assert!(!below.stderr.contains("evil"), "{below:?}");
    let linked = stage.path("repo/skills/x/secret");
    symlink("/etc/passwd", linked).unwrap();
    fs::remove_dir_all(skills.join("evil")).unwrap();
    fs::remove_dir_all(stage.path("repo/.git")).unwrap();
    let url = repository(&stage);
    for (source, is_there) in [(url.as_str(), false), ("../repo", true)] {
        let ran = stage.run(&["install", source, "--path", "skills", "--consent"]);
        assert_eq!(ran.code, Some(13), "{ran:?}");
        assert!(ran.stderr.contains("points outside"), "{ran:?}");
        assert_eq!(ran.stderr.contains("skills link"), is_there, "{ran:?}");
    }
    assert!(!stage.path("home/.gemini/skills").exists());
}

#[test]
fn an_address_that_does_not_answer_is_given_up_in_time() {
    let stage = Stage::new();
    // The server listens and never answers.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/x.git", listener.local_addr().unwrap());
    let mark = Mark::fresh();
    let mut command = stage.command(&["install", &url, "--timeout", "1", "--consent"]);
    command.env(MARK, mark.value());
    let ran = ran(command);
    mark.assert_nothing_is_left();
    assert_eq!(ran.code, Some(14), "{ran:?}");
    assert!(
        ran.stderr.contains("was not cloned within 1 seconds"),
        "{ran:?}"
    );
    assert_nothing_temporary_is_left(&stage, "a timeout");
}

#[test]
fn an_address_is_no_option_and_no_command() {
    let stage = Stage::new();
    let mark = stage.path("ran");
    let touch = format!("touch {}", mark.display());
    for (source, code) in [
        (format!("--upload-pack={touch}"), 2),
        (format!("ext::sh -c {touch}"), 13),
        (format!("git@-oProxyCommand={touch}:x"), 13),
        (format!("ssh://-oProxyCommand={touch}/x"), 13),
        ("https://127.0.0.1:1/x.git".to_owned(), 13),
        ("file:///nowhere/at/all".to_owned(), 13),
    ] {
        let ran = stage.run(&["install", &source, "--consent", "--timeout", "10"]);
        assert_eq!(ran.code, Some(code), "{source}: {ran:?}");
        assert!(!mark.exists(), "{source}");
    }
    let ran = stage.run(&[
        "install",
        "--consent",
        "--",
        &format!("--upload-pack={touch}"),
    ]);
    assert_eq!(ran.code, Some(13), "a path that is not there: {ran:?}");
    assert!(!mark.exists());
}

#[test]
fn a_home_that_cannot_be_written_stays_as_it_is() {
    let stage = Stage::new();
    stage.write("project/mine/SKILL.md", skill("mine"));
    // Not even root makes a directory in a file.
    stage.write("home/.gemini/skills", "a file");
    let ran = stage.run(&["install", "mine", "--consent"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let said = stage.anywhere(&ran.stderr);
    assert!(
        said.contains("cannot write `ROOT/home/.gemini/skills`"),
        "{said}"
    );
    assert_eq!(
        fs::read_to_string(stage.path("home/.gemini/skills")).unwrap(),
        "a file"
    );
}

#[test]
fn many_who_install_at_once_leave_one_whole_skill() {
    let stage = Stage::new();
    for number in 0..4 {
        stage.write(&format!("project/from-{number}/a/SKILL.md"), skill("same"));
        for file in 0..20 {
            stage.write(
                &format!("project/from-{number}/a/{file}.txt"),
                number.to_string(),
            );
        }
    }
    std::thread::scope(|scope| {
        for number in 0..4 {
            let command = stage.command(&["install", &format!("from-{number}"), "--consent"]);
            scope.spawn(move || assert_eq!(ran(command).code, Some(0)));
        }
    });
    let files = stage.files("home/.gemini/skills");
    let texts: std::collections::BTreeSet<_> = files
        .iter()
        .filter(|(_, text)| text.len() == 1)
        .map(|(_, text)| text)
        .collect();
    assert_eq!((files.len(), texts.len()), (22, 1), "{files:?}");
}
