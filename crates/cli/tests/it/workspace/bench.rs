//! A workspace with real terminals, and a mark on everything that runs in them.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use lapidary::engine::acp::RpcError;
use lapidary::engine::process::Supervisor;
use lapidary::engine::workspace::{ClientServices, ServicesSetup};
use lapidary::vocab::Json;
pub(super) use lapidary_testkit::patience::HANG as LONG;
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

use crate::run::world::{MARK, Mark};

pub(super) struct Bench {
    pub(super) directory: tempfile::TempDir,
    pub(super) workspace: ClientServices,
    mark: Mark,
}

impl Bench {
    pub(super) fn new() -> Self {
        Self::with(|_| {})
    }

    pub(super) fn with(change: impl FnOnce(&mut ServicesSetup)) -> Self {
        let (directory, mark) = (tempfile::tempdir().unwrap(), Mark::fresh());
        let mut setup = setup(directory.path().to_owned(), mark.value());
        change(&mut setup);
        Self {
            directory,
            workspace: ClientServices::new(setup),
            mark,
        }
    }

    pub(super) fn root(&self) -> PathBuf {
        self.directory.path().canonicalize().unwrap()
    }

    pub(super) async fn ask(&self, method: &str, params: Value) -> Result<Value, RpcError> {
        let params = Json::from_value(&params);
        let answer = self.workspace.serve(method, &params);
        let answer = timeout(LONG, answer).await.expect("it hangs")?;
        Ok(serde_json::from_str(answer.as_str()).unwrap())
    }

    /// Runs a script in a terminal of session `s`, and answers its id.
    pub(super) async fn run(&self, script: &str) -> String {
        self.create(json!({"command": "sh", "args": ["-c", script]}))
            .await
            .unwrap()
    }

    pub(super) async fn create(&self, mut params: Value) -> Result<String, RpcError> {
        params["sessionId"] = json!("s");
        let answer = self.ask("terminal/create", params).await?;
        assert_eq!(answer.as_object().unwrap().len(), 1, "{answer}");
        Ok(answer["terminalId"].as_str().unwrap().to_owned())
    }

    /// Asks about a terminal of session `s`.
    pub(super) async fn about(&self, what: &str, id: &str) -> Result<Value, RpcError> {
        let params = json!({"sessionId": "s", "terminalId": id});
        self.ask(&format!("terminal/{what}"), params).await
    }

    pub(super) async fn wait(&self, id: &str) -> Value {
        self.about("wait_for_exit", id).await.unwrap()
    }

    /// The output of a terminal after its end.
    pub(super) async fn written(&self, id: &str) -> String {
        self.wait(id).await;
        let answer = self.about("output", id).await.unwrap();
        answer["output"].as_str().unwrap().to_owned()
    }

    /// Runs a script and returns its output.
    pub(super) async fn says(&self, script: &str) -> String {
        let id = self.run(script).await;
        self.written(&id).await
    }

    /// Waits until a terminal has written this.
    pub(super) async fn until(&self, id: &str, wanted: &str) {
        let last = Instant::now() + LONG;
        loop {
            let answer = self.about("output", id).await.unwrap();
            if answer["output"].as_str().unwrap().contains(wanted) {
                return;
            }
            assert!(Instant::now() < last, "`{wanted}` never came: {answer}");
            sleep(Duration::from_millis(2)).await;
        }
    }

    /// Drops the workspace. The mark still finds the processes that it has left behind.
    pub(super) fn let_go(self) -> Mark {
        self.mark
    }

    pub(super) fn assert_nothing_is_left(&self) {
        self.mark.assert_nothing_is_left();
    }

    /// The processes of this workspace, supervisors included.
    pub(super) fn processes(&self) -> Vec<(i32, String)> {
        self.mark.processes()
    }
}

/// A workspace whose terminals carry this mark.
pub(super) fn setup(root: PathBuf, mark: &str) -> ServicesSetup {
    let mut setup = ServicesSetup::new([root], Supervisor::at(env!("CARGO_BIN_EXE_lapidary")));
    let path = std::env::var_os("PATH").unwrap();
    setup.environment = vec![("PATH".into(), path), (MARK.into(), mark.into())];
    setup
}
