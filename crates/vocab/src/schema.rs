//! JSON Schemas of everything we print or read.
//!
//! The program carries the files of `schemas/` as they stand. A link in this crate leads there: a published package has its own copy. With the feature `generate` the types have their schemas, too:
//! `cargo xtask schemas` writes the files from them, and a test keeps the two equal. Deriving them takes longer than
//! compiling the rest of this crate, so that other builds leave it out.
//!
//! A new row needs its file before it compiles: create it empty, then run `cargo xtask schemas`.

#[cfg(feature = "generate")]
pub mod generate;
#[cfg(feature = "generate")]
pub mod python;
#[cfg(feature = "generate")]
mod shapes;
#[cfg(feature = "generate")]
pub mod typescript;

use serde_json::Value;

/// The types of every published schema as a TypeScript module.
pub const TYPESCRIPT: &str = include_str!("../schemas/lapidary.d.ts");

/// A published schema.
#[derive(Debug, Clone, Copy)]
pub struct Published {
    /// The name that `lapidary schema NAME` takes, and the file's stem.
    pub name: &'static str,
    /// A description in one line.
    pub about: &'static str,
    /// The JSON Schema (draft 2020-12), indented, with a newline at its end.
    pub text: &'static str,
    #[cfg(feature = "generate")]
    generator: generate::SchemaSource,
}

/// A row of the table: the type, the schema's name, and a description.
macro_rules! published {
    ($type:path, $name:literal, $about:literal $(,)?) => {
        Published {
            name: $name,
            about: $about,
            text: include_str!(concat!("../schemas/", $name, ".schema.json")),
            #[cfg(feature = "generate")]
            generator: generate::SchemaSource::of::<$type>(),
        }
    };
}

/// Every published schema.
pub const PUBLISHED: &[Published] = &[
    published!(crate::Event, "events", "one line of `--format events`"),
    published!(
        crate::Message,
        "messages",
        "one line of `--format messages`"
    ),
    published!(
        crate::RuntimeEvent,
        "runtime",
        "one line of `--format runtime`"
    ),
    published!(
        crate::RunResult,
        "result",
        "the object that `--format result` prints"
    ),
    published!(
        crate::agents::SubagentActivityEvent,
        "activity",
        "one line of `lapidary agents run --format activity`",
    ),
    published!(
        crate::command::CommandLine,
        "commands",
        "one line that a front end sends to `connect`",
    ),
    published!(
        crate::recording::Recording,
        "recording",
        "`run.json` of a recorded run"
    ),
    published!(
        crate::runs::RunList,
        "runs",
        "what `lapidary runs list` prints"
    ),
    published!(
        crate::runs::RunRemoval,
        "runs-removal",
        "what `lapidary runs delete` and `lapidary runs prune` print",
    ),
    published!(
        crate::fleet::FleetTicketList,
        "fleet-tickets",
        "what `lapidary fleet list` prints",
    ),
    published!(
        crate::fleet::FleetTicketReport,
        "fleet-ticket",
        "what `lapidary fleet show` prints",
    ),
    published!(
        crate::fleet::FleetSubmission,
        "fleet-submission",
        "one line that `lapidary fleet submit` prints",
    ),
    published!(
        crate::fleet::FleetChange,
        "fleet-change",
        "what `lapidary fleet init`, `answer`, `cancel`, `retry` and `archive` print",
    ),
    published!(
        crate::fleet::FleetOverviewReport,
        "fleet-overview",
        "one line that `lapidary fleet watch` prints",
    ),
    published!(
        crate::Capabilities,
        "capabilities",
        "one line of `lapidary capabilities`"
    ),
    published!(crate::Checkup, "doctor", "what `lapidary doctor` prints"),
    published!(
        crate::PolicyReport,
        "policy",
        "what `lapidary policy test` prints"
    ),
    published!(
        crate::policy_report::CompiledPolicy,
        "compiled-policy",
        "what `lapidary policy compile` prints",
    ),
    published!(
        crate::session::SessionList,
        "sessions",
        "what `lapidary sessions list` prints"
    ),
    published!(
        crate::session::SearchResult,
        "search",
        "what `lapidary sessions search` prints"
    ),
    published!(
        crate::session_document::SessionDocument,
        "session",
        "what `lapidary sessions export --to json` writes",
    ),
    published!(
        crate::removal::Removal,
        "removal",
        "what `lapidary sessions delete` and `lapidary sessions prune` print",
    ),
    published!(
        crate::stats::Stats,
        "stats",
        "what `lapidary sessions stats` prints"
    ),
    published!(
        crate::vault::VaultReport,
        "vault",
        "what `lapidary sessions vault` prints"
    ),
    published!(
        crate::vault::RecoverReport,
        "recover",
        "what `lapidary sessions recover` prints"
    ),
    published!(
        crate::skills::SkillList,
        "skills",
        "what `lapidary skills list` prints"
    ),
    published!(
        crate::skills::SkillCheck,
        "skills-check",
        "what `lapidary skills check` prints"
    ),
    published!(
        crate::skills::SkillChange,
        "skills-change",
        "what `lapidary skills enable`, `disable`, `install`, `link` and `uninstall` print with `--format json`",
    ),
    published!(
        crate::hooks::HookList,
        "hooks",
        "what `lapidary hooks list` prints"
    ),
    published!(
        crate::hooks::HookCheck,
        "hooks-check",
        "what `lapidary hooks check` prints"
    ),
    published!(
        crate::hooks::HookChange,
        "hooks-change",
        "what `lapidary hooks enable`, `disable` and `migrate` print",
    ),
    published!(
        crate::hook_test::HookTest,
        "hooks-test",
        "what `lapidary hooks test` prints"
    ),
    published!(
        crate::agents::AgentList,
        "agents",
        "what `lapidary agents list` prints"
    ),
    published!(
        crate::agents::AgentShown,
        "agent",
        "what `lapidary agents show` prints"
    ),
    published!(
        crate::agents::AgentCheckReport,
        "agents-check",
        "what `lapidary agents check` prints",
    ),
    published!(
        crate::agents::AgentChange,
        "agents-change",
        "what `lapidary agents enable`, `disable`, `ack` and `import` print with `--format json`",
    ),
    published!(
        crate::config_report::ConfigShown,
        "config",
        "what `lapidary config show` prints"
    ),
    published!(
        crate::config_report::ConfigCheck,
        "config-check",
        "what `lapidary config check` prints",
    ),
];

impl Published {
    /// The schema called `name`.
    pub fn named(name: &str) -> Option<&'static Self> {
        PUBLISHED.iter().find(|schema| schema.name == name)
    }

    /// The JSON Schema (draft 2020-12). It is JSON: a test compares it with the generated one.
    pub fn schema(&self) -> Value {
        serde_json::from_str(self.text).unwrap_or_default()
    }
}
