//! One watcher of a recording, beside axum that sends the same bytes as a plain file.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde_json::json;

use super::server::{BenchServer, cpu_of};
use crate::bench::corpus::{StreamShape, write_stream};
use crate::bench::verdict::BenchVerdict;

/// The goal: events per CPU second of the server.
const LEAST: f64 = 300_000.0;
/// The size of the recorded stream.
const SIZE: u64 = 64 << 20;
/// The run that is watched.
const RUN: &str = "20261101T000000-00000001";

pub(super) fn report_watcher(
    folder: &Path,
    lapidary: &Path,
    plain: &Path,
    rounds: u32,
) -> Result<BenchVerdict> {
    let home = folder.join("recorded");
    make_recording(&home.join(".local/state/lapidary/runs").join(RUN))?;
    let server = BenchServer::start(lapidary, &home, "127.0.0.1:0")?;
    let path = format!("/api/v1/runs/{RUN}/events");
    let mut body = Vec::new();
    server.watch(&path, None)?.read_to_end(&mut body)?;
    let events = memchr::memmem::find_iter(&body, b"\n\n").count();
    ensure!(events > 100_000, "only {events} events");
    let file = folder.join("bytes");
    fs::write(&file, &body)?;
    let floor = PlainServer::start(plain, &file)?;
    let (mut ours, mut least) = (Duration::MAX, Duration::MAX);
    for round in 1..=rounds {
        eprintln!("bench: round {round} of {rounds}");
        let before = server.cpu()?;
        let read = std::io::copy(&mut server.watch(&path, None)?, &mut std::io::sink())?;
        ours = ours.min(server.cpu()?.saturating_sub(before));
        ensure!(read == body.len() as u64, "{read} of {} bytes", body.len());
        let before = cpu_of(floor.pid())?;
        floor.fetch(body.len())?;
        least = least.min(cpu_of(floor.pid())?.saturating_sub(before));
    }
    let rate = f64::from(u32::try_from(events)?) / ours.as_secs_f64();
    let ratio = ours.as_secs_f64() / least.as_secs_f64().max(0.01);
    let megabytes = f64::from(u32::try_from(body.len())?) / 1e6;
    println!(
        "| one watcher of a recording, {events} events, {megabytes:.0} MB | |\n|---|---:|\n\
         | CPU of the server | {:.2} s |\n| events per CPU second | {rate:.0} |\n\
         | CPU of axum that sends the same bytes as a file | {:.2} s |\n| ratio | {ratio:.1} |\n",
        ours.as_secs_f64(),
        least.as_secs_f64()
    );
    let mut verdict = BenchVerdict::default();
    let microseconds = 1e6 / rate;
    verdict.judge_limit("one watcher, an event", microseconds, 1e6 / LEAST, "µs CPU");
    Ok(verdict)
}

/// A recording of a headless run, as `lapidary run` makes it.
fn make_recording(directory: &Path) -> Result<()> {
    fs::create_dir_all(directory)?;
    let stdout = directory.join("stdout");
    write_stream(&stdout, StreamShape::Deltas, SIZE)?;
    let size = fs::metadata(&stdout)?.len();
    fs::write(directory.join("timing"), format!("1.000 out {size}\n"))?;
    let manifest = json!({
        "schema": "lapidary.recording/1", "writer": "lapidary 0.1.0", "run": RUN, "agent": "gemini",
        "transport": "stream-json", "argv": ["gemini", "-o", "stream-json"], "environment": [],
        "directory": "/home/me/code/app", "onDenied": "auto", "startedAt": "2026-11-01T00:00:00.000Z",
        "end": {"durationMs": 1000, "exitCode": 0, "agentExitCode": 0, "outcome": "completed", "cause": "end_turn"},
    });
    fs::write(directory.join("run.json"), format!("{manifest:#}\n"))?;
    Ok(())
}

/// axum with a plain file.
struct PlainServer {
    child: Child,
    address: String,
}

impl PlainServer {
    fn start(program: &Path, file: &Path) -> Result<Self> {
        let mut child = Command::new(program)
            .arg(file)
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot start `plain_file`")?;
        let mut address = String::new();
        let stdout = child.stdout.take().context("stdout is piped")?;
        BufReader::new(stdout).read_line(&mut address)?;
        let address = address.trim().to_owned();
        Ok(Self { child, address })
    }

    fn pid(&self) -> i32 {
        self.child.id().cast_signed()
    }

    fn fetch(&self, size: usize) -> Result<()> {
        use std::io::Write as _;
        let mut stream = TcpStream::connect(&self.address)?;
        stream.write_all(b"GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")?;
        let read = std::io::copy(&mut stream, &mut std::io::sink())?;
        ensure!(read > size as u64, "{read} of {size} bytes");
        Ok(())
    }
}

impl Drop for PlainServer {
    fn drop(&mut self) {
        let _ = self.child.kill(); // it may have ended
        let _ = self.child.wait();
    }
}
