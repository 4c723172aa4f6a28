//! What is written twice: keys, of which only the last counts, and hooks, which run once.

use std::path::{Path, PathBuf};

use super::super::Registry;
use super::{Found, Report, Severity};
use crate::jsonc::Node;

pub(super) fn look(report: &mut Report<'_>, registry: &Registry) {
    let mut files: Vec<PathBuf> = Vec::new();
    let settings = report
        .setup
        .settings
        .files
        .iter()
        .map(|file| file.path.clone());
    let others = registry.hooks.iter().map(|entry| entry.hook.origin.clone());
    for path in settings.chain(others) {
        if !files.contains(&path) {
            keys(report, &path);
            files.push(path);
        }
    }
    hooks(report, registry);
}

/// Keys of one object that are the same, where hooks are.
fn keys(report: &mut Report<'_>, path: &Path) {
    let Some(text) = report.spots.text(path) else {
        return;
    };
    let mut twice = Vec::new();
    let root = &text.tree.root;
    doubled(root, &mut twice, Depth::Here);
    for child in &root.children {
        if child.key == "hooks" || child.key == "hooksConfig" {
            doubled(&child.node, &mut twice, Depth::All);
        }
    }
    let twice: Vec<_> = twice
        .into_iter()
        .map(|(key, byte)| (key, text.place(byte)))
        .collect();
    for (key, place) in twice {
        report.add_at(
            path,
            Some(place),
            Found {
                severity: Severity::Error,
                code: "duplicate_key",
                subject: &key,
                sentence: format!(
                    "`{key}` is written again further down, and only the last one counts"
                ),
                hint: Some("put all of it into one".to_owned()),
            },
        );
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Depth {
    Here,
    All,
}

/// The keys of an object that come again, with where they are.
fn doubled(node: &Node, twice: &mut Vec<(String, usize)>, depth: Depth) {
    let is_ours = |key: &str| depth == Depth::All || key == "hooks" || key == "hooksConfig";
    for (index, child) in node.children.iter().enumerate() {
        let comes_again = node.children[index + 1..]
            .iter()
            .any(|later| later.key == child.key);
        if comes_again && is_ours(&child.key) {
            twice.push((child.key.clone(), child.start));
        }
        if depth == Depth::All {
            doubled(&child.node, twice, depth);
        }
    }
}

/// Hooks of one event that are the same to Gemini CLI.
fn hooks(report: &mut Report<'_>, registry: &Registry) {
    for (index, entry) in registry.hooks.iter().enumerate() {
        let same = |other: &&super::Entry| {
            other.hook.event == entry.hook.event
                && other.hook.key() == entry.hook.key()
                && other.hook.matcher == entry.hook.matcher
        };
        if let Some(first) = registry.hooks[..index].iter().find(same) {
            let first = first.hook.origin.display().to_string();
            report.add_to(
                entry,
                "command",
                Found {
                    severity: Severity::Note,
                    code: "duplicate_hook",
                    subject: entry.hook.display_name(),
                    sentence: format!(
                        "the same hook is in `{first}` for {} already: it runs once",
                        entry.hook.event
                    ),
                    hint: None,
                },
            );
        }
    }
}
