//! Others who hold the vault, or use it at the same time.

use std::fs::{self, File};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use lapidary_sessions::vault::{AddRequest, FlawKind, PruneRequest, Vault, session_files};

use super::chats::{Chats, later, now, session, turn};

const ID: &str = "aaaaaaaa-1111-4111-8111-111111111111";
const A: &str = "session-2026-11-16T04-40-aaaaaaaa.jsonl";

fn impatient(chats: &Chats) -> Vault {
    chats.vault().with_patience(Duration::from_millis(100))
}

/// A prune that was stopped holds the vault for ever. Copies are still taken meanwhile, and a flaw names the held lock.
#[test]
fn a_lock_that_is_held_for_long_is_reported() {
    let chats = Chats::new();
    chats.write(A, &session(ID, &["one"]));
    chats.add(now());
    let lock = chats.vault().dir().join("lock");
    let lock = File::options().write(true).open(lock).unwrap();
    lock.lock().unwrap();
    chats.append(A, &turn("two"));
    let (files, _) = session_files(&chats.dir());
    let request = AddRequest {
        project: &chats.project(),
        files: &files,
        reason: "test",
        now: later(1),
    };
    let added = impatient(&chats).add(&request).unwrap();
    let [flaw] = &added.flaws[..] else {
        panic!("{:?}", added.flaws);
    };
    assert_eq!(flaw.kind, FlawKind::Held);
    let said = flaw.to_string();
    assert!(said.contains("lock` is held by another process"), "{said}");
    let kept = chats.vault().read(&added.snapshot.files[0]).unwrap();
    assert_eq!(kept, fs::read(chats.path(A)).unwrap());
    // Who prunes waits, and says why it does not.
    let error = impatient(&chats).prune(&everything()).unwrap_err();
    let cause = std::error::Error::source(&error).unwrap().to_string();
    assert_eq!(cause, "another process is using it");
}

fn everything() -> PruneRequest {
    PruneRequest {
        older_than: Some(Duration::ZERO),
        max_bytes: Some(0),
        dry_run: false,
        now: later(100),
    }
}

/// What others do while a prune is stopped between deciding and removing.
static OVERTAKES: AtomicBool = AtomicBool::new(false);

/// A prune that goes on after other processes did not wait for it does not know the contents that they need.
#[test]
fn a_prune_that_was_overtaken_removes_nothing_more() {
    let chats = Chats::new();
    chats.write(A, &session(ID, &["one"]));
    chats.add(now());
    // Another content, so that the first may go.
    chats.write(A, &session(ID, &["other"]));
    chats.add(later(1));
    let stopped = chats.vault().on_step(|step| {
        if step == "remove a snapshot" && !OVERTAKES.swap(true, Ordering::SeqCst) {
            let mut path = OVERTAKER.lock().unwrap();
            path.take().expect("it is stopped once")();
        }
    });
    let vault = chats.vault().with_patience(Duration::ZERO);
    let (project, chats_dir) = (chats.project(), chats.dir());
    *OVERTAKER.lock().unwrap() = Some(Box::new(move || {
        // The content that is about to be removed is needed again.
        fs::write(chats_dir.join(A), session(ID, &["one"])).unwrap();
        let (files, _) = session_files(&chats_dir);
        let request = AddRequest {
            project: &project,
            files: &files,
            reason: "test",
            now: later(2),
        };
        vault.add(&request).unwrap();
    }));
    let refused = stopped.prune(&everything());
    assert!(OVERTAKES.load(Ordering::SeqCst), "{refused:?}");
    assert!(refused.is_err(), "{refused:?}");
    let verdict = chats.vault().verify().unwrap();
    assert!(verdict.is_sound(), "{verdict:?}");
    // The next one is alone again.
    chats.vault().prune(&everything()).unwrap();
    assert!(chats.vault().verify().unwrap().is_sound());
    let newest = chats.vault().newest_of(ID).unwrap();
    let kept = chats.vault().read(&newest).unwrap();
    assert_eq!(kept, session(ID, &["one"]).into_bytes());
}

/// A prune keeps the contents that a run may have to put back, while the run lasts and after it was killed.
#[test]
fn a_prune_leaves_what_a_run_may_have_to_put_back() {
    let chats = Chats::new();
    chats.write(A, &session(ID, &["one", "two"]));
    let guard = chats.guard();
    // The CLI cuts the file down, the vault takes a copy of that, and a prune makes room.
    chats.write(A, &session(ID, &["other"]));
    chats.add(later(1));
    chats.vault().prune(&everything()).unwrap();
    let repair = guard.after(later(2)).unwrap();
    let after = chats.read(A);
    for said in ["question one", "question two", "question other"] {
        assert!(after.contains(said), "{said} is lost: {repair:?}");
    }
    // When it is over, nothing keeps the older contents any longer.
    let pruned = chats.vault().prune(&everything()).unwrap();
    assert!(pruned.dropped > 0, "{pruned:?}");
}

type Deed = Box<dyn FnOnce() + Send>;
static OVERTAKER: std::sync::Mutex<Option<Deed>> = std::sync::Mutex::new(None);

/// What grows is folded while others read and verify: neither takes that for damage.
#[test]
fn nothing_seems_damaged_while_others_add_and_prune() {
    let chats = Chats::new();
    chats.write(A, &session(ID, &["one"]));
    let first = chats.add(now());
    let is_over = AtomicBool::new(false);
    let begun = AtomicU64::new(0);
    thread::scope(|scope| {
        let busy = scope.spawn(|| {
            for minute in 1..60 {
                begun.store(minute, Ordering::SeqCst);
                chats.append(A, &turn(&minute.to_string()));
                chats.add(later(minute));
                if minute % 5 == 0 {
                    chats
                        .vault()
                        .prune(&PruneRequest {
                            older_than: None,
                            max_bytes: None,
                            ..everything()
                        })
                        .unwrap();
                }
            }
            is_over.store(true, Ordering::SeqCst);
        });
        let mut seen = 0;
        while !is_over.load(Ordering::SeqCst) && !busy.is_finished() {
            // Once for each addition: a reader without a pause may keep the lock from a prune for longer than that waits.
            if seen == begun.load(Ordering::SeqCst) {
                thread::yield_now();
                continue;
            }
            seen = begun.load(Ordering::SeqCst);
            let verdict = chats.vault().verify().unwrap();
            assert!(verdict.is_sound(), "{verdict:?}");
            let kept = chats.vault().read(&first.snapshot.files[0]).unwrap();
            assert_eq!(kept, session(ID, &["one"]).into_bytes());
        }
    });
}
