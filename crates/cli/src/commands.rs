//! The commands, one module each.

mod acp;
mod agents;
mod canary_server;
mod capabilities;
mod common;
mod complete_ids;
mod completions;
mod config;
mod configured_agents;
mod connect;
mod doctor;
mod fleet;
mod hooks;
mod job;
mod machine_format;
mod man;
mod mcp;
mod narrowed_options;
mod overview;
mod parse;
mod policy;
mod prices;
mod record;
mod replay;
mod run;
mod runs;
mod schema;
mod serve;
mod sessions;
mod sink;
mod skills;
mod time;
mod translate;

use clap::CommandFactory as _;

use crate::exit::CommandExit;
use crate::failure::Failure;
use crate::printer::Printer;
pub(crate) use parse::parse;

/// Lapidary runs coding agents and keeps what they did
#[derive(Debug, clap::Parser)]
#[command(name = "lapidary", version, after_help = EXIT_CODES)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Option<CliCommand>,
}

const EXIT_CODES: &str = "\
Exit codes:
  0   done (for `translate`: translated, also if the run failed)
  1   a fault of ours, such as a full disk
  2   wrong usage
  3   a check found an error; --strict, and something was malformed or unknown
  13  the input cannot be read, or is of no known format";

#[derive(Debug, clap::Subcommand)]
pub(crate) enum CliCommand {
    #[command(alias = "exec")]
    Run(Box<run::Args>),
    Connect(Box<connect::Args>),
    Acp(Box<acp::Args>),
    Runs(runs::Args),
    Translate(translate::Args),
    Sessions(sessions::Args),
    Skills(skills::Args),
    Hooks(hooks::Args),
    Agents(agents::Args),
    Mcp(Box<mcp::Args>),
    Record(record::Args),
    Replay(replay::Args),
    Policy(policy::Args),
    Config(config::Args),
    Capabilities(capabilities::Args),
    Doctor(doctor::Args),
    Schema(schema::Args),
    Serve(Box<serve::Args>),
    Fleet(fleet::Args),
    Completions(completions::Args),
    #[command(hide = true)]
    CanaryServer(canary_server::Args),
    #[command(hide = true)]
    CompleteIds(complete_ids::Args),
    Man(man::Args),
}

/// The whole command line as the parser has it.
pub(crate) fn command_line() -> clap::Command {
    machine_format::with_json(Cli::command())
}

/// Runs a command; without one, prints the overview.
pub(crate) fn run(command: Option<&CliCommand>, out: &mut Printer) -> Result<CommandExit, Failure> {
    let Some(command) = command else {
        return overview::run(out);
    };
    match command {
        CliCommand::Run(args) => run::run(args, out),
        CliCommand::Connect(args) => connect::run(args, out),
        CliCommand::Acp(args) => acp::run(args, out),
        CliCommand::Runs(args) => runs::run(args, out),
        CliCommand::Translate(args) => translate::run(args, out),
        CliCommand::Sessions(args) => sessions::run(args, out),
        CliCommand::Skills(args) => skills::run(args, out),
        CliCommand::Hooks(args) => hooks::run(args, out),
        CliCommand::Agents(args) => agents::run(args, out),
        CliCommand::Mcp(args) => mcp::run(args, out),
        CliCommand::Record(args) => record::run(args, out),
        CliCommand::Replay(args) => replay::run(args, out),
        CliCommand::Policy(args) => policy::run(args, out),
        CliCommand::Config(args) => config::run(args, out),
        CliCommand::Capabilities(args) => capabilities::run(args, out),
        CliCommand::Doctor(args) => doctor::run(args, out),
        CliCommand::Schema(args) => schema::run(args, out),
        CliCommand::Serve(args) => serve::run(args, out),
        CliCommand::Fleet(args) => fleet::run(args, out),
        CliCommand::CanaryServer(args) => canary_server::run(args, out),
        CliCommand::CompleteIds(args) => complete_ids::run(args, out),
        CliCommand::Completions(args) => completions::run(args, out),
        CliCommand::Man(args) => man::run(args, out),
    }
}
