//! How long the text of a remote agent takes from its server's chunk to the event.
//!
//! The server is a thread of the bench: it writes a chunk of an A2A stream, and notes the time. The process that is measured prints
//! events, and a reader notes the time of each line. One chunk is under way at a time, as when a model thinks between words.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow, ensure};

use super::verdict::BenchVerdict;

/// The goal: from a chunk to its text, in milliseconds.
const MOST: f64 = 2.0;
const CHUNKS: usize = 500;
/// The pause before each chunk: the process falls asleep.
const PAUSE: Duration = Duration::from_millis(5);
/// No event by then means that it waits for more.
const PATIENCE: Duration = Duration::from_secs(5);
/// The first chunks wait for the session's own events, and are not counted.
const WARM_UP: usize = 20;

/// Measures and prints.
pub(super) fn report_remote(folder: &Path, lapidary: &Path) -> Result<BenchVerdict> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let home = folder.join("remote");
    let port = listener.local_addr()?.port();
    lay_out(&home, port)?;
    let (arrivals, lines) = channel();
    let server = thread::spawn(move || serve_chunks(&listener, &lines));
    let mut child = start_run(&home, lapidary, arrivals)?;
    let measured = server.join();
    let measured = measured.map_err(|_| anyhow!("the server panicked"))?;
    if measured.is_err() {
        let _ = child.kill(); // it may have ended already
    }
    let status = child.wait()?;
    let mut times = measured?;
    ensure!(status.success(), "the run failed ({status})");
    times.sort_unstable();
    let at = |percent: usize| times[times.len() * percent / 100].as_secs_f64() * 1_000.0;
    let (median, rare) = (at(50), at(99));
    println!("## Remote agents\n\n| from a chunk of an A2A stream to its event | ms |\n|---|---:|");
    println!("| median of {} | {median:.3} |", times.len());
    println!("| 99 of 100 within | {rare:.3} |\n");
    let mut verdict = BenchVerdict::default();
    verdict.judge_limit("text of a remote agent, median", median, MOST, "ms");
    verdict.judge_limit("text of a remote agent, 99 of 100", rare, MOST, "ms");
    Ok(verdict)
}

/// A home with one remote agent.
fn lay_out(home: &Path, port: u16) -> Result<()> {
    let _ = fs::remove_dir_all(home); // of an earlier bench
    let agents = home.join(".gemini/agents");
    fs::create_dir_all(&agents)?;
    fs::create_dir_all(home.join("project"))?;
    let definition = format!(
        "---\nkind: remote\nname: far\ndescription: Far.\nagent_card_url: http://127.0.0.1:{port}/card.json\n---\n"
    );
    fs::write(agents.join("far.md"), definition)?;
    Ok(())
}

/// Starts the run, whose lines that have a chunk are sent on with their times.
fn start_run(home: &Path, lapidary: &Path, arrivals: Sender<Instant>) -> Result<Child> {
    let mut child = Command::new(lapidary)
        .args(["agents", "run", "far", "--format", "events", "go"])
        .current_dir(home.join("project"))
        .env_clear()
        .env("HOME", home)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot start the run")?;
    let output = child.stdout.take().context("stdout is piped")?;
    // It ends with the output of the process.
    thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            let now = Instant::now();
            if line.contains("\"stream_delta\"") && line.contains("chunk ") {
                let _ = arrivals.send(now); // nobody waits any more once the bench is over
            }
        }
    });
    Ok(child)
}

/// Serves the card and one task. Returns the time from each chunk to its line.
fn serve_chunks(listener: &TcpListener, lines: &Receiver<Instant>) -> Result<Vec<Duration>> {
    let port = listener.local_addr()?.port();
    loop {
        let (mut stream, _) = listener.accept()?;
        stream.set_nodelay(true)?;
        if read_head(&mut stream)?.starts_with("GET ") {
            let card = format!(
                r#"{{"name":"Far","protocolVersion":"0.3.0","url":"http://127.0.0.1:{port}/rpc","capabilities":{{"streaming":true}}}}"#
            );
            let length = card.len();
            let head = format!(
                "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
            );
            stream.write_all((head + &card).as_bytes())?;
            continue;
        }
        return stream_task(&mut stream, lines);
    }
}

fn stream_task(stream: &mut TcpStream, lines: &Receiver<Instant>) -> Result<Vec<Duration>> {
    stream.write_all(
        b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n",
    )?;
    let mut times = Vec::new();
    for number in 0..CHUNKS + WARM_UP {
        thread::sleep(PAUSE);
        let update = format!(
            r#"{{"kind":"artifact-update","taskId":"t","contextId":"c","append":{},"artifact":{{"artifactId":"a","parts":[{{"kind":"text","text":"chunk {number} "}}]}}}}"#,
            number > 0
        );
        let event = task_event(&update);
        let written = Instant::now();
        stream.write_all(event.as_bytes())?;
        let arrived = lines
            .recv_timeout(PATIENCE)
            .context("no event of a chunk while the stream is open")?;
        if number >= WARM_UP {
            times.push(arrived.saturating_duration_since(written));
        }
    }
    let end = r#"{"kind":"status-update","taskId":"t","contextId":"c","final":true,"status":{"state":"completed"}}"#;
    stream.write_all(task_event(end).as_bytes())?;
    Ok(times)
}

fn task_event(update: &str) -> String {
    format!("data: {{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{update}}}\n\n")
}

/// Reads a request up to the end of its head. The body is small and stays unread.
fn read_head(stream: &mut TcpStream) -> Result<String> {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte)?;
        head.push(byte[0]);
    }
    Ok(String::from_utf8_lossy(&head).into_owned())
}
