//! Runs that a program asks for.

use lapidary::directories::surroundings;
use lapidary::prepare::RunSurroundings;
use lapidary::{Cause, Outcome};

#[tokio::test]
async fn the_error_of_a_program_that_does_not_supervise_names_the_missing_call() {
    let folder = tempfile::tempdir().unwrap();
    let vars = [
        ("HOME".into(), folder.path().into()),
        ("PATH".into(), "/bin".into()),
    ];
    let place = RunSurroundings {
        environment: surroundings(vars, folder.path().to_owned()),
        program: "/bin/true".into(), // ends at once, as a program does that never asks whether it is to supervise
    };
    let mut run = lapidary::run("hi")
        .agent("cat")
        .surroundings(place)
        .no_config_files()
        .no_record()
        .start()
        .unwrap();
    let end = run.outcome().await;
    assert_eq!((end.outcome, end.cause), (Outcome::Failed, Cause::Internal));
    let message = end.message.unwrap().to_string();
    assert!(message.contains("supervisor `/bin/true`"), "{message}");
    let hint = end.hint.unwrap();
    assert!(hint.contains("`lapidary::supervise_if_asked`"), "{hint}");
}
