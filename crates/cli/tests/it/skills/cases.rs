//! Files that are skills, nearly skills, or no skills at all: new ones from every seed.

use lapidary_testkit::mutate::SeededRng;

/// Values of a key: values that YAML reads in many ways, and values that it rejects.
const VALUES: [&str; 100] = [
    "a",
    "reviewer",
    "code-reviewer",
    "123",
    "1.5",
    "true",
    "yes",
    "no",
    "null",
    "~",
    "",
    "2024-01-01",
    "2024-01-01T00:00:00Z",
    "\"quoted\"",
    "'single'",
    "'it''s'",
    "\"esc\\n\\u00e9\"",
    "has: colon",
    "has #hash",
    "has # comment",
    "[a, b]",
    "{a: b}",
    "&x anchored",
    "*x",
    "!!str 5",
    "!!int 5",
    "!custom x",
    "|\n  one\n  two",
    ">\n  one\n  two\n\n  three",
    "|-\n  one\n  two",
    ">+\n  one\n",
    "../evil",
    "a/b",
    "a b  c",
    "  lead",
    "trail   ",
    "tab\there",
    "\ttab",
    "- dash",
    "-dash",
    "@at",
    "`tick`",
    "%pct",
    "\"unclosed",
    "'unclosed",
    "[unclosed",
    "{unclosed",
    "multi\n  line",
    "multi\n\n  line",
    "multi\nnotindented",
    "x\n   more\n  less",
    "? q",
    ": c",
    "a:b",
    "http://x.y",
    "0x1F",
    "0o7",
    "0b1",
    "1_000",
    ".inf",
    ".nan",
    "1e3",
    "=",
    "<<",
    "a, b",
    "a]b",
    "a}b",
    "\"a\"b",
    "'a' b",
    "\\n",
    "a\u{2028}b",
    "\u{1}",
    "a\u{7f}b",
    "!!binary aGk=",
    "!!null ''",
    "! x",
    "# only",
    "on",
    "Null",
    "TRUE",
    "1:30",
    "12:30:45",
    "+1",
    "-1",
    "00",
    "1.",
    "1.e1",
    "-.5",
    "- a\n- b",
    "\n  - a\n  - b",
    "\n  nested: x",
    "\n    deep",
    "...",
    "> folded text on line",
    "| literal",
    "&a",
    "*unknown",
    "\"\\x\"",
    "[a,\n  b]",
    "{a: b,\n  c: d}",
];

/// Lines beside the name and the description.
const LINES: [&str; 24] = [
    "# comment",
    "",
    "  ",
    "  - item",
    "- item",
    "  indented",
    "...",
    "\t",
    "key",
    "\"key\"",
    "{}",
    "%YAML 1.2",
    "--- ",
    "  # c",
    ": v",
    "metadata:\n  name: x\n  description: y",
    "metadata:\n  - name: x",
    "a: &b {name: q}\nc: *b",
    "a:\n  - x\n  - y",
    "a:\n- x\n- y",
    "name: again",
    "description: again",
    "license: MIT",
    "allowed-tools: [a, b]",
];

const NAME_KEYS: [&str; 6] = ["\"name\"", "'name'", "name ", "  name", "Name", "&k name"];
const DESCRIPTION_KEYS: [&str; 4] = [
    "\"description\"",
    "'description'",
    "description ",
    " description",
];
const SEPARATORS: [&str; 5] = [":  ", ":\t", ":", " : ", ":\n  "];
const BEGINNINGS: [&str; 3] = [" ---", "----", "\n---"];
const ENDINGS: [&str; 4] = ["--- x", "----", "---\n", "..."];
const BODIES: [&str; 4] = ["\n body \n", "", "---\nx", "\u{a0}b\u{a0}"];

/// Returns an odd text in one of `one_of` cases. A file with only odd parts is no skill for many reasons at once, and tests none
/// of them.
fn odd<'a>(rng: &mut SeededRng, one_of: usize, usual: &'a str, odd: &[&'a str]) -> &'a str {
    if rng.below(one_of) == 0 {
        pick(rng, odd)
    } else {
        usual
    }
}

fn pick<'a>(rng: &mut SeededRng, from: &[&'a str]) -> &'a str {
    from[rng.below(from.len())]
}

/// The text of a `SKILL.md`.
pub(super) fn skill(rng: &mut SeededRng, own_name: &str) -> String {
    let mut lines = vec![
        format!(
            "{}{}{}",
            odd(rng, 5, "name", &NAME_KEYS),
            odd(rng, 5, ": ", &SEPARATORS),
            odd(rng, 3, own_name, &VALUES)
        ),
        format!(
            "{}{}{}",
            odd(rng, 5, "description", &DESCRIPTION_KEYS),
            odd(rng, 5, ": ", &SEPARATORS),
            odd(rng, 2, "What it does", &VALUES)
        ),
    ];
    if rng.below(2) == 0 {
        lines.reverse();
    }
    for _ in 0..rng.below(5).saturating_sub(2) {
        let place = rng.below(lines.len() + 1);
        lines.insert(place, pick(rng, &LINES).to_owned());
    }
    let text = format!(
        "{}\n{}\n{}\n{}",
        odd(rng, 30, "---", &BEGINNINGS),
        lines.join("\n"),
        odd(rng, 10, "---", &ENDINGS),
        odd(rng, 2, "body", &BODIES)
    );
    if rng.below(5) == 0 {
        return text.replace('\n', "\r\n");
    }
    text
}

/// Where the file lies in a directory of skills: mostly where it is looked for.
pub(super) fn path(rng: &mut SeededRng, number: usize) -> String {
    match rng.below(24) {
        0 => "SKILL.md".to_owned(),
        1 => format!("case-{number}/skill.md"),
        2 => format!("deep-{number}/er/SKILL.md"),
        3 => format!(".hidden-{number}/SKILL.md"),
        4 => "node_modules/SKILL.md".to_owned(),
        5 => format!("Capital {number}/SKILL.md"),
        6 => format!("\u{e9}-{number}/SKILL.md"),
        _ => format!("case-{number}/SKILL.md"),
    }
}
