//! Runs that are not recorded, whose files do not stay, and runs of users without a home, whose files other users cannot read.

use std::fs::{self, File};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::time::{Duration, SystemTime};

use lapidary::engine::recording::{Recorder, TIMING};

use super::world::{Told, World, names};

const NOTHING: [&str; 0] = [];

#[test]
fn a_run_that_is_not_recorded_leaves_no_file() {
    let world = World::with_agent("init; say a; success");
    fs::create_dir(world.path("tmp")).unwrap();
    let mut command = world.lapidary(&["run", "--no-record", "go"]);
    command.env("TMPDIR", world.path("tmp"));
    let told = Told::by(command);
    assert_eq!(told.verdict(), ("end_turn", Some(0)));
    assert!(told.end()["extensions"].is_null());
    assert_eq!(names(&world.path("tmp")), NOTHING);
    assert_eq!(names(&world.path("state")), ["unrecorded"]);
    assert_eq!(names(&world.path("state/unrecorded")), NOTHING);
}

#[test]
fn the_next_run_removes_the_temporary_recording_of_a_killed_run() {
    let world = World::with_agent("init; say a; success");
    let root = world.path("state/unrecorded");
    let going_on = Recorder::begin(&root, "going-on").unwrap();
    for name in ["killed", "starting"] {
        drop(Recorder::begin(&root, name).unwrap());
    }
    for name in ["killed", "going-on"] {
        let timing = File::options()
            .write(true)
            .open(root.join(name).join(TIMING));
        let earlier = SystemTime::now() - Duration::from_mins(5);
        timing.unwrap().set_modified(earlier).unwrap();
    }
    assert_eq!(world.run(&["go"]).verdict(), ("end_turn", Some(0)));
    assert_eq!(names(&root), ["going-on", "starting"]);
    drop(going_on);
    assert_eq!(
        world.run(&["--no-record", "go"]).verdict(),
        ("end_turn", Some(0))
    );
    assert_eq!(names(&root), ["starting"]);
}

#[test]
fn without_a_home_recordings_are_private_all_the_same() {
    let world = World::with_agent("init; say a; success");
    fs::create_dir(world.path("tmp")).unwrap();
    assert_eq!(homeless(&world).verdict(), ("end_turn", Some(0)));
    let name = format!("lapidary-{}", rustix::process::geteuid().as_raw());
    assert_eq!(names(&world.path("tmp")), [name.as_str()]);
    let directory = world.path("tmp").join(name);
    let mode = fs::metadata(&directory).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);

    // Another user may have created the directory first: open to all, or as a link.
    fs::set_permissions(&directory, fs::Permissions::from_mode(0o777)).unwrap();
    refused(&world);
    fs::rename(&directory, world.path("theirs")).unwrap();
    symlink(world.path("theirs"), &directory).unwrap();
    refused(&world);
}

/// Runs for a user without a home.
fn homeless(world: &World) -> Told {
    let mut command = world.lapidary(&["run", "go"]);
    command.env("TMPDIR", world.path("tmp"));
    command.env_remove("HOME").env_remove("LAPIDARY_STATE_DIR");
    Told::by(command)
}

#[track_caller]
fn refused(world: &World) {
    let told = homeless(world);
    assert_eq!(told.verdict(), ("internal", Some(1)));
    assert!(
        told.message()
            .ends_with("it is not a directory of ours alone"),
        "{told:?}"
    );
    let hint = "set LAPIDARY_STATE_DIR to a directory of your own";
    assert_eq!(told.end()["hint"], hint);
}
