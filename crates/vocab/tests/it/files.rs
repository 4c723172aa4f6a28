//! The files in `schemas/`, and the types of the clients.

use std::fs;
use std::path::Path;

use lapidary_vocab::schema::{PUBLISHED, TYPESCRIPT, generate, typescript};

#[test]
fn the_committed_schemas_are_what_the_types_say() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas");
    let expected = generate::files();
    for (name, text) in &expected {
        let committed = fs::read_to_string(folder.join(name)).unwrap_or_default();
        assert!(
            committed == *text,
            "schemas/{name} is stale: run `cargo xtask schemas` and look at the difference"
        );
    }
    for entry in fs::read_dir(folder).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(
            expected.iter().any(|(known, _)| *known == name),
            "schemas/{name} belongs to no published schema: run `cargo xtask schemas`"
        );
    }
}

#[test]
fn the_types_of_the_clients_are_what_the_schemas_say() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for (path, text) in generate::client_files() {
        let committed = fs::read_to_string(root.join(path)).unwrap();
        assert!(
            committed == text,
            "{path} is stale: run `cargo xtask schemas` and look at the difference"
        );
    }
}

#[test]
fn the_typescript_module_is_the_same_each_time_and_declares_each_name_once() {
    let module = typescript::declarations();
    assert_eq!(module, typescript::declarations());
    let mut names: Vec<_> = module
        .lines()
        .filter_map(|line| line.strip_prefix("export ")?.split(' ').nth(1))
        .collect();
    let declared = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), declared);
}

#[test]
fn the_program_carries_the_schemas_that_the_types_describe() {
    for published in PUBLISHED {
        assert_eq!(
            published.schema(),
            published.generated(),
            "{}",
            published.name
        );
        assert_eq!(published.text, format!("{:#}\n", published.schema()));
    }
    assert!(TYPESCRIPT == typescript::declarations());
}
