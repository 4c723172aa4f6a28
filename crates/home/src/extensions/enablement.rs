//! `extension-enablement.json`: where which extension is switched on or off.

use std::path::Path;

use regex::Regex;
use serde_json::{Map, Value};

use crate::file;
use crate::notice::Notice;

/// The rules of all extensions.
pub(super) struct Enablement {
    rules: Map<String, Value>,
}

impl Enablement {
    /// One mistake makes all of it worthless, as in Gemini CLI: then everything is on.
    pub(super) fn read(folder: &Path) -> (Self, Vec<Notice>) {
        let path = folder.join("extension-enablement.json");
        let rules = match file::strict_object(&path) {
            Ok(rules) => check(rules.unwrap_or_default()),
            Err(error) => Err(error.to_string()),
        };
        match rules {
            Ok(rules) => (Self { rules }, Vec::new()),
            Err(problem) => {
                let notice = Notice {
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
        let directory = slashed(&directory.to_string_lossy());
        let rules = self.rules.get(name)?.get("overrides")?.as_array()?;
        let mut rules = rules.iter().filter_map(Value::as_str);
        let last = rules.rfind(|rule| holds(rule, &directory))?;
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

/// A rule is a path in which `*` stands for anything, a slash before it included.
fn holds(rule: &str, directory: &str) -> bool {
    let rule = rule.strip_prefix('!').unwrap_or(rule);
    let mut pattern = String::from("^");
    let mut parts = rule.split('*').peekable();
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            pattern.push_str(&regex::escape(part));
            break;
        }
        let (part, slash) = match part.strip_suffix('/') {
            Some(part) => (part, "/"),
            None => (part, ""),
        };
        pattern.push_str(&regex::escape(part));
        pattern.extend(["(", slash, ".*)?"]);
    }
    pattern.push('$');
    Regex::new(&pattern).is_ok_and(|pattern| pattern.is_match(directory))
}

fn slashed(path: &str) -> String {
    let path = path.replace('\\', "/");
    let start = if path.starts_with('/') { "" } else { "/" };
    let end = if path.ends_with('/') { "" } else { "/" };
    format!("{start}{path}{end}")
}

#[cfg(test)]
mod tests {
    use super::*;

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
        ] {
            assert_eq!(
                holds(rule, &slashed(directory)),
                expected,
                "{rule} {directory}"
            );
        }
    }
}
