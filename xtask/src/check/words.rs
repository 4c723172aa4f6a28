//! The language of the crates in figures: names that cannot be searched for, and comments without a subject.
//!
//! `docs/STYLE.md` has the rules. Two of them are checked: a public type name occurs once in a crate, and a function called `is_…`,
//! `has_…` or `can_…` returns `bool` and changes nothing. The other figures inform.

mod names;
mod prose;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};

use self::names::{DeclaredFunction, DeclaredType};
use self::prose::ProseCounts;
use super::source_text;

/// Names that every command or module may have once more.
const SHARED_ON_PURPOSE: [&str; 2] = ["Args", "Error"];

/// Modules and folders for another system: their types have the names of their twins for Unix.
const TWINS: [&str; 3] = ["windows", "windows.rs", "other.rs"];

/// Names and prose of one crate.
#[derive(Debug)]
struct CrateWords {
    name: String,
    types: Vec<DeclaredType>,
    functions: Vec<DeclaredFunction>,
    /// Functions marked as tests, below `src` and `tests`.
    tests: Vec<String>,
    prose: ProseCounts,
    lines: usize,
}

/// Prints the report for the crates of a workspace, and fails for a duplicate type name or a false predicate.
pub(crate) fn check(root: &Path) -> Result<()> {
    let crates = print_crates(root)?;
    let mut problems = Vec::new();
    for words in &crates {
        let duplicates = words.duplicate_types();
        if !duplicates.is_empty() {
            problems.push(format!(
                "{}: type names that occur twice: {}",
                words.name,
                duplicates.join(", ")
            ));
        }
        let wrong = words.false_predicates();
        if !wrong.is_empty() {
            problems.push(format!(
                "{}: predicates that change something or return no bool: {}",
                words.name,
                wrong.join(", ")
            ));
        }
    }
    ensure!(problems.is_empty(), "{}", problems.join("\n"));
    Ok(())
}

/// Prints the report for every crate below `root`.
pub(crate) fn print_words_report(root: &Path) -> Result<()> {
    print_crates(root).map(drop)
}

fn print_crates(root: &Path) -> Result<Vec<CrateWords>> {
    let mut crates = Vec::new();
    for directory in crate_directories(root)? {
        crates.push(CrateWords::read_crate(&directory)?);
    }
    let shared = shared_names(&crates);
    println!(
        "{:<22} {:>6} {:>8} {:>6} {:>7} {:>6} {:>8} {:>4} {:>6} {:>6} {:>7} {:>6} {:>5} {:>5}",
        "crate",
        "types",
        "one-word",
        "twice",
        "shared",
        "fns",
        "one-word",
        "of",
        "is_≠b",
        "words",
        "vague‰",
        "rel‰",
        "//%",
        "tests"
    );
    for words in &crates {
        println!("{}", words.table_row(&shared));
    }
    if crates.len() > 1 {
        println!("{}", total_words(&crates).table_row(&shared));
    }
    Ok(crates)
}

/// The directories with a `src` at the root, in `crates`, or right below the root.
fn crate_directories(root: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for parent in [root.to_owned(), root.join("crates")] {
        let Ok(entries) = std::fs::read_dir(&parent) else {
            continue;
        };
        for entry in entries {
            let directory = entry.context("cannot list the crates")?.path();
            if directory.join("src").is_dir() && directory.join("Cargo.toml").is_file() {
                found.push(directory);
            }
        }
    }
    found.sort();
    Ok(found)
}

/// How many types of all crates have each name.
fn shared_names(crates: &[CrateWords]) -> BTreeMap<String, usize> {
    let mut shared = BTreeMap::new();
    for declared in crates.iter().flat_map(|it| &it.types) {
        *shared.entry(declared.name.clone()).or_default() += 1;
    }
    shared
}

fn total_words(crates: &[CrateWords]) -> CrateWords {
    let mut all = CrateWords {
        name: "all".to_owned(),
        types: Vec::new(),
        functions: Vec::new(),
        tests: Vec::new(),
        prose: ProseCounts::default(),
        lines: 0,
    };
    for words in crates {
        all.types.extend(words.types.iter().cloned());
        all.functions.extend(words.functions.iter().cloned());
        all.tests.extend(words.tests.iter().cloned());
        all.lines += words.lines;
        all.prose.words += words.prose.words;
        all.prose.vague += words.prose.vague;
        all.prose.free_relatives += words.prose.free_relatives;
        all.prose.line_comments += words.prose.line_comments;
    }
    all
}

impl CrateWords {
    /// Reads the crate in a directory. Types of [`TWINS`] are left out.
    fn read_crate(directory: &Path) -> Result<Self> {
        let name = directory.file_name().unwrap_or_default();
        let mut words = Self {
            name: name.display().to_string(),
            types: Vec::new(),
            functions: Vec::new(),
            tests: Vec::new(),
            prose: ProseCounts::default(),
            lines: 0,
        };
        for (file, text) in source_texts(&directory.join("src"))? {
            let found = names::read_declarations(&text, false);
            let is_twin = file.iter().any(|it| TWINS.iter().any(|twin| it == *twin));
            if !is_twin {
                words.types.extend(found.types);
            }
            words.functions.extend(found.functions);
            words.add_tests(&text);
            words.prose.add_comments(&names::source_comments(&text));
            words.lines += text.lines().count();
        }
        for (_, text) in source_texts(&directory.join("tests"))? {
            words.add_tests(&text);
        }
        Ok(words)
    }

    fn add_tests(&mut self, text: &str) {
        let functions = names::read_declarations(text, true).functions.into_iter();
        let tests = functions.filter(|it| it.is_test).map(|it| it.name);
        self.tests.extend(tests);
    }

    /// Public type names that occur more than once.
    fn duplicate_types(&self) -> Vec<&str> {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for declared in self.types.iter().filter(|it| it.is_public) {
            *counts.entry(&declared.name).or_default() += 1;
        }
        let twice = counts.into_iter().filter(|(_, count)| *count > 1);
        let names = twice.map(|(name, _)| name);
        names.filter(|it| !SHARED_ON_PURPOSE.contains(it)).collect()
    }

    fn false_predicates(&self) -> Vec<&str> {
        let wrong = self.functions.iter().filter(|it| it.is_false_predicate());
        wrong.map(|it| &*it.name).collect()
    }

    fn table_row(&self, shared: &BTreeMap<String, usize>) -> String {
        let one_word = self
            .types
            .iter()
            .filter(|it| names::is_one_word_type(&it.name));
        let is_shared = |it: &&DeclaredType| shared.get(&it.name).is_some_and(|count| *count > 1);
        let functions = self.functions.iter().map(|it| it.name.as_str());
        let short = functions
            .clone()
            .filter(|it| names::is_one_word_function(it));
        format!(
            "{:<22} {:>6} {:>7}% {:>6} {:>6}% {:>6} {:>7}% {:>4} {:>6} {:>6} {:>7.2} {:>6.2} {:>5.1} {:>5}",
            self.name,
            self.types.len(),
            rounded_percent(one_word.count(), self.types.len()),
            self.duplicate_types().len(),
            rounded_percent(
                self.types.iter().filter(is_shared).count(),
                self.types.len()
            ),
            self.functions.len(),
            rounded_percent(short.count(), self.functions.len()),
            functions.filter(|it| *it == "of").count(),
            self.false_predicates().len(),
            self.prose.words,
            self.prose.per_thousand(self.prose.vague),
            self.prose.per_thousand(self.prose.free_relatives),
            percent_exact(self.prose.line_comments, self.lines),
            self.tests.iter().filter(|it| leans_on_context(it)).count(),
        )
    }
}

/// True for the name of a test that only makes sense below the test before it: `so_does_a_terminal`, `it_was_stopped`.
fn leans_on_context(name: &str) -> bool {
    let starts = [
        "so_",
        "it_",
        "nor_",
        "but_",
        "then_",
        "what_",
        "who_",
        "they_",
        "neither_",
        "otherwise_",
    ];
    let vague = [
        "whoever",
        "whatever",
        "somebody",
        "anybody",
        "nobody",
        "anything",
        "something",
        "somewhere",
        "elsewhere",
    ];
    starts.iter().any(|it| name.starts_with(it)) || name.split('_').any(|it| vague.contains(&it))
}

fn source_texts(directory: &Path) -> Result<Vec<(PathBuf, String)>> {
    let mut files = Vec::new();
    if directory.is_dir() {
        source_text::rust_files(directory, &mut files)?;
    }
    let read = files.into_iter().map(|file| {
        let text = std::fs::read_to_string(&file)
            .with_context(|| format!("cannot read `{}`", file.display()))?;
        Ok((file, text))
    });
    read.collect()
}

fn rounded_percent(part: usize, whole: usize) -> usize {
    (part * 100 + whole / 2) / whole.max(1)
}

#[expect(clippy::cast_precision_loss, reason = "lines of one workspace")]
fn percent_exact(part: usize, whole: usize) -> f64 {
    part as f64 * 100.0 / whole.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> CrateWords {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join("src")).unwrap();
        std::fs::write(directory.path().join("src/lib.rs"), text).unwrap();
        CrateWords::read_crate(directory.path()).unwrap()
    }

    #[test]
    fn a_public_type_name_that_occurs_twice_is_found_and_args_are_not() {
        let text = "pub struct Place; mod a { pub(crate) enum Place {} struct Kind; pub struct Args; } \
                    mod b { struct Kind; pub struct Args; }";
        assert_eq!(words(text).duplicate_types(), ["Place"]);
    }

    #[test]
    fn test_names_that_lean_on_their_neighbours_are_counted() {
        assert!(leans_on_context("so_does_a_terminal"));
        assert!(leans_on_context("a_line_that_nobody_reads"));
        assert!(!leans_on_context("a_refused_write_is_a_failed_call"));
    }
}
