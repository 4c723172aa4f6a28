//! Which module of a crate refers to which, and the groups of modules that refer to each other in a circle.
//!
//! The graph is read from the source text: file names give the modules, paths that start with `crate`, `self`, `super` or the name of a
//! child module give the references. A module may refer to its ancestors and its descendants (`super::Limits`, `child::Parser`);
//! only references between siblings must have a direction, at every level of the tree.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;

use anyhow::{Context as _, Result};

use super::source_text::{self, PathInSource};

/// A module's path below its crate's root, `["policy", "rule"]`.
type ModulePath = Vec<String>;

/// References between the children of each module of one crate.
#[derive(Debug, Default)]
pub(crate) struct ModuleGraph {
    modules: BTreeSet<ModulePath>,
    /// The references between the children of each module, by the path of their parent.
    siblings: BTreeMap<ModulePath, SiblingReferences>,
}

/// Child → the siblings that it, or a module below it, refers to → the paths written there.
type SiblingReferences = BTreeMap<String, BTreeMap<String, BTreeSet<String>>>;

impl ModuleGraph {
    /// Reads the modules of the crate whose sources are below `src`.
    pub(crate) fn read_crate(src: &Path) -> Result<Self> {
        let mut files = Vec::new();
        source_text::rust_files(src, &mut files)?;
        let mut graph = Self::default();
        let mut sources = Vec::new();
        for file in files {
            let module = module_of_file(src, &file);
            let text = std::fs::read_to_string(&file)
                .with_context(|| format!("cannot read `{}`", file.display()))?;
            graph.modules.insert(module.clone());
            sources.push((module, text));
        }
        let tests = sources.iter().flat_map(|(module, text)| {
            let names = source_text::test_modules(text).into_iter();
            names.map(|name| [module.clone(), vec![name]].concat())
        });
        let tests: Vec<ModulePath> = tests.collect();
        let is_test = |module: &ModulePath| tests.iter().any(|test| module.starts_with(test));
        for (module, text) in sources.iter().filter(|(module, _)| !is_test(module)) {
            for path in source_text::source_paths(text) {
                graph.add_reference(module, &path);
            }
        }
        Ok(graph)
    }

    /// Adds the reference that `path` makes where it stands in `module`.
    fn add_reference(&mut self, module: &ModulePath, path: &PathInSource) {
        let Some(target) = self.resolve_path(module, path) else {
            return;
        };
        let common = module.iter().zip(&target).take_while(|(a, b)| a == b);
        let common = common.count();
        let (Some(from), Some(to)) = (module.get(common), target.get(common)) else {
            return; // an ancestor or a descendant
        };
        let children = self.siblings.entry(module[..common].to_vec()).or_default();
        let targets = children.entry(from.clone()).or_default();
        let written = format!("{} uses {}", module.join("::"), path.join("::"));
        targets.entry(to.clone()).or_default().insert(written);
    }

    /// The module that a path leads to: its longest prefix that is a module.
    fn resolve_path(&self, module: &ModulePath, path: &PathInSource) -> Option<ModulePath> {
        let mut segments = path.iter().map(String::as_str).peekable();
        let mut base = module.clone();
        match segments.next()? {
            "crate" => base.clear(),
            "self" => {}
            "super" => {
                base.pop();
                while segments.next_if_eq(&"super").is_some() {
                    base.pop();
                }
            }
            first => {
                base.push(first.to_owned());
                if !self.modules.contains(&base) {
                    return None; // another crate, or an item of this module
                }
            }
        }
        for segment in segments {
            base.push(segment.to_owned());
            if !self.modules.contains(&base) {
                base.pop();
                break;
            }
        }
        Some(base)
    }

    /// Groups of sibling modules that refer to each other in a circle.
    pub(crate) fn module_cycles(&self) -> Vec<ModuleCycle<'_>> {
        let mut found = Vec::new();
        for (parent, references) in &self.siblings {
            let groups = connected_groups(references).into_iter();
            found.extend(groups.map(|members| ModuleCycle {
                parent,
                members,
                references,
            }));
        }
        found
    }
}

/// Sibling modules that refer to each other in a circle.
#[derive(Debug)]
pub(crate) struct ModuleCycle<'a> {
    parent: &'a ModulePath,
    members: Vec<&'a String>,
    references: &'a SiblingReferences,
}

/// The members on a line, then each reference between two of them with one path that makes it.
impl fmt::Display for ModuleCycle<'_> {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let members: Vec<&str> = self.members.iter().map(|name| name.as_str()).collect();
        if self.parent.is_empty() {
            write!(to, "the crate's root")?;
        } else {
            write!(to, "`{}`", self.parent.join("::"))?;
        }
        write!(to, ": {}", members.join(", "))?;
        for (from, target, paths) in self.cycle_edges() {
            let example = paths.first().map_or("", String::as_str);
            write!(to, "\n    {from} → {target} ({}): {example}", paths.len())?;
        }
        Ok(())
    }
}

impl ModuleCycle<'_> {
    /// True if its modules are children of the crate's root.
    pub(crate) fn is_at_root(&self) -> bool {
        self.parent.is_empty()
    }

    fn cycle_edges(&self) -> impl Iterator<Item = (&String, &String, &BTreeSet<String>)> {
        let inside = |name: &String| self.members.contains(&name);
        let from = self.references.iter().filter(move |(it, _)| inside(it));
        from.flat_map(move |(from, targets)| {
            let targets = targets.iter().filter(move |(it, _)| inside(it));
            targets.map(move |(target, paths)| (from, target, paths))
        })
    }
}

/// The strongly connected groups with more than one member. Graphs here have at most a few dozen nodes, so reachability is computed
/// for each node in turn.
fn connected_groups(edges: &SiblingReferences) -> Vec<Vec<&String>> {
    let reached: BTreeMap<&String, BTreeSet<&String>> = edges
        .keys()
        .map(|start| (start, reachable_modules(edges, start)))
        .collect();
    let mut groups: Vec<Vec<&String>> = Vec::new();
    for (node, targets) in &reached {
        if groups.iter().any(|group| group.contains(node)) {
            continue;
        }
        let back = |other: &&&String| reached.get(**other).is_some_and(|it| it.contains(node));
        let group: Vec<&String> = targets.iter().filter(back).copied().collect();
        if group.len() > 1 {
            groups.push(group);
        }
    }
    groups
}

fn reachable_modules<'a>(edges: &'a SiblingReferences, start: &'a String) -> BTreeSet<&'a String> {
    let mut seen = BTreeSet::new();
    let mut open = vec![start];
    while let Some(node) = open.pop() {
        for next in edges.get(node).into_iter().flat_map(BTreeMap::keys) {
            if seen.insert(next) {
                open.push(next);
            }
        }
    }
    seen
}

/// `src/policy/rule.rs` is `policy::rule`; `lib.rs` and `main.rs` are the root.
fn module_of_file(src: &Path, file: &Path) -> ModulePath {
    let relative = file.strip_prefix(src).unwrap_or(file).with_extension("");
    let names = relative
        .iter()
        .map(|name| name.to_string_lossy().into_owned());
    let mut module: ModulePath = names.collect();
    if matches!(
        module.last().map(String::as_str),
        Some("lib" | "main" | "mod")
    ) {
        module.pop();
    }
    module
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(files: &[(&str, &str)]) -> ModuleGraph {
        let directory = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let file = directory.path().join(name);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, text).unwrap();
        }
        ModuleGraph::read_crate(directory.path()).unwrap()
    }

    /// The first line of each cycle.
    fn cycles(graph: &ModuleGraph) -> Vec<String> {
        let cycles = graph.module_cycles().into_iter().map(|it| it.to_string());
        let heads = cycles.map(|it| it.lines().next().unwrap_or_default().to_owned());
        heads.collect()
    }

    #[test]
    fn siblings_that_use_each_other_are_a_cycle_at_every_level() {
        let found = graph(&[
            ("lib.rs", "mod a; mod b; mod c;"),
            ("a.rs", "use crate::{b::Thing, c};"),
            ("b.rs", "fn f() { crate::c::deep::g() }"),
            ("c.rs", "mod deep; mod flat;"),
            ("c/deep.rs", "use super::flat; use crate::a::{Other, self};"),
            ("c/flat.rs", "pub fn f() -> super::deep::Kind {}"),
        ]);
        assert_eq!(
            cycles(&found),
            ["the crate's root: a, b, c", "`c`: deep, flat"]
        );
    }

    #[test]
    fn parents_and_children_tests_comments_and_strings_make_no_cycle() {
        let found = graph(&[
            ("lib.rs", "mod a; mod b;"),
            ("a.rs", "mod child; use child::One; use crate::b::Two;"),
            ("a/child.rs", "use super::Limit; #[cfg(test)] mod tests;"),
            ("a/child/tests.rs", "use crate::b;"),
            ("b/tests.rs", "use crate::a;"),
            (
                "b.rs",
                "// crate::a::One\nconst A: &str = \"crate::a\"; #[cfg(test)]\nmod inline { use crate::a::One; } #[cfg(test)] mod tests;",
            ),
        ]);
        assert_eq!(cycles(&found), [""; 0]);
    }
}
