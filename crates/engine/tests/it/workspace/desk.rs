//! A workspace in a directory of its own, with files outside that no request may touch.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use lapidary_engine::acp::RpcError;
use lapidary_engine::process::Supervisor;
use lapidary_engine::workspace::{ClientServices, ServicesSetup};
use lapidary_vocab::Json;
use serde_json::{Value, json};

/// The content of the file outside.
pub(super) const SECRET: &str = "nobody's business";

pub(super) struct Desk {
    directory: tempfile::TempDir,
    pub(super) workspace: ClientServices,
}

impl Desk {
    pub(super) fn new() -> Self {
        Self::with(|_| {})
    }

    /// `root` and `second` are roots; `outside` is not, and `rooted`, whose name begins like a root's, is not either.
    pub(super) fn with(change: impl FnOnce(&mut ServicesSetup)) -> Self {
        let directory = tempfile::tempdir().unwrap();
        // The links on the way to the temporary directory are not under test.
        let base = directory.path().canonicalize().unwrap();
        for name in ["root", "second", "outside", "rooted"] {
            fs::create_dir(base.join(name)).unwrap();
            fs::write(base.join(name).join("secret"), SECRET).unwrap();
        }
        for name in ["root", "second"] {
            fs::remove_file(base.join(name).join("secret")).unwrap();
        }
        let roots = [base.join("root"), base.join("second")];
        let mut setup = ServicesSetup::new(roots, Supervisor::at("/there/is/no/supervisor"));
        change(&mut setup);
        Self {
            directory,
            workspace: ClientServices::new(setup),
        }
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().canonicalize().unwrap().join(name)
    }

    /// The same as text. `name` may be any text, and is not cleaned.
    pub(super) fn text(&self, name: &str) -> String {
        format!(
            "{}/{name}",
            self.path("").to_str().unwrap().trim_end_matches('/')
        )
    }

    pub(super) fn link(&self, name: &str, target: &str) {
        symlink(target, self.path(name)).unwrap();
    }

    pub(super) async fn serve(&self, method: &str, params: Value) -> Result<Value, RpcError> {
        let answer = self
            .workspace
            .serve(method, &Json::from_value(&params))
            .await?;
        Ok(serde_json::from_str(answer.as_str()).unwrap())
    }

    /// Reads a file and answers its content.
    pub(super) async fn read(&self, name: &str) -> Result<String, RpcError> {
        self.lines(name, &json!(null), &json!(null)).await
    }

    pub(super) async fn lines(
        &self,
        name: &str,
        line: &Value,
        limit: &Value,
    ) -> Result<String, RpcError> {
        let params =
            json!({"sessionId": "s", "path": self.text(name), "line": line, "limit": limit});
        let answer = self.serve("fs/read_text_file", params).await?;
        assert_eq!(
            answer.as_object().unwrap().len(),
            1,
            "only the content: {answer}"
        );
        Ok(answer["content"].as_str().unwrap().to_owned())
    }

    pub(super) async fn write(&self, name: &str, content: &str) -> Result<(), RpcError> {
        let params = json!({"sessionId": "s", "path": self.text(name), "content": content});
        let answer = self.serve("fs/write_text_file", params).await?;
        assert_eq!(answer, json!({}));
        Ok(())
    }

    /// Asserts that the folders outside have the same content as before, and no new entry.
    pub(super) fn assert_outside_is_untouched(&self) {
        for name in ["outside", "rooted"] {
            let found = fs::read_dir(self.path(name)).unwrap().flatten();
            let names: Vec<_> = found.map(|entry| entry.file_name()).collect();
            assert_eq!(names, ["secret"], "in {name}");
            let secret = fs::read_to_string(self.path(name).join("secret")).unwrap();
            assert_eq!(secret, SECRET, "in {name}");
        }
    }
}
