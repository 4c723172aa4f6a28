//! `extension-enablement.json`: where which extension is switched on or off.

use std::path::Path;

use serde_json::{Map, Value};

use crate::file;
use crate::notice::FileNotice;

/// The rules of all extensions.
pub(super) struct ExtensionRules {
    rules: Map<String, Value>,
}

impl ExtensionRules {
    /// One mistake makes all of it worthless, as in Gemini CLI: then everything is on.
    pub(super) fn read(folder: &Path) -> (Self, Vec<FileNotice>) {
        let path = folder.join("extension-enablement.json");
        let rules = match file::strict_object(&path) {
            Ok(rules) => check(rules.unwrap_or_default()),
            Err(error) => Err(error.to_string()),
        };
        match rules {
            Ok(rules) => (Self { rules }, Vec::new()),
            Err(problem) => {
                let notice = FileNotice {
                    path,
                    place: None,
                    key: None,
                    sentence: format!("{problem}; every extension counts as enabled"),
                };
                (Self { rules: Map::new() }, vec![notice])
            }
        }
    }

    /// The rule that switches an extension off in a directory, if the last that holds does.
    pub(super) fn disabled_by(&self, name: &str, directory: &Path) -> Option<&str> {
        let directory = slashed_path(&directory.to_string_lossy());
        let rules = self.rules.get(name)?.get("overrides")?.as_array()?;
        let mut rules = rules.iter().filter_map(Value::as_str);
        let last = rules.rfind(|rule| is_directory_matched(rule, &directory))?;
        last.starts_with('!').then_some(last)
    }
}

fn check(rules: Map<String, Value>) -> Result<Map<String, Value>, String> {
    let is_sound = |value: &Value| {
        let list = value.get("overrides").and_then(Value::as_array);
        list.is_some_and(|list| list.iter().all(Value::is_string))
    };
    match rules.iter().find(|(_, value)| !is_sound(value)) {
        Some((name, _)) => Err(format!("has no list of texts at `{name}.overrides`")),
        None => Ok(rules),
    }
}

/// A rule is a path in which `*` stands for any text, a slash before it included. No rule is too long to be understood.
fn is_directory_matched(rule: &str, directory: &str) -> bool {
    let rule = rule.strip_prefix('!').unwrap_or(rule);
    let mut reached = MatchReach::from_start(directory);
    let mut parts = rule.split('*').peekable();
    let mut before = None;
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            reached.pass_part(part);
            break;
        }
        let bare = part.strip_suffix('/');
        let (part, star) =
            bare.map_or((part, StarMatch::Anything), |bare| (bare, StarMatch::Below));
        reached.pass_part(part);
        // Twice the same is no more than once.
        if before != Some(star) || !part.is_empty() {
            reached.pass_star(star);
        }
        before = Some(star);
        if reached.is_lost() {
            return false;
        }
    }
    reached.is_at_the_end()
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum StarMatch {
    Anything,
    /// Nothing, or a slash and any text.
    Below,
}

/// Up to which bytes of a directory a rule may have come.
struct MatchReach<'a> {
    directory: &'a str,
    places: Vec<bool>,
}

impl<'a> MatchReach<'a> {
    fn from_start(directory: &'a str) -> Self {
        let mut places = vec![false; directory.len() + 1];
        places[0] = true;
        Self { directory, places }
    }

    fn pass_part(&mut self, part: &str) {
        if part.is_empty() {
            return;
        }
        let mut places = vec![false; self.places.len()];
        for at in self.reached_places() {
            let rest = &self.directory.as_bytes()[at..];
            if rest.starts_with(part.as_bytes()) {
                places[at + part.len()] = true;
            }
        }
        self.places = places;
    }

    /// JavaScript's dot stands for all but the end of a line.
    fn pass_star(&mut self, star: StarMatch) {
        let mut is_open = false;
        for at in 0..self.places.len() {
            let rest = &self.directory.as_bytes()[at..];
            let is_here = self.places[at];
            self.places[at] |= is_open;
            let ends = ["\n", "\r", "\u{2028}", "\u{2029}"];
            if ends.iter().any(|end| rest.starts_with(end.as_bytes())) {
                is_open = false;
            } else {
                is_open |= is_here && (star == StarMatch::Anything || rest.starts_with(b"/"));
            }
        }
    }

    fn reached_places(&self) -> impl Iterator<Item = usize> {
        let places = self.places.iter().enumerate();
        places
            .filter(|(_, is_reached)| **is_reached)
            .map(|(at, _)| at)
    }

    fn is_lost(&self) -> bool {
        self.reached_places().next().is_none()
    }

    fn is_at_the_end(&self) -> bool {
        self.places.last() == Some(&true)
    }
}

fn slashed_path(path: &str) -> String {
    let path = path.replace('\\', "/");
    let start = if path.starts_with('/') { "" } else { "/" };
    let end = if path.ends_with('/') { "" } else { "/" };
    format!("{start}{path}{end}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_rule_holds_for_what_it_names() {
        for (rule, directory, expected) in [
            ("/a/b/", "/a/b", true),
            ("/a/b", "/a/b", false),
            ("/b/", "/a/b", false),
            ("/a/b/*", "/a/b", true),
            ("/a/b/*", "/a/b/c", true),
            ("/a/b/*", "/a/bc", false),
            ("!/a/*", "/a/b", true),
            ("*", "/a", true),
            ("/a.b/", "/axb", false),
            ("/*/x/", "/a/x", true),
            ("/(a)/*", "/(a)", true),
            ("/a/*", "/a/b\nc", false),
            ("*a/*b/", "/xaya/b", true),
            ("*a/*c/", "/xaya/b", false),
            ("/**/c/", "/a/b/c", true),
            ("/a**", "/ab", true),
            ("", "", false),
        ] {
            assert_eq!(
                is_directory_matched(rule, &slashed_path(directory)),
                expected,
                "{rule} {directory}"
            );
        }
    }

    #[test]
    fn a_rule_of_any_length_holds_or_does_not() {
        let directory = slashed_path("/a/b");
        assert!(is_directory_matched(
            &("!".to_owned() + &"/*".repeat(20_000)),
            &directory
        ));
        assert!(is_directory_matched(&"*".repeat(1_000_000), &directory));
        assert!(!is_directory_matched(&"a*".repeat(1_000_000), &directory));
        assert!(!is_directory_matched(&"/a".repeat(1_000_000), &directory));
    }

    proptest! {
        /// What the CLI makes of a rule.
        #[test]
        fn a_rule_means_what_its_pattern_means(rule in "!?[ab/*.]{0,8}", directory in "[ab/.\n]{0,8}") {
            let bare = rule.strip_prefix('!').unwrap_or(&rule);
            let pattern = regex::escape(bare).replace(r"/\*", "(/.*)?").replace(r"\*", "(.*)?");
            let pattern = regex::Regex::new(&format!("^{pattern}$")).unwrap();
            let directory = slashed_path(&directory);
            prop_assert_eq!(is_directory_matched(&rule, &directory), pattern.is_match(&directory));
        }
    }
}
