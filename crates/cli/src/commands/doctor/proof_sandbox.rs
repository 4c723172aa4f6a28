//! A throw-away home and project, and an environment that leads only to the mock model.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use lapidary::engine::config::{Config, ConfigError, PermissionMode, TransportChoice};
use lapidary::engine::detect::{GEMINI_CLI_PATH, SearchEnvironment};
use lapidary::engine::gemini_cli::PromptText;
use lapidary::engine::headless::{AcpOptions, Job, JobAgent};
use lapidary::engine::process::Supervisor;
use lapidary::engine::run::RecordingOptions;
use lapidary::normalize::NormalizeOptions;
use lapidary::vocab::Json;
use lapidary::wire::lines::DEFAULT_LIMIT;
use lapidary_standin::attempt::vault_server;
use serde_json::json;

/// The variables that an agent needs to work on this machine. No variable that could be an account is among them.
const INHERITED: &[&str] = &[
    "PATH",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "TERM",
    "TZ",
    "NODE_OPTIONS",
    "NVM_DIR",
    "VOLTA_HOME",
    "ASDF_DIR",
    "ASDF_DATA_DIR",
    "MISE_DATA_DIR",
];

/// Long enough for a slow machine, in seconds: a run takes two or three.
const TIMEOUT: i64 = 60;
const START_TIMEOUT: i64 = 30;

/// A run writes a few kilobytes. Its output is kept in memory.
const MAX_OUTPUT: u64 = 16 * 1024 * 1024;

pub(super) struct ProofSandbox<'a> {
    root: &'a Path,
    supervisor: &'a Supervisor,
    vars: BTreeMap<OsString, OsString>,
}

impl<'a> ProofSandbox<'a> {
    /// Makes it below `root`, for the agent at `program`.
    pub(super) fn make_sandbox(
        root: &'a Path,
        program: &Path,
        supervisor: &'a Supervisor,
        outside: &SearchEnvironment,
    ) -> io::Result<Self> {
        let inherited = INHERITED.iter().filter_map(|name| {
            let value = outside.vars.get(OsStr::new(name))?;
            Some((OsString::from(name), value.clone()))
        });
        let world = Self {
            root,
            supervisor,
            vars: inherited.chain(own_vars(root, program)).collect(),
        };
        fs::create_dir_all(root.join("home/.gemini"))?;
        fs::create_dir_all(world.project_dir())?;
        fs::write(world.settings_file(), proof_settings().to_string())?;
        Ok(world)
    }

    /// The folder that holds everything.
    pub(super) fn root_dir(&self) -> &Path {
        self.root
    }

    /// Adds the MCP server of the attempts to the settings of Gemini CLI, for a run that cannot be given one.
    pub(super) fn offer_server(&self) -> io::Result<()> {
        let mut settings = proof_settings();
        settings["mcpServers"] = json!({ "vault": self.vault_mcp_server() });
        fs::write(self.settings_file(), settings.to_string())
    }

    /// Removes it again.
    pub(super) fn withdraw_server(&self) -> io::Result<()> {
        fs::write(self.settings_file(), proof_settings().to_string())
    }

    /// The same server, as a run has it.
    pub(super) fn acp_server(&self) -> Json {
        let mut server = self.vault_mcp_server();
        server["name"] = json!("vault");
        server["env"] = json!([]);
        Json::from_value(&server)
    }

    fn vault_mcp_server(&self) -> serde_json::Value {
        vault_server(self.supervisor.program(), &self.project_dir())
    }

    fn settings_file(&self) -> PathBuf {
        self.root.join("home/.gemini/settings.json")
    }

    /// All variables of the sandbox.
    pub(super) fn sandbox_variables(&self) -> impl Iterator<Item = (OsString, OsString)> {
        self.vars
            .iter()
            .map(|(name, value)| (name.clone(), value.clone()))
    }

    pub(super) fn project_dir(&self) -> PathBuf {
        self.root.join("project")
    }

    /// A run in the sandbox, with the model at that address.
    pub(super) fn proof_job(
        &self,
        run: &str,
        transport: TransportChoice,
        base_url: &str,
    ) -> Result<Job, ConfigError> {
        let mut vars = self.vars.clone();
        vars.insert("GOOGLE_GEMINI_BASE_URL".into(), base_url.into());
        // The only commands are ours, and the project is thrown away.
        let config = Config::builder()
            .model("gemini-2.5-flash")
            .permission_mode(PermissionMode::BypassPermissions)
            .set("timeout", TIMEOUT)
            .set("start_timeout", START_TIMEOUT)
            .set("record", false);
        let mut config = config.build()?;
        config.max_output = Some(MAX_OUTPUT);
        config.transport = Some(transport);
        Ok(Job {
            agent: JobAgent::Gemini,
            config,
            prompt: PromptText::Text("Show that you work.".to_owned()),
            resume: None,
            session_id: None,
            extra_args: Vec::new(),
            environment: SearchEnvironment::from_vars(vars, self.project_dir()),
            supervisor: self.supervisor.clone(),
            records: RecordingOptions {
                keep: false,
                ..RecordingOptions::below(self.root.join("runs"))
            },
            options: NormalizeOptions::new(run),
            notices: Vec::new(),
            with_bytes: false,
            max_line: DEFAULT_LIMIT,
            speaking: AcpOptions::default(),
            // Its home is made for it, and goes.
            vault: None,
            output_schema: None,
        })
    }
}

fn own_vars(root: &Path, program: &Path) -> [(OsString, OsString); 8] {
    [
        (GEMINI_CLI_PATH, program.into()),
        ("HOME", root.join("home").into()),
        ("TMPDIR", root.into()),
        ("GEMINI_API_KEY", "not-a-key".into()),
        ("GEMINI_CLI_TRUST_WORKSPACE", "true".into()),
        // The system's settings could ask for another way to sign in.
        ("GEMINI_CLI_SYSTEM_SETTINGS_PATH", root.join("none").into()),
        ("GEMINI_CLI_SYSTEM_DEFAULTS_PATH", root.join("none").into()),
        ("NO_PROXY", "127.0.0.1,localhost".into()),
    ]
    .map(|(name, value): (_, OsString)| (name.into(), value))
}

/// An API key as the account, and no connection to other hosts: no updates, no usage reports, no downloads of tools. Versions
/// have different names for some of these settings.
fn proof_settings() -> serde_json::Value {
    json!({
        "security": {
            "auth": { "selectedType": "gemini-api-key" },
            "folderTrust": { "enabled": false },
        },
        "general": {
            "enableAutoUpdate": false,
            "enableAutoUpdateNotification": false,
            "disableAutoUpdate": true,
            "disableUpdateNag": true,
        },
        "privacy": { "usageStatisticsEnabled": false },
        "telemetry": { "enabled": false },
        "tools": { "useRipgrep": false },
    })
}
