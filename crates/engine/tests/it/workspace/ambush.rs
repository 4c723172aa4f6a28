//! Links that are swapped between a look and the next.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use lapidary_testkit::patience::HANG;
use lapidary_vocab::Json;
use serde_json::json;

use super::desk::{Desk, SECRET};

/// Code without care for links reaches the folder outside within a tenth of these tries.
const TRIES: u32 = 500;

/// A thread that swaps the entry at a path until `stop` is set: a folder of ours, or a link to the one outside.
struct Swapper {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<u64>>,
}

impl Swapper {
    fn at(desk: &Desk, honest: impl Fn(&PathBuf) + Send + 'static, target: &str) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let (path, new, target) = (
            desk.path("root/spot"),
            desk.path("root/new"),
            desk.text(target),
        );
        let told = Arc::clone(&stop);
        let thread = thread::spawn(move || {
            let mut swaps = 0;
            while !told.load(Ordering::Relaxed) {
                symlink(&target, &new).unwrap();
                let _ = fs::remove_dir_all(&path);
                let _ = fs::rename(&new, &path);
                let _ = fs::remove_file(&new);
                let _ = fs::remove_file(&path);
                honest(&path);
                swaps += 1;
            }
            swaps
        });
        Self {
            stop,
            thread: Some(thread),
        }
    }

    fn stop(mut self) -> u64 {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().unwrap().join().unwrap()
    }
}

/// The results of the tries.
#[derive(Debug, Default)]
struct Score {
    read: u32,
    written: u32,
    refused: u32,
}

/// Reads and writes there often enough, and until everything has happened: disks can be slow.
async fn dare(desk: &Desk, name: &str, is_all: impl Fn(&Score) -> bool) -> Score {
    let mut score = Score::default();
    let started = Instant::now();
    let mut tries = 0;
    while (tries < TRIES || !is_all(&score)) && started.elapsed() < HANG {
        tries += 1;
        if let Ok(text) = desk.read(name).await {
            assert!(!text.contains(SECRET), "it read what is outside");
            score.read += u32::from(!text.is_empty());
        }
        match desk.write(name, "mine").await {
            Ok(()) => score.written += 1,
            Err(_) => score.refused += 1,
        }
    }
    score
}

#[tokio::test]
async fn a_folder_that_becomes_a_link_leads_nowhere() {
    let desk = Desk::new();
    let folder = |path: &PathBuf| {
        let _ = fs::create_dir(path);
        let _ = fs::write(path.join("secret"), "inside");
    };
    let swapper = Swapper::at(&desk, folder, "outside");
    let is_all = |it: &Score| it.read > 0 && it.written > 0 && it.refused > 0;
    let score = dare(&desk, "root/spot/secret", is_all).await;
    let swaps = swapper.stop();
    desk.assert_outside_is_untouched();
    let &Score {
        read,
        written,
        refused,
    } = &score;
    assert!(
        read > 0 && written > 0 && refused > 0 && swaps > 10,
        "{score:?} {swaps}"
    );
}

#[tokio::test]
async fn a_file_that_becomes_a_link_leads_nowhere() {
    let desk = Desk::new();
    let file = |path: &PathBuf| drop(fs::write(path, "inside"));
    let swapper = Swapper::at(&desk, file, "outside/secret");
    let is_all = |it: &Score| it.written > 0 && it.refused > 0;
    let score = dare(&desk, "root/spot", is_all).await;
    let swaps = swapper.stop();
    desk.assert_outside_is_untouched();
    assert!(
        score.written > 0 && score.refused > 0 && swaps > 10,
        "{score:?} {swaps}"
    );
}

#[tokio::test]
async fn a_file_that_becomes_a_folder_stays_one_and_nothing_half_done_is_left() {
    let desk = Desk::new();
    let folder = |path: &PathBuf| drop(fs::create_dir(path));
    let swapper = Swapper::at(&desk, folder, "outside/secret");
    let is_all = |it: &Score| it.written > 0 && it.refused > 0;
    let score = dare(&desk, "root/spot", is_all).await;
    let swaps = swapper.stop();
    desk.assert_outside_is_untouched();
    assert!(
        score.written > 0 && score.refused > 0 && swaps > 10,
        "{score:?} {swaps}"
    );
    let names = fs::read_dir(desk.path("root")).unwrap().flatten();
    let names: Vec<_> = names.map(|entry| entry.file_name()).collect();
    assert!(names.is_empty() || names == ["spot"], "{names:?}");
}

#[tokio::test]
async fn a_file_request_is_refused_if_its_target_changed_after_permission() {
    let desk = Desk::new();
    fs::write(desk.path("root/harmless"), "harmless").unwrap();
    fs::write(desk.path("root/precious"), "precious").unwrap();
    desk.link("root/link", "harmless");
    let params = Json::from_value(&json!({"path": desk.text("root/link"), "content": "x"}));
    for method in ["fs/read_text_file", "fs/write_text_file"] {
        let action = desk.workspace.action(method, &params).unwrap();
        fs::remove_file(desk.path("root/link")).unwrap();
        desk.link("root/link", "precious");
        let refused = desk
            .workspace
            .serve_as(method, &params, action.as_ref())
            .await;
        let words = refused.unwrap_err().message.to_str().into_owned();
        assert!(words.contains("has changed"), "{words}");
        fs::remove_file(desk.path("root/link")).unwrap();
        desk.link("root/link", "harmless");
        desk.workspace
            .serve_as(method, &params, action.as_ref())
            .await
            .unwrap();
        // Without an allowed action, the request is refused.
        desk.workspace
            .serve_as(method, &params, None)
            .await
            .unwrap_err();
    }
    assert_eq!(
        fs::read_to_string(desk.path("root/precious")).unwrap(),
        "precious"
    );
    assert_eq!(fs::read_to_string(desk.path("root/harmless")).unwrap(), "x");
}
