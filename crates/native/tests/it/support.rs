//! A workspace in a temporary directory, and calls of tools in it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use lapidary_native::tool::{Tool, ToolOutput};
use lapidary_native::tools::file_tools;
use lapidary_native::workspace::Workspace;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

/// A workspace that is gone with this.
#[derive(Debug)]
pub(crate) struct TestWorkspace {
    _folder: tempfile::TempDir,
    pub(crate) root: PathBuf,
    temporary: PathBuf,
}

/// The answer of a tool to the model and the person.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Answer {
    pub(crate) text: String,
    pub(crate) parts: Vec<Value>,
    pub(crate) error: Option<String>,
}

impl TestWorkspace {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap();
        let root = top.join("project");
        std::fs::create_dir(&root).unwrap();
        Self {
            _folder: folder,
            temporary: top.join("temporary"),
            root,
        }
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.root.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
        path
    }

    pub(crate) fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.root.join(name)).unwrap()
    }

    pub(crate) fn open(&self) -> Arc<Workspace> {
        Workspace::open(&self.root, &self.temporary).unwrap()
    }

    pub(crate) fn call(&self, name: &str, arguments: &Value) -> Answer {
        call(&self.open(), name, arguments)
    }

    pub(crate) fn outside(&self) -> &Path {
        self.root.parent().unwrap()
    }
}

/// Calls a tool as the executor does, without asking for permission.
pub(crate) fn call(workspace: &Arc<Workspace>, name: &str, arguments: &Value) -> Answer {
    let tools = file_tools(workspace);
    let tool = tools.iter().find(|tool| tool.declaration().name == name);
    run(tool.unwrap().as_ref(), arguments)
}

pub(crate) fn run(tool: &dyn Tool, arguments: &Value) -> Answer {
    let arguments = arguments.as_object().unwrap();
    let output = match tool.prepare(arguments) {
        Ok(call) => {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap();
            runtime.block_on(call.run(CancellationToken::new()))
        }
        Err(error) => ToolOutput::from_error(error),
    };
    Answer {
        text: output.text,
        parts: output.parts,
        error: output.error.map(|kind| kind.0.to_owned()),
    }
}
