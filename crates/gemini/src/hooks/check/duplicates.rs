//! Duplicates: keys, of which only the last counts, and hooks, which run once.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use super::super::HookRegistry;
use super::{FindingReport, LintSeverity, UnplacedFinding};
use crate::jsonc::JsoncNode;

pub(super) fn check_duplicates(report: &mut FindingReport<'_>, registry: &HookRegistry) {
    for path in report.hook_files(registry) {
        check_duplicate_keys(report, &path);
    }
    check_duplicate_hooks(report, registry);
}

/// Keys of one object that are the same, where hooks are.
fn check_duplicate_keys(report: &mut FindingReport<'_>, path: &Path) {
    let Some(text) = report.spots.positioned_text(path) else {
        return;
    };
    let mut twice = Vec::new();
    let root = &text.tree.root;
    collect_duplicates(root, &mut twice, DuplicateDepth::Here);
    for child in &root.children {
        if child.key == "hooks" || child.key == "hooksConfig" {
            collect_duplicates(&child.node, &mut twice, DuplicateDepth::All);
        }
    }
    let twice: Vec<_> = twice
        .into_iter()
        .map(|(key, byte)| (key, text.byte_position(byte)))
        .collect();
    for (key, place) in twice {
        report.add_at(
            path,
            Some(place),
            UnplacedFinding {
                severity: LintSeverity::Error,
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
enum DuplicateDepth {
    Here,
    All,
}

/// The keys of an object that come again, with where they are.
fn collect_duplicates(node: &JsoncNode, twice: &mut Vec<(String, usize)>, depth: DuplicateDepth) {
    let is_ours =
        |key: &str| depth == DuplicateDepth::All || key == "hooks" || key == "hooksConfig";
    let mut later = HashSet::new();
    for child in node.children.iter().rev() {
        if !later.insert(&child.key) && is_ours(&child.key) {
            twice.push((child.key.clone(), child.start));
        }
        if depth == DuplicateDepth::All {
            collect_duplicates(&child.node, twice, depth);
        }
    }
}

/// Hooks of one event that are the same to Gemini CLI.
fn check_duplicate_hooks(report: &mut FindingReport<'_>, registry: &HookRegistry) {
    let mut seen = HashMap::new();
    for entry in &registry.hooks {
        let hook = &entry.hook;
        let key = (hook.event, hook.key(), &hook.matcher);
        let Some(first) = seen.insert(key, &hook.origin) else {
            continue;
        };
        let found = UnplacedFinding {
            severity: LintSeverity::Note,
            code: "duplicate_hook",
            subject: hook.display_name(),
            sentence: format!(
                "the same hook is in `{}` for {} already: it runs once",
                first.display(),
                hook.event
            ),
            hint: None,
        };
        report.add_to(entry, "command", found);
    }
}
