//! Calls that models make, and some that they should not.

use serde_json::{Value, json};

use super::dice::Dice;
use super::tree::{Tree, lines};

/// A call.
#[derive(Debug, Clone)]
pub(super) struct Case {
    pub(super) tool: &'static str,
    pub(super) arguments: Value,
    /// The `PATH` of Gemini CLI: without `grep` and `git` it searches by itself.
    pub(super) path: Option<&'static str>,
    /// The file that the call may change.
    pub(super) changes: Option<String>,
    /// How the text to be replaced was changed.
    pub(super) perturbation: Option<&'static str>,
    /// The text that the file should have.
    pub(super) truth: Option<String>,
}

impl Case {
    fn new(tool: &'static str, arguments: Value) -> Self {
        Self {
            tool,
            arguments,
            path: None,
            changes: None,
            perturbation: None,
            truth: None,
        }
    }

    pub(super) fn draw(dice: &mut Dice, tree: &Tree) -> Self {
        match dice.below(41) {
            place @ 0..40 => Self::draw_file_tool(place / 2, dice, tree),
            _ if dice.once_in(4) => get_internal_docs(dice),
            _ => activate_skill(dice),
        }
    }

    fn draw_file_tool(place: usize, dice: &mut Dice, tree: &Tree) -> Self {
        match place {
            0 | 1 => list_directory(dice, tree),
            12..=15 => glob(dice, tree),
            16..=19 => grep_search(dice, tree),
            2..=4 => read_file(dice, tree),
            5 | 6 => write_file(dice, tree),
            _ => replace(dice, tree),
        }
    }
}

/// A path to a file or to a place where none is.
fn path(dice: &mut Dice, tree: &Tree) -> String {
    let file = &tree.files[dice.below(tree.files.len())];
    match dice.below(16) {
        0 => format!("./{file}"),
        1 => tree.workspace.root.join(file).to_str().unwrap().to_owned(),
        2 => format!("@{file}"),
        3 => format!("src/../{file}"),
        4 => "missing.txt".to_owned(),
        5 => "src/missing/file.rs".to_owned(),
        6 => "../outside.txt".to_owned(),
        7 => "/etc/hosts".to_owned(),
        8 => "src".to_owned(),
        9 => ".git/config".to_owned(),
        10 => format!("{file}/below"),
        _ => file.clone(),
    }
}

fn directory(dice: &mut Dice, tree: &Tree) -> String {
    let known = [
        ".",
        "src",
        "lib",
        "docs",
        "dist",
        "node_modules",
        "Test Dir",
        "a.b",
        "src/deep",
        "..",
        "missing",
        ".git",
        "",
        "./src/",
        "link-in",
    ];
    match dice.below(4) {
        0 => path(dice, tree),
        1 => tree.workspace.root.to_str().unwrap().to_owned(),
        _ => dice.pick(&known).to_owned(),
    }
}

fn list_directory(dice: &mut Dice, tree: &Tree) -> Case {
    let mut arguments = json!({ "dir_path": directory(dice, tree) });
    if dice.once_in(4) {
        arguments["ignore"] =
            json!([dice.pick(&["*.rs", "?.txt", "a*", "[ab].txt", "*", "README.md"])]);
    }
    if dice.once_in(4) {
        let mut options = json!({});
        if dice.once_in(2) {
            options["respect_git_ignore"] = dice.once_in(2).into();
        }
        if dice.once_in(2) {
            options["respect_gemini_ignore"] = dice.once_in(2).into();
        }
        arguments["file_filtering_options"] = options;
    }
    if dice.once_in(20) {
        arguments = bad(dice);
    }
    Case::new("list_directory", arguments)
}

/// Arguments that do not fit.
fn bad(dice: &mut Dice) -> Value {
    [
        json!({}),
        json!({ "dir_path": 7, "file_path": 7 }),
        json!({ "dir_path": null, "file_path": null }),
        json!({ "dir_path": ".", "file_path": "a.txt", "ignore": "x", "start_line": "1", "content": 1 }),
        json!({ "dir_path": ".", "file_path": "a.txt", "ignore": [1], "start_line": 0, "content": [] }),
        json!({ "dir_path": ".", "file_path": "a.txt", "start_line": 1.5, "file_filtering_options": 1 }),
        json!({ "file_path": "" }),
        json!({ "file_path": " ", "content": "" }),
    ][dice.below(8)]
    .clone()
}

fn read_file(dice: &mut Dice, tree: &Tree) -> Case {
    let mut arguments = json!({ "file_path": path(dice, tree) });
    let line = |dice: &mut Dice| [1, 2, 3, 10, 59, 61, 2000, 2001, 2100, 5000][dice.below(10)];
    if dice.once_in(3) {
        arguments["start_line"] = line(dice).into();
    }
    if dice.once_in(3) {
        arguments["end_line"] = line(dice).into();
    }
    if dice.once_in(20) {
        arguments = bad(dice);
    }
    Case::new("read_file", arguments)
}

fn glob(dice: &mut Dice, tree: &Tree) -> Case {
    let patterns = [
        "**/*",
        "*",
        "**/*.rs",
        "*.txt",
        "src/**",
        "src/**/*.rs",
        "**/*.{rs,ts,tsx}",
        "*.md",
        "README.*",
        "**/[ab].txt",
        "**/[!a].txt",
        "**/?.txt",
        "lib/*",
        "**/main.*",
        "*/*.rs",
        "src/deep/**/*",
        "**/.hidden",
        ".*",
        "**/*.log",
        "{src,lib}/**",
        "**/v1.2.txt",
        "Test Dir/*",
        "test dir/*",
        "**/@(main|lib).rs",
        "**/!(main).rs",
        "**/+(a|b).txt",
        "nothing/**",
        "**",
        "src",
        "./src/*",
        "a.b/**",
        "**/*.LOG",
        "node_modules/**",
        "[z",
        "(x",
        "**/z z.txt",
        "dist/**",
        "docs/*",
    ];
    let mut arguments = json!({ "pattern": dice.pick(&patterns) });
    if dice.once_in(8) {
        arguments["pattern"] = path(dice, tree).into();
    }
    if dice.once_in(4) {
        arguments["dir_path"] = directory(dice, tree).into();
    }
    for name in [
        "case_sensitive",
        "respect_git_ignore",
        "respect_gemini_ignore",
    ] {
        if dice.once_in(4) {
            arguments[name] = dice.once_in(2).into();
        }
    }
    if dice.once_in(30) {
        arguments = [
            json!({}),
            json!({ "pattern": "" }),
            json!({ "pattern": 1 }),
            json!({ "pattern": " " }),
        ][dice.below(4)]
        .clone();
    }
    Case::new("glob", arguments)
}

/// With a repository Gemini CLI asks `git grep`, whose patterns are POSIX's; without one it is made to search by itself, in JavaScript.
fn grep_search(dice: &mut Dice, tree: &Tree) -> Case {
    let everywhere = [
        "value",
        "VALUE",
        "let value",
        "foo.bar",
        "^fn",
        "^ *return",
        "x==y",
        "1234",
        "TODO:|fixme",
        "(let|fn) ",
        "[0-9]+",
        "caf",
        "a_b$",
        "nothing like it",
        "count.*value",
        "e{2}",
        "\\(x\\)",
        "\\.bar",
        "=> *\"",
        "[^a-z ]if",
        "v?alue +count",
    ];
    let in_javascript = [
        "\\bvalue\\b",
        "\\d+",
        "\\s$",
        "^\\s*$",
        "\\w+\\s\\(x\\)",
        "let(?= value)",
        "(?<!foo)\\.bar",
        "(\\w)\\1",
        "(?:fn|let)\\s+\\w",
        "\\u0061_b",
        "[\\w.]+bar",
        "$",
        "^",
        "",
        ".",
        "[",
        "(",
        "*",
        "a{2,1}",
        "[b-a]",
        "(?x)",
        "\\",
        ")",
        "\\x66n",
        "caf\u{e9}",
        "\u{1f600}",
        "(?<n>a)_\\k<n>?",
    ];
    let pattern = if !tree.is_repository && dice.once_in(2) {
        dice.pick(&in_javascript)
    } else {
        dice.pick(&everywhere)
    };
    let mut arguments = json!({ "pattern": pattern });
    if dice.once_in(4) {
        arguments["dir_path"] = directory(dice, tree).into();
    }
    if tree.is_repository && dice.once_in(3) {
        arguments["include_pattern"] = dice
            .pick(&[
                "*.rs",
                "*.txt",
                "src/**",
                "*.nothing",
                "lib/*.rs",
                "**/*.md",
            ])
            .into();
    }
    if dice.once_in(4) {
        arguments["exclude_pattern"] = dice.pick(&["let", "^ ", "x", "[", "fn|return"]).into();
    }
    if dice.once_in(5) {
        arguments["names_only"] = true.into();
    }
    // An old `git grep` knows no `--max-count`, and Gemini CLI falls back on `grep`.
    if !tree.is_repository && dice.once_in(5) {
        arguments["max_matches_per_file"] = [1, 2, 3, 0][dice.below(4)].into();
    }
    if dice.once_in(6) {
        arguments["total_max_matches"] = [1, 2, 5, 100_000][dice.below(4)].into();
    }
    if dice.once_in(30) {
        arguments = [
            json!({}),
            json!({ "pattern": 1 }),
            json!({ "pattern": "a", "names_only": 1 }),
        ][dice.below(3)]
        .clone();
    }
    Case {
        path: (!tree.is_repository).then_some("/nonexistent"),
        ..Case::new("grep_search", arguments)
    }
}

fn activate_skill(dice: &mut Dice) -> Case {
    let names = [
        "first-skill",
        "First-Skill",
        "second",
        "second/",
        "skill-creator",
        "unknown",
        "",
    ];
    let mut arguments = json!({ "name": dice.pick(&names) });
    if dice.once_in(8) {
        arguments = [
            json!({}),
            json!({ "name": 1 }),
            json!({ "name": "second", "more": 1 }),
        ][dice.below(3)]
        .clone();
    }
    Case::new("activate_skill", arguments)
}

/// The pages are other ones: compared are the heading and the refusals.
fn get_internal_docs(dice: &mut Dice) -> Case {
    let arguments = [
        json!({}),
        json!({ "path": "" }),
        json!({ "path": "nothing.md" }),
        json!({ "path": "a/nothing.md" }),
        json!({ "path": "../../package.json" }),
        json!({ "path": "/etc/hosts" }),
        json!({ "path": 1 }),
    ][dice.below(7)]
    .clone();
    Case::new("get_internal_docs", arguments)
}

fn write_file(dice: &mut Dice, tree: &Tree) -> Case {
    let name = match dice.below(3) {
        0 => dice
            .pick(&["new.txt", "some/new/dir/file.rs", "src/new.rs", "dist/new"])
            .to_owned(),
        _ => path(dice, tree).replace("link-dead", "link-in"),
    };
    let count = dice.below(40);
    let mut content = lines(dice, count).join(dice.pick(&["\n", "\n", "\r\n"]));
    if dice.once_in(2) {
        content.push('\n');
    }
    if dice.once_in(10) {
        content.push_str(dice.pick(&[
            "// rest of code ...\n",
            "(rest of methods ...)",
            "...",
            "\\n escaped \\\"x\\\"",
        ]));
    }
    let mut arguments = json!({ "file_path": name, "content": content });
    if dice.once_in(20) {
        arguments = bad(dice);
    }
    let name = arguments["file_path"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    Case {
        changes: changed(tree, &name),
        ..Case::new("write_file", arguments)
    }
}

/// The file behind a path, from the root.
fn changed(tree: &Tree, name: &str) -> Option<String> {
    let name = name.trim_start_matches("./").trim_start_matches("src/../");
    let root = tree.workspace.root.to_str().unwrap();
    let name = name
        .strip_prefix(root)
        .map_or(name, |name| name.trim_start_matches('/'));
    let name = name.trim_start_matches('@');
    (!name.starts_with("..") && !name.starts_with('/') && !name.is_empty()).then(|| name.to_owned())
}

/// The ways in which models get a text wrong.
const PERTURBATIONS: [&str; 12] = [
    "none",
    "trailing space",
    "tabs for spaces",
    "lost indentation",
    "uniform indentation",
    "crlf",
    "escapes",
    "missing blank line",
    "extra blank line",
    "stale line",
    "white space in words",
    "twice",
];

fn replace(dice: &mut Dice, tree: &Tree) -> Case {
    if dice.once_in(6) {
        return replace_anywhere(dice, tree);
    }
    let count = 6 + dice.below(30);
    let file = numbered(lines(dice, count));
    let start = dice.below(file.len());
    let end = (start + 1 + dice.below(6)).min(file.len());
    let old = file[start..end].to_vec();
    let mut new = old.clone();
    change(dice, &mut new);
    let mut truth = file.clone();
    truth.splice(start..end, new.iter().cloned());
    let name = dice
        .pick(&["edit.rs", "src/edit.rs", "edit.json"])
        .to_owned();
    let end_of_line = if dice.once_in(5) { "\r\n" } else { "\n" };
    tree.workspace
        .write(&name, file.join(end_of_line) + end_of_line);
    let perturbation = dice.pick(&PERTURBATIONS);
    let perturbed = |lines: &[String]| perturb(perturbation, lines);
    let (old, new) = (perturbed(&old), perturbed(&new));
    let mut arguments =
        json!({ "file_path": name, "instruction": "x", "old_string": old, "new_string": new });
    if perturbation == "twice" {
        arguments["allow_multiple"] = dice.once_in(2).into();
    }
    Case {
        changes: Some(name),
        perturbation: Some(perturbation),
        truth: Some(truth.join(end_of_line) + end_of_line),
        ..Case::new("replace", arguments)
    }
}

/// Lines of which most are alone of their kind, as in code.
fn numbered(lines: Vec<String>) -> Vec<String> {
    let number = |(place, line): (usize, String)| {
        if line.trim().is_empty() || place % 7 == 3 {
            line
        } else {
            format!("{} v{place}", line.trim_end())
        }
    };
    lines.into_iter().enumerate().map(number).collect()
}

fn change(dice: &mut Dice, lines: &mut Vec<String>) {
    let place = dice.below(lines.len());
    let indent: String = lines[place]
        .chars()
        .take_while(|letter| letter.is_whitespace())
        .collect();
    match dice.below(5) {
        0 => lines[place] = format!("{indent}changed();"),
        1 => lines.insert(place, format!("{indent}inserted();")),
        2 if lines.len() > 1 => drop(lines.remove(place)),
        3 => lines[place].push_str(" + more"),
        _ => lines[place] = lines[place].replace('v', "w"),
    }
}

fn perturb(how: &str, lines: &[String]) -> String {
    let each = |change: &dyn Fn(&String) -> String| {
        lines.iter().map(change).collect::<Vec<_>>().join("\n")
    };
    match how {
        "trailing space" => each(&|line| format!("{line}  ")),
        "tabs for spaces" => each(&|line| line.replace("    ", "\t")),
        "lost indentation" => each(&|line| line.trim_start().to_owned()),
        "uniform indentation" => each(&|line| {
            if line.is_empty() {
                String::new()
            } else {
                format!("   {line}")
            }
        }),
        "crlf" => lines.join("\r\n"),
        "escapes" => lines.join("\n").replace('"', "\\\""),
        "missing blank line" => lines
            .iter()
            .filter(|line| !line.is_empty())
            .cloned()
            .collect::<Vec<_>>()
            .join("\n"),
        "extra blank line" => lines.join("\n\n"),
        "stale line" => lines.join("\n").replacen("value", "valve", 1),
        "white space in words" => lines.join("\n").replace("==", " == ").replace('(', "( "),
        _ => lines.join("\n"),
    }
}

/// An edit of a file of the tree.
fn replace_anywhere(dice: &mut Dice, tree: &Tree) -> Case {
    let name = path(dice, tree).replace("link-dead", "link-in");
    let mut arguments = json!({
        "file_path": name,
        "instruction": "x",
        "old_string": dice.pick(&["value", "let", "", "TODO: fixme", "not there at all", "}", "fn "]),
        "new_string": dice.pick(&["value", "other", "", "$& $1 $$", "// rest of code ...", "two\nlines"]),
        "allow_multiple": dice.once_in(2),
    });
    if dice.once_in(10) {
        arguments.as_object_mut().unwrap().remove("instruction");
    }
    Case {
        changes: changed(tree, &name),
        ..Case::new("replace", arguments)
    }
}
