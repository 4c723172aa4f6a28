//! Many processes at once in the same home.

use std::process::{Output, Stdio};

use super::home::Home;
use crate::support::ended;

/// How many processes.
const MANY: usize = 120;

#[test]
fn a_hundred_processes_list_search_index_and_vault_without_an_error() {
    let home = Home::new();
    for number in 0..30 {
        let said = format!(r#"{{"id":"1","type":"user","content":"a zebra and {number} gnus"}}"#);
        home.session(&format!("many-{number}"), &[&said]);
    }
    let verbs: [&[&str]; 4] = [
        &["list"],
        &["search", "zebra", "-n", "99"],
        &["search", "\"zebra and\" gnus", "-n", "99"],
        &["index", "--status"],
    ];
    let alone: Vec<_> = verbs.iter().map(|verb| home.ran(verb)).collect();
    let children: Vec<_> = (0..MANY)
        .map(|number| {
            let verb: &[&str] = match number % 8 {
                0 => &["index"],
                1 if number % 3 == 0 => &["index", "--rebuild"],
                2 if number % 5 == 0 => &["index", "--drop"],
                3 => &["vault", "add", "--all"],
                4 if number % 3 == 0 => &["vault", "verify"],
                4 => &["stats"],
                other => verbs[other % 3],
            };
            let mut command = home.command(verb);
            command
                .stdin(Stdio::null())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped());
            (verb, command.spawn().unwrap())
        })
        .collect();
    for (verb, child) in children {
        let Output {
            status,
            stdout,
            stderr,
        } = ended(child);
        let (stdout, stderr) = (
            String::from_utf8(stdout).unwrap(),
            String::from_utf8(stderr).unwrap(),
        );
        assert_eq!(status.code(), Some(0), "{verb:?}: {stdout}{stderr}");
        if let Some(place) = verbs.iter().position(|known| *known == verb) {
            assert_eq!(stdout, alone[place].stdout, "{verb:?}");
        }
        assert!(!stderr.contains("warning"), "{verb:?}: {stderr}");
    }
    // Afterwards the vault is intact and complete, and the index gives the same answers as before.
    let verified = home.ran(&["vault", "verify"]);
    assert_eq!(verified.code, Some(0), "{verified:?}");
    let kept = home.ran(&["vault", "log", "--session", "many-29"]);
    assert!(kept.stdout.contains("many-29"), "{kept:?}");
    home.ran(&["index"]);
    let status = home.ran(&["index", "--status"]);
    assert!(status.stdout.contains("32 of 32 files"), "{status:?}");
    for (verb, alone) in verbs.iter().zip(&alone).take(3) {
        assert_eq!(home.ran(verb), *alone);
    }
}
