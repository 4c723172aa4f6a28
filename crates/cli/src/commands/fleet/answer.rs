//! `fleet answer`: answers a permission request of a running ticket.

use anyhow::anyhow;
use lapidary_fleet::{AnswerReply, FleetStore, PromptAnswer, PromptRecord, TicketId};
use serde_json::json;

use super::super::sessions::SessionsFormat;
use super::report::{change, print_change};
use super::store_option::{StoreOption, block_on, find_ticket, store_failure, user_name};
use crate::exit::CommandExit;
use crate::failure::Failure;
use crate::printer::Printer;

/// Answer a permission request of a running ticket; the first answer counts
#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("decision").required(true), after_help = "\
Examples:
  lapidary fleet show 1hc8k3x9e2r7m4qz6t0w
  lapidary fleet answer 1hc8k3x9e2r7m4qz6t0w --allow
  lapidary fleet answer 1hc8k3x9e2r7m4qz6t0w --request perm-3 --deny --message 'use the staging database'")]
pub(crate) struct Args {
    /// The ticket's id
    #[arg(value_name = "TICKET")]
    ticket: TicketId,
    /// The `requestId` [default: the only open one]
    #[arg(long, value_name = "ID")]
    request: Option<String>,
    /// Allow it
    #[arg(long, group = "decision")]
    allow: bool,
    /// Deny it
    #[arg(long, group = "decision")]
    deny: bool,
    /// A word to the agent
    #[arg(long, value_name = "TEXT")]
    message: Option<String>,
    #[command(flatten)]
    store: StoreOption,
    /// What to print [default: text on a terminal, json when piped]
    #[arg(long, value_enum)]
    format: Option<SessionsFormat>,
}

pub(crate) fn run(args: &Args, out: &mut Printer) -> Result<CommandExit, Failure> {
    let by = user_name(&out.invocation);
    let (address, request) = block_on(async {
        let store = args.store.open_existing(&out.invocation).await?;
        find_ticket(&*store, &args.ticket).await?;
        let prompt = open_prompt(args, &*store).await?;
        let answer = PromptAnswer {
            run: prompt.run.clone(),
            request: prompt.request.clone(),
            answer: response_line(args, &prompt.request),
            by,
        };
        let reply = store.answer(&answer).await.map_err(store_failure)?;
        check_reply(&reply, &prompt.request)?;
        store.flush().await.map_err(store_failure)?;
        Ok((store.address().to_owned(), prompt.request))
    })?;
    let change = change(&address, Some(args.ticket.to_string()), "answered");
    let word = if args.allow { "allowed" } else { "denied" };
    print_change(
        &change,
        &format!("Request {request} is {word}."),
        args.format,
        out,
    )?;
    Ok(CommandExit::Success)
}

/// The request that is answered.
async fn open_prompt(args: &Args, store: &dyn FleetStore) -> Result<PromptRecord, Failure> {
    let open = store.open_prompts(Some(&args.ticket)).await;
    let mut open = open.map_err(store_failure)?;
    if let Some(wanted) = &args.request {
        open.retain(|prompt| prompt.request == *wanted);
    }
    match (open.len(), &args.request) {
        (1, _) => Ok(open.swap_remove(0)),
        (0, wanted) => {
            let wanted = wanted.iter().map(|wanted| format!(" `{wanted}`"));
            let wanted: String = wanted.collect();
            let error = anyhow!(
                "ticket `{}` has no open permission request{wanted}",
                args.ticket
            );
            let hint =
                "it may have been answered, or the attempt has ended: see `lapidary fleet show`";
            Err(Failure::bad_input(error).with_hint(hint))
        }
        (count, _) => Err(Failure::usage(anyhow!(
            "ticket `{}` has {count} open permission requests",
            args.ticket
        ))
        .with_hint("name one with `--request`: `lapidary fleet show` lists them")),
    }
}

/// The answer as `connect` takes it.
fn response_line(args: &Args, request: &str) -> Vec<u8> {
    let mut line = json!({
        "command": "permission_response",
        "requestId": request,
        "allowed": args.allow,
    });
    if let Some(message) = &args.message {
        line["message"] = json!(message);
    }
    line.to_string().into_bytes()
}

fn check_reply(reply: &AnswerReply, request: &str) -> Result<(), Failure> {
    let error = match reply {
        AnswerReply::Stored => return Ok(()),
        AnswerReply::AlreadyAnswered { by } => anyhow!("`{request}` was answered by {by} already"),
        AnswerReply::Over => anyhow!("`{request}` waits for no answer any more"),
        AnswerReply::Unknown => anyhow!("there is no permission request `{request}`"),
    };
    Err(Failure::bad_input(error))
}
