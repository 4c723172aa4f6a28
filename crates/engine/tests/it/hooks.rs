//! Hooks that run: their input, the effect of their output, and the end of hooks that hang.

mod faults;
mod ordinary;
mod surroundings;
mod ways;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use lapidary_engine::hooks::{HookContext, HookResults, fire};
use lapidary_engine::process::marked;
use lapidary_gemini::hooks::{Hook, HookEvent, HookPlan, HookSource, RunOrder};
use lapidary_testkit::patience::HANG;
use lapidary_wire::gemini::hooks::{EventDetails, HookInput, HookToolCall};
use serde_json::json;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

/// What every process of a test has in its environment.
const MARK: &str = "LAPIDARY_HOOK_TEST";

/// A project in which hooks run.
struct Scene {
    folder: TempDir,
    mark: String,
}

impl Scene {
    fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        Self {
            folder: tempfile::tempdir().unwrap(),
            mark: format!("{}-{count}", std::process::id()),
        }
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn around(&self) -> HookContext {
        let path = std::env::var_os("PATH").unwrap();
        let variables: [(OsString, OsString); 3] = [
            ("PATH".into(), path),
            ("INHERITED".into(), "yes".into()),
            (MARK.into(), self.mark.clone().into()),
        ];
        HookContext {
            cwd: self.path().to_owned(),
            session_id: "session 1".to_owned(),
            transcript_path: "/t.jsonl".to_owned(),
            plans_dir: PathBuf::from("/plans"),
            variables: variables.to_vec(),
            is_trusted: true,
            ..HookContext::default()
        }
    }

    /// Fires these hooks, all at once.
    async fn fire(&self, hooks: Vec<Hook>) -> HookResults {
        let plan = HookPlan {
            hooks,
            ..HookPlan::default()
        };
        self.fire_plan(&plan, self.call()).await
    }

    /// Fires these hooks, one after the other.
    async fn fire_in_turn(&self, hooks: Vec<Hook>, input: HookInput) -> HookResults {
        let plan = HookPlan {
            hooks,
            order: RunOrder::Sequential,
            ..HookPlan::default()
        };
        self.fire_plan(&plan, input).await
    }

    async fn fire_plan(&self, plan: &HookPlan, input: HookInput) -> HookResults {
        fire(plan, input, &self.around(), &CancellationToken::new()).await
    }

    /// The input of a hook before a file is read.
    fn call(&self) -> HookInput {
        self.around().input(EventDetails::BeforeTool(HookToolCall {
            name: "read_file".to_owned(),
            input: json!({"file_path": "a.txt"}),
            ..HookToolCall::default()
        }))
    }

    /// How many processes of this test there are.
    fn alive(&self) -> usize {
        marked(MARK, &self.mark).len()
    }

    /// Waits until there are some.
    async fn until_alive(&self, least: usize) {
        let deadline = Instant::now() + HANG;
        while self.alive() < least {
            assert!(Instant::now() < deadline, "they do not start");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

/// A hook that may take as long as it likes.
fn hook(command: &str) -> Hook {
    Hook {
        event: HookEvent::BeforeTool,
        name: None,
        description: None,
        command: command.to_owned(),
        timeout: None,
        env: BTreeMap::new(),
        fail_open: false,
        matcher: None,
        sequential: false,
        source: HookSource::Project,
        scope: None,
        origin: PathBuf::from("settings.json"),
        place: Vec::new(),
    }
}

/// A hook with a deadline.
fn hasty(command: &str, timeout: Duration) -> Hook {
    Hook {
        timeout: Some(timeout),
        ..hook(command)
    }
}
