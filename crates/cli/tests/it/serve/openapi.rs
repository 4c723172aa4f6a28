//! The `OpenAPI` document in the hands of others: a validator, and a client that is generated from it.

use std::fs;
use std::process::Command;

use lapidary_testkit::gemini::peers_beside;

use super::http::TestServer;
use crate::support::{output, program, root};

fn run(command: Command, input: &[u8]) -> String {
    let ran = output(command, input);
    let (told, complaint) = (&ran.stdout, &ran.stderr);
    let told = String::from_utf8_lossy(told).into_owned();
    let complaint = String::from_utf8_lossy(complaint);
    assert!(ran.status.success(), "{told}{complaint}");
    told
}

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs a validator from PyPI: `cargo xtask test` installs it"
)]
fn a_validator_accepts_the_openapi_document() {
    let server = TestServer::start(&[]);
    let document = server.get("/openapi.json");
    let mut validate = program("python3");
    validate
        .arg(root().join("peers/openapi/validate.py"))
        .env("PYTHONPATH", peers_beside("peers-openapi-python"));
    let told = run(validate, &document.body);
    let paths = document.json()["paths"].as_object().unwrap().len();
    assert_eq!(told, format!("3.1.0 {paths}\n"));
}

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs a generator from npm: `cargo xtask test` installs it"
)]
fn a_client_that_is_generated_from_the_document_starts_and_lists_runs() {
    let server = TestServer::start(&[]);
    let directory = tempfile::tempdir().unwrap();
    let file = |name: &str| directory.path().join(name);
    fs::write(file("document.json"), server.get("/openapi.json").body).unwrap();
    fs::copy(
        root().join("peers/openapi/list_runs.mts"),
        file("list_runs.mts"),
    )
    .unwrap();
    let modules = peers_beside("peers-openapi").join("node_modules");
    std::os::unix::fs::symlink(&modules, file("node_modules")).unwrap();
    let node = |script: &str, args: &[&str]| {
        let mut node = program("node");
        node.arg(modules.join(script))
            .args(args)
            .current_dir(directory.path());
        node
    };
    let generator = "openapi-typescript/bin/cli.js";
    run(node(generator, &["document.json", "-o", "api.d.ts"]), b"");
    let options = [
        "--strict",
        "--target",
        "es2022",
        "--module",
        "nodenext",
        "--skipLibCheck",
    ];
    let compile = [&options[..], &["list_runs.mts"]].concat();
    run(node("typescript/bin/tsc", &compile), b"");
    let mut client = program("node");
    let url = format!("http://{}", server.host);
    client
        .arg(file("list_runs.mjs"))
        .args([&url, &server.token]);
    let told = run(client, b"");
    assert!(told.ends_with(" running\n"), "{told}");
}
