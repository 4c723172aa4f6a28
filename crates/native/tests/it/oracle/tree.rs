//! A directory tree as models meet them: names, encodings, line ends, ignore files, links.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use lapidary_gemini::skills::{DiscoveryTier, SkillManager, SkillPlace, SkillSources};
use lapidary_native::tools::{ActivateSkillTool, GetInternalDocsTool, SharedSkills};

use super::cases::Case;
use super::dice::Dice;
use super::node::peers;
use crate::support::{Answer, TestWorkspace, call, run};

const DIRECTORIES: [&str; 9] = [
    "",
    "src",
    "src/deep/er",
    "lib",
    "docs",
    "dist",
    "node_modules/x",
    "Test Dir",
    "a.b",
];
const NAMES: [&str; 26] = [
    "main.rs",
    "lib.rs",
    "README.md",
    "readme.md",
    "index.ts",
    "app.tsx",
    "a.txt",
    "B.txt",
    "b.txt",
    "data.json",
    "_x.py",
    "-y.py",
    "z z.txt",
    "notes",
    ".hidden",
    ".env",
    "app.log",
    "x.LOG",
    "build.tmp",
    "photo.png",
    "song.mp3",
    "film.mp4",
    "pic.svg",
    "lib.so",
    "doc.pdf",
    "v1.2.txt",
];
const WORDS: [&str; 22] = [
    "fn",
    "let",
    "value",
    "return",
    "Value",
    "count",
    "TODO:",
    "fixme",
    "if",
    "else",
    "(x)",
    "{",
    "}",
    "=>",
    "\"text\"",
    "1234",
    "a_b",
    "foo.bar",
    "caf\u{e9}",
    "\u{1f600}",
    "x==y",
    "$1",
];
const IGNORED: [&str; 12] = [
    "*.log",
    "dist",
    "dist/",
    "/src/deep",
    "*.tmp",
    "!x.LOG",
    "docs/**",
    "**/a.txt",
    "B.*",
    "# comment",
    "lib/*.rs",
    "[ab].txt",
];

/// A generated workspace and its files.
#[derive(Debug)]
pub(super) struct Tree {
    pub(super) workspace: TestWorkspace,
    pub(super) files: Vec<String>,
    pub(super) is_repository: bool,
}

impl Tree {
    pub(super) fn grow(dice: &mut Dice) -> Self {
        let workspace = TestWorkspace::new();
        let is_repository = dice.once_in(2);
        if is_repository {
            let git = Command::new("git")
                .args(["init", "-q"])
                .current_dir(&workspace.root)
                .status()
                .unwrap();
            assert!(git.success());
        }
        let mut tree = Self {
            workspace,
            files: Vec::new(),
            is_repository,
        };
        tree.ignore_files(dice);
        if dice.once_in(2) {
            tree.skills();
        }
        for number in 0..10 + dice.below(14) {
            tree.add_file(dice, number);
        }
        if dice.once_in(3) {
            tree.links();
        }
        tree
    }

    fn ignore_files(&self, dice: &mut Dice) {
        let names = [
            ".gitignore",
            ".geminiignore",
            "src/.gitignore",
            "lib/.gitignore",
        ];
        for (number, name) in names.into_iter().enumerate() {
            if dice.once_in(2) {
                let lines: Vec<_> = (0..=dice.below(3)).map(|_| dice.pick(&IGNORED)).collect();
                let end = if dice.once_in(3) { "\r\n" } else { "\n" };
                let path = self.workspace.write(name, lines.join(end));
                dated(&path, 2 * 3600 + u64::try_from(number).unwrap());
            }
        }
    }

    fn skills(&self) {
        let skill = |name: &str, body: &str| {
            format!("---\nname: {name}\ndescription: \"For {name}: tests\"\n---\n{body}")
        };
        let files = [
            (
                "one/SKILL.md",
                skill("first-skill", "Do this.\n\nThen that.\n"),
            ),
            ("one/scripts/run.sh", "true\n".to_owned()),
            ("one/.hidden", String::new()),
            ("two/SKILL.md", skill("second", "")),
            ("two/node_modules/x.js", String::new()),
            ("broken/SKILL.md", "no front matter\n".to_owned()),
        ];
        for (number, (name, text)) in files.into_iter().enumerate() {
            let path = self
                .workspace
                .write(&format!(".gemini/skills/{name}"), text);
            dated(&path, 72 * 3600 + u64::try_from(number).unwrap());
        }
    }

    fn add_file(&mut self, dice: &mut Dice, number: usize) {
        let directory = dice.pick(&DIRECTORIES);
        let name = dice.pick(&NAMES);
        let name = if directory.is_empty() {
            name.to_owned()
        } else {
            format!("{directory}/{name}")
        };
        if self.files.contains(&name) {
            return;
        }
        let path = self.workspace.write(&name, content(dice));
        // Distinct times, so that the order of files is the same for everybody; some lie more than a day back.
        let hours = if dice.once_in(3) { 48 } else { 1 };
        dated(&path, hours * 3600 + u64::try_from(number).unwrap() * 60);
        self.files.push(name);
    }

    fn links(&mut self) {
        use std::os::unix::fs::symlink;
        let root = &self.workspace.root;
        let outside = self.workspace.outside().join("secret.txt");
        std::fs::write(&outside, "secret\n").unwrap();
        symlink(&outside, root.join("link-out")).unwrap();
        symlink("nowhere", root.join("link-dead")).unwrap();
        symlink(root.join(&self.files[0]), root.join("link-in")).unwrap();
        for name in ["link-out", "link-dead", "link-in"] {
            self.files.push(name.to_owned());
        }
    }

    /// The file that a case may change.
    fn path(&self, case: &Case) -> Option<PathBuf> {
        case.changes
            .as_ref()
            .map(|name| self.workspace.root.join(name))
    }

    pub(super) fn bytes(&self, case: &Case) -> Option<Vec<u8>> {
        std::fs::read(self.path(case)?).ok()
    }

    /// Calls our tool.
    pub(super) fn call(&self, case: &Case) -> Answer {
        let workspace = self.workspace.open();
        match case.tool {
            "activate_skill" => {
                let tool = ActivateSkillTool::new(workspace, self.found_skills());
                run(&tool, &case.arguments)
            }
            "get_internal_docs" => run(&GetInternalDocsTool::new(), &case.arguments),
            _ => call(&workspace, case.tool, &case.arguments),
        }
    }

    fn found_skills(&self) -> SharedSkills {
        let builtin = peers().join("node_modules/gemini-0.61.0/bundle/builtin");
        let own = self.workspace.root.join(".gemini/skills");
        let places = vec![
            SkillPlace::new(DiscoveryTier::Builtin, builtin),
            SkillPlace::new(DiscoveryTier::Workspace, own),
        ];
        let mut skills = SkillManager::new(SkillSources {
            places,
            ..SkillSources::default()
        });
        skills.load_skills();
        Arc::new(Mutex::new(skills))
    }

    /// Puts the file back as it was.
    pub(super) fn restore(&self, case: &Case, bytes: Option<&[u8]>) {
        let Some(path) = self.path(case) else { return };
        match bytes {
            Some(bytes) => {
                std::fs::write(&path, bytes).unwrap();
                // The kernel's own time is the same for files of one tick, and then the order of files is the file system's.
                dated(&path, 0);
            }
            None => drop(std::fs::remove_file(path)),
        }
    }
}

fn dated(path: &Path, seconds_ago: u64) {
    let file = std::fs::File::options().write(true).open(path).unwrap();
    file.set_modified(SystemTime::now() - Duration::from_secs(seconds_ago))
        .unwrap();
}

/// Lines of code, more or less.
pub(super) fn lines(dice: &mut Dice, count: usize) -> Vec<String> {
    let line = |dice: &mut Dice| {
        let indent = dice.pick(&["", "", "  ", "    ", "        ", "\t", "\t\t"]);
        let words: Vec<_> = (0..dice.below(6)).map(|_| dice.pick(&WORDS)).collect();
        let end = dice.pick(&["", "", "", ";", " ", "\t"]);
        if words.is_empty() {
            String::new()
        } else {
            format!("{indent}{}{end}", words.join(" "))
        }
    };
    (0..count).map(|_| line(dice)).collect()
}

fn content(dice: &mut Dice) -> Vec<u8> {
    let length = [0, 1, 3, 12, 60, 2100][dice.below(6)];
    let mut lines = lines(dice, length);
    if dice.once_in(12) && !lines.is_empty() {
        let place = dice.below(lines.len());
        lines[place] = "x\u{e9}".repeat(1500);
    }
    let end = dice.pick(&["\n", "\n", "\n", "\r\n"]);
    let mut text = lines.join(end);
    if !dice.once_in(3) && !text.is_empty() {
        text.push_str(end);
    }
    match dice.below(14) {
        0 => [b"\xef\xbb\xbf".to_vec(), text.into_bytes()].concat(),
        1 => encoded_16(&text, [0xff, 0xfe], u16::to_le_bytes),
        2 => encoded_16(&text, [0xfe, 0xff], u16::to_be_bytes),
        3 => [text.into_bytes(), b"\x00\x01\x02".to_vec()].concat(),
        4 => [text.into_bytes(), b"caf\xe9 \xff\n".to_vec()].concat(),
        5 => (0..200)
            .map(|_| u8::try_from(dice.below(256)).unwrap())
            .collect(),
        _ => text.into_bytes(),
    }
}

fn encoded_16(text: &str, mark: [u8; 2], bytes: fn(u16) -> [u8; 2]) -> Vec<u8> {
    let units = text.encode_utf16().flat_map(bytes);
    mark.into_iter().chain(units).collect()
}
