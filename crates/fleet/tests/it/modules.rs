//! Checks that `main.rs` declares every test file of this directory.

use std::fs;
use std::path::Path;

#[test]
fn every_file_here_is_a_module() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it");
    let main = fs::read_to_string(folder.join("main.rs")).unwrap();
    for entry in fs::read_dir(folder).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let module = name.trim_end_matches(".rs");
        assert!(
            module == "main" || main.contains(&format!("mod {module};")),
            "tests/it/{name} is not a module of main.rs"
        );
    }
}
