use lapidary_vocab::event::Provider;
use tokio::io::{AsyncBufReadExt as _, BufReader, duplex};

use super::*;
use crate::acp::{LocalProcess, connect};
use crate::agents::ModeWords;
use crate::config::PermissionMode;
use crate::policy::{Policy, Rules};
use crate::process::stop;
use crate::run::{self, testing};

fn request(grace: Duration) -> Request {
    let run = run::Request {
        grace,
        ..testing::request()
    };
    Request {
        run,
        provider: Provider::Acp,
        roots: vec![PathBuf::from("/")],
        environment: Vec::new(),
        mcp_servers: Vec::new(),
        session_meta: None,
        policy: Policy::new(Rules::default(), PermissionMode::Default),
        attendant: Attendant::Nobody,
        hooks: None,
        auth_method: None,
        modes: ModeWords::default(),
        model: None,
        system_prompt: None,
    }
}

/// A prompt to an agent that reads everything and answers nothing, cancelled once it was read. Returns what the agent read, and how
/// long it had to end when it was asked to.
async fn cancelled_while_silent(grace: Duration) -> (Vec<String>, Option<Duration>) {
    let request = request(grace);
    let (ours, theirs) = duplex(1 << 16);
    let (reads, writes) = tokio::io::split(ours);
    let connected = connect((reads, writes), Methods::of([""; 0]), Limits::default());
    let policy = Arc::new(Mutex::new(request.policy.clone()));
    let (say, _said) = Say::channel();
    let watcher = Watcher::new(&request, Arc::clone(&policy), say.clone(), None);
    let stage = Stage::new(
        Client::new(connected.connection, PATIENCE),
        workspace(&request),
        Arc::new(watcher),
        say,
        None,
        policy,
    );
    let (stopper, stops) = stop::channel();
    let halts = Halts::new(stops, request.run.timeouts, None, grace);
    let (process, mut local) = LocalProcess::new();
    let mut course = Course {
        request: &request,
        stage: Arc::new(stage),
        halts,
        is_deaf: false,
        is_ready: true,
        process: process.clone(),
        directory: PathBuf::new(),
        stall: None,
    };
    let talking = async {
        let broken = course.say("s", &[]).await;
        assert!(matches!(broken, Err(Broken::Stopped(_))), "{broken:?}");
        course.end(&process).await;
    };
    let agent = async {
        let mut lines = BufReader::new(theirs).lines();
        let mut read = Vec::new();
        while let Some(line) = lines.next_line().await.unwrap() {
            stopper.cancel();
            read.push(line);
        }
        read
    };
    let obeying = async {
        let had = local.stopped().await;
        local.end(None);
        had
    };
    let ((), read, had) = tokio::join!(talking, agent, obeying);
    (read, had)
}

#[tokio::test]
async fn an_agent_that_ignores_a_cancel_has_only_the_rest_of_the_grace_to_end() {
    let grace = Duration::from_millis(20);
    let (read, had) = cancelled_while_silent(grace).await;
    assert!(read[1].contains("session/cancel"), "{read:?}");
    let had = had.expect("it is asked to end before it is ended");
    assert!(had <= grace / 2, "half of the grace went by: {had:?}");
}
