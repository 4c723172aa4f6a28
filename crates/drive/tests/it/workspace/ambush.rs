//! Links that are swapped between a look and the next.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use lapidary_vocab::Json;
use serde_json::json;

use super::desk::{Desk, SECRET};

/// Without care for links, what is outside is reached in a tenth of this.
const LONG_ENOUGH: Duration = Duration::from_secs(1);

/// Somebody who swaps what is at a path until told to stop: a folder of ours, or a link to the one outside.
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

#[tokio::test]
async fn a_folder_that_becomes_a_link_leads_nowhere() {
    let desk = Desk::new();
    let folder = |path: &PathBuf| {
        let _ = fs::create_dir(path);
        let _ = fs::write(path.join("secret"), "inside");
    };
    let swapper = Swapper::at(&desk, folder, "outside");
    let (mut read, mut written) = (0, 0);
    let last = Instant::now() + LONG_ENOUGH;
    while Instant::now() < last {
        if let Ok(text) = desk.read("root/spot/secret").await {
            assert!(!text.contains(SECRET), "it read what is outside");
            read += 1;
        }
        written += u32::from(desk.write("root/spot/secret", "mine").await.is_ok());
    }
    let swaps = swapper.stop();
    desk.assert_outside_is_untouched();
    assert!(
        read > 0 && written > 0 && swaps > 100,
        "{read} {written} {swaps}"
    );
}

#[tokio::test]
async fn a_file_that_becomes_a_link_leads_nowhere() {
    let desk = Desk::new();
    let file = |path: &PathBuf| drop(fs::write(path, "inside"));
    let swapper = Swapper::at(&desk, file, "outside/secret");
    let last = Instant::now() + LONG_ENOUGH;
    while Instant::now() < last {
        if let Ok(text) = desk.read("root/spot").await {
            assert!(!text.contains(SECRET), "it read what is outside");
        }
        let _ = desk.write("root/spot", "mine").await;
    }
    assert!(swapper.stop() > 100);
    desk.assert_outside_is_untouched();
}

#[tokio::test]
async fn what_was_allowed_is_done_or_nothing() {
    let desk = Desk::new();
    fs::write(desk.path("root/harmless"), "harmless").unwrap();
    fs::write(desk.path("root/precious"), "precious").unwrap();
    desk.link("root/link", "harmless");
    let params = Json::from_value(&json!({"path": desk.text("root/link"), "content": "x"}));
    for method in ["fs/read_text_file", "fs/write_text_file"] {
        let deed = desk.workspace.deed(method, &params).unwrap();
        fs::remove_file(desk.path("root/link")).unwrap();
        desk.link("root/link", "precious");
        let refused = desk
            .workspace
            .serve_as(method, &params, deed.as_ref())
            .await;
        let words = refused.unwrap_err().message.to_str().into_owned();
        assert!(words.contains("has changed"), "{words}");
        fs::remove_file(desk.path("root/link")).unwrap();
        desk.link("root/link", "harmless");
        desk.workspace
            .serve_as(method, &params, deed.as_ref())
            .await
            .unwrap();
        // Nobody allowed it at all.
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
