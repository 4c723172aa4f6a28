//! Many at once, on the same files.

use std::fs;
use std::sync::Barrier;
use std::thread;
use std::time::Duration;

use lapidary_sessions::vault::PruneRequest;

use super::chats::{Chats, later, session, turn};

fn name(n: usize) -> String {
    format!("session-2026-11-16T04-40-{n:08}.jsonl")
}

#[test]
fn twenty_at_once_add_prune_and_read_the_same_files() {
    let chats = Chats::new();
    for n in 0..30 {
        chats.write(&name(n), &session(&n.to_string(), &["one"]));
    }
    let barrier = Barrier::new(20);
    thread::scope(|scope| {
        for n in 0..20_usize {
            let (chats, barrier) = (&chats, &barrier);
            scope.spawn(move || {
                barrier.wait();
                for round in 0..5 {
                    match n % 5 {
                        0 => {
                            let request = PruneRequest {
                                older_than: Some(Duration::ZERO),
                                max_bytes: Some(0),
                                dry_run: false,
                                now: later(100),
                            };
                            chats.vault().prune(&request).unwrap();
                        }
                        1 => chats.append(&name(n), &turn(&format!("{n}-{round}"))),
                        _ => {
                            let added = chats.add(later(round));
                            assert_eq!(added.snapshot.files.len(), 30);
                        }
                    }
                }
            });
        }
    });
    let last = chats.add(later(50));
    let verdict = chats.vault().verify().unwrap();
    assert!(
        verdict.is_sound() && verdict.temporary.is_empty(),
        "{verdict:?}"
    );
    for entry in &last.snapshot.files {
        let kept = chats.vault().read(entry).unwrap();
        assert_eq!(kept, fs::read(chats.project().join(&entry.path)).unwrap());
    }
}

#[test]
fn many_guards_at_once_lose_nothing() {
    let chats = Chats::new();
    for n in 0..10 {
        chats.write(&name(n), &session(&n.to_string(), &["one"]));
    }
    let barrier = Barrier::new(10);
    thread::scope(|scope| {
        for n in 0..10_usize {
            let (chats, barrier) = (&chats, &barrier);
            scope.spawn(move || {
                let guard = chats.guard();
                barrier.wait();
                if n % 2 == 0 {
                    fs::remove_file(chats.path(&name(n))).unwrap();
                } else {
                    chats.append(&name(n), &turn("two"));
                }
                barrier.wait();
                guard.after(later(1)).unwrap();
            });
        }
    });
    for n in 0..10 {
        let turns: &[&str] = if n % 2 == 0 {
            &["one"]
        } else {
            &["one", "two"]
        };
        assert_eq!(chats.read(&name(n)), session(&n.to_string(), turns), "{n}");
    }
}
