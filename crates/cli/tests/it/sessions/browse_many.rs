//! Five thousand sessions, and no pause.

use std::fs;
use std::time::Duration;

use super::browse::{DOWN, Home, LEAVE};
use super::pty::Pty;

const COUNT: u32 = 5000;

fn many() -> Home {
    let home = Home::new();
    let padding = "words that nobody reads ".repeat(40);
    for number in 1..=COUNT {
        let said = format!("Message of session {number}. {padding}");
        let needle = if number % 1000 == 0 { "needle" } else { "hay" };
        home.session(
            number,
            Some(&format!("Session number {number}")),
            &[&said, needle],
        );
    }
    home
}

/// CPU time of a process so far.
fn cpu(pid: u32) -> Duration {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let fields: Vec<_> = stat.rsplit(") ").next().unwrap().split(' ').collect();
    let ticks: u64 = fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap();
    Duration::from_millis(ticks * 10) // a tick is 10 ms wherever Linux runs
}

/// How many bytes a process has read so far.
fn read_so_far(pid: u32) -> u64 {
    let io = fs::read_to_string(format!("/proc/{pid}/io")).unwrap();
    let line = io.lines().find_map(|line| line.strip_prefix("rchar: "));
    line.unwrap().parse().unwrap()
}

#[test]
fn five_thousand_sessions_are_moved_through_and_searched_without_a_pause() {
    let home = many();
    let mut pty = home.browse();
    pty.wait_for("5000 sessions · newest first");
    pty.settle();
    let (cpu_before, read_before) = (cpu(pty.pid), read_so_far(pty.pid));
    for row in 1..=200 {
        pty.type_in(DOWN);
        let number = COUNT - row;
        pty.wait("the cursor is there", |screen| {
            screen.contains(&format!("> {number} "))
        });
    }
    pty.settle();
    let (cpu, read) = (
        cpu(pty.pid).saturating_sub(cpu_before),
        read_so_far(pty.pid) - read_before,
    );
    // Much more than it takes, but less than reading a list of 5,000 files for each key would.
    assert!(cpu < Duration::from_secs(6), "{cpu:?} of CPU for 200 keys");
    assert!(
        read < 2_000_000,
        "{read} bytes for 200 previews: nothing is listed anew"
    );
    search(&mut pty);
    idle(&mut pty);
    pty.type_in("\u{1b}");
    pty.wait_for("5000 sessions");
    pty.type_in(LEAVE);
    assert!(pty.ended().is_cooked);
}

fn search(pty: &mut Pty) {
    pty.type_in("\u{1b}[Hnumber 4321");
    pty.wait_for("  1 of 5000 · ");
    pty.type_in("\u{15}needle");
    let screen = pty.wait_for("  5 of 5000 · ");
    assert!(
        screen.contains("Session number 5000") && screen.contains("Session number 1000"),
        "{screen}"
    );
}

/// Nothing happens while nothing happens.
fn idle(pty: &mut Pty) {
    pty.wait("the search is over", |screen| !screen.contains("searching"));
    pty.settle();
    let (before, shown) = (cpu(pty.pid), pty.bytes.len());
    std::thread::sleep(Duration::from_secs(2));
    pty.screen();
    let spent = cpu(pty.pid).saturating_sub(before);
    assert!(
        spent <= Duration::from_millis(50),
        "{spent:?} in two idle seconds"
    );
    assert_eq!(pty.bytes.len(), shown, "and nothing is drawn");
}

#[test]
fn browse_can_be_left_before_the_list_is_read() {
    let home = many();
    let mut pty = home.browse();
    pty.wait_for("Sessions");
    pty.type_in(LEAVE);
    assert_eq!(pty.ended().code, 0);
}
