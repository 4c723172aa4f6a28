//! A ticket of a fleet, done by the real CLI in a git workspace.

use std::fs;
use std::path::Path;
use std::process::Command;

use lapidary_fleet::{FleetStore as _, NewTicket, SqliteStore, TicketSpec, WorkspaceSpec};
use lapidary_standin::api::{Script, Turn};
use lapidary_testkit::gemini::GeminiVersion::V0_61_0;
use serde_json::{Value, json};

use super::world::Real;
use crate::support::{lapidary, output, started};

fn shell(directory: &Path, script: &str) {
    let mut shell = Command::new("sh");
    shell.args(["-c", script]).current_dir(directory);
    let ran = output(shell, b"");
    assert!(ran.status.success(), "{ran:?}");
}

/// `fleet work` in the environment of this world, with a configuration of its own.
fn work(real: &Real, store: &str) -> Command {
    let mut work = lapidary(["fleet", "work", "--once", "--store", store]);
    let like_run = real.command("run", &[]);
    let vars = like_run
        .get_envs()
        .filter_map(|(name, value)| Some((name, value?)));
    work.env_clear()
        .envs(vars)
        .current_dir(real.world.project());
    work.env("XDG_CONFIG_HOME", real.path("config"));
    work.args(["-m", "gemini-2.5-flash", "--permission-mode", "acceptEdits"]);
    work.args(["--trust-workspace", "--min-free=0"]);
    work
}

#[tokio::test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
async fn a_ticket_in_a_git_workspace_ends_with_its_patch_in_the_store() {
    let real = Real::new(V0_61_0, Script::new());
    let database = real.path("fleet.db");
    SqliteStore::initialise(&database).await.unwrap();
    let store = SqliteStore::open(&database).await.unwrap();
    let upstream = real.path("upstream");
    fs::create_dir(&upstream).unwrap();
    shell(
        &upstream,
        "git init -q -b main . && echo old > a.txt && git add . && \
         git -c user.name=n -c user.email=e commit -qm one",
    );
    fs::create_dir_all(real.path("config/lapidary")).unwrap();
    let settings = format!("[fleet]\nrepositories = ['{}']\n", upstream.display());
    fs::write(real.path("config/lapidary/lapidary.toml"), settings).unwrap();

    let mut spec = TicketSpec::new("make a file");
    spec.workspace = Some(WorkspaceSpec {
        repo: Some(upstream.to_str().unwrap().to_owned()),
        reference: Some("main".to_owned()),
        push: None,
        directory: None,
    });
    let ticket = NewTicket::new(spec, "me");
    let id = ticket.id.clone();
    store.submit(&[ticket]).await.unwrap();
    // The attempt's run is known beforehand, and so is the path of the file.
    let tree = real.path(&format!("state/fleet/workspaces/{id}-1/tree"));
    let file = tree.join("made.txt");
    let call = json!({"file_path": file.to_str().unwrap(), "content": "made by the agent\n"});
    let script = Script::new()
        .stream(Turn::call("write_file", call))
        .stream("Done.");
    let real = real.with_script(script);

    let address = format!("sqlite:{}", database.display());
    let worked = started(work(&real, &address), b"");
    assert!(worked.status.success(), "{worked:?}");
    real.assert_nothing_is_left();
    let ticket = store.ticket(&id).await.unwrap().unwrap();
    let attempt = &ticket.attempt_records[0];
    let evidence: Value = serde_json::from_slice(attempt.evidence.as_deref().unwrap()).unwrap();
    assert_eq!(ticket.cause.as_deref(), Some("end_turn"), "{evidence}");
    assert_eq!(evidence["changedFiles"], 1);
    let patch = store.artifact_part(&attempt.run, "changes.patch", 0).await;
    let patch = String::from_utf8(patch.unwrap().unwrap()).unwrap();
    assert!(patch.contains("+made by the agent\n"), "{patch}");
    let result: Value = serde_json::from_slice(ticket.result.as_deref().unwrap()).unwrap();
    assert_eq!(result["response"], "Done.");
}
