//! `schema`: the contracts of everything we print.

use std::io::Write as _;

use lapidary::vocab::schema;
use serde_json::{Map, Value};

use crate::exit::CommandExit;
use crate::failure::Failure;
use crate::printer::Printer;

/// Print the JSON Schemas, or the TypeScript types, of everything Lapidary prints
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  lapidary schema                  the names on a terminal; when piped, all schemas in one object
  lapidary schema events > events.schema.json
  lapidary schema --typescript > lapidary.d.ts")]
pub(crate) struct Args {
    /// events, messages, runtime, result, commands, recording, runs, runs-removal, fleet-tickets, fleet-ticket, fleet-submission, fleet-change, fleet-overview, capabilities, doctor, policy, sessions, search, session, removal, stats, vault, recover, skills, skills-check, skills-change, hooks, hooks-check, hooks-change, hooks-test, agents, agent, agents-check, agents-change or activity
    name: Option<String>,
    /// Print TypeScript types instead
    #[arg(long, conflicts_with = "name")]
    typescript: bool,
}

pub(crate) fn run(args: &Args, out: &mut Printer) -> Result<CommandExit, Failure> {
    if args.typescript {
        out.write_all(schema::TYPESCRIPT.as_bytes())?;
        return Ok(CommandExit::Success);
    }
    match &args.name {
        Some(name) => print_schema(name, out)?,
        None if out.is_terminal => print_names(out)?,
        None => print_all_schemas(out)?,
    }
    Ok(CommandExit::Success)
}

fn print_schema(name: &str, out: &mut Printer) -> Result<(), Failure> {
    let Some(published) = schema::Published::named(name) else {
        let known: Vec<_> = schema::PUBLISHED
            .iter()
            .map(|published| published.name)
            .collect();
        return Err(Failure::usage(anyhow::anyhow!("unknown schema `{name}`"))
            .with_hint(format!("there are {}", known.join(", "))));
    };
    out.write_all(published.text.as_bytes())?;
    Ok(())
}

fn print_names(out: &mut Printer) -> Result<(), Failure> {
    for published in schema::PUBLISHED {
        writeln!(out, "{:<13} {}", published.name, published.about)?;
    }
    Ok(())
}

fn print_all_schemas(out: &mut Printer) -> Result<(), Failure> {
    let all: Map<String, Value> = schema::PUBLISHED
        .iter()
        .map(|published| (published.name.to_owned(), published.schema()))
        .collect();
    writeln!(out, "{:#}", Value::Object(all))?;
    Ok(())
}
