//! The rates of the database itself, by `pgbench`, and of the disk, by syncs: the limits of any queue on them.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use lapidary_testkit::postgres::{PostgresServer, installed_programs};

/// Events of a chunk, as the store appends them, and about their bytes.
const CHUNK_EVENTS: f64 = 100.0;

/// Rows that are as large as a chunk of 100 events, and a table for copies of them.
const CHUNKS: &str = "create table if not exists bench_sample as select n as id, \
    (select string_agg(md5(random()::text || n || m), '') from generate_series(1, 690) m)::bytea as body from generate_series(1, 8) n;
create table if not exists bench_chunk (at timestamptz not null default now(), body bytea not null);";

/// One insert of a chunk.
const INSERT: &str = "\\set id random(1, 8)\n\
    insert into bench_chunk (body) select body from bench_sample where id = :id;\n";

/// The bytes that a change of a ticket adds to the log of `SQLite`, about.
const COMMIT: [u8; 3 * 4096] = [0; 3 * 4096];

/// How long the disk is measured.
const DISK_TIME: Duration = Duration::from_secs(3);

/// Prints rows of the table of rates: small writes to one file that were waited for, of one writer and of four at a time.
pub(super) fn report_disk(folder: &Path) -> Result<()> {
    for writers in [1, 4] {
        let path = folder.join("synced");
        let started: Vec<_> = (0..writers)
            .map(|_| {
                let path = path.clone();
                thread::spawn(move || count_synced(&path))
            })
            .collect();
        let mut sum = 0;
        for writer in started {
            sum += writer.join().expect("a writer does not panic")?;
        }
        fs::remove_file(&path)?;
        let rate = f64::from(sum) / DISK_TIME.as_secs_f64();
        println!(
            "| the disk: 12 KiB written and waited for, writers: {writers} | {rate:.0} | – | – |"
        );
    }
    Ok(())
}

/// How many writes one writer finishes.
fn count_synced(path: &Path) -> io::Result<u32> {
    let mut file = File::options().create(true).append(true).open(path)?;
    let begun = Instant::now();
    let mut count = 0;
    while begun.elapsed() < DISK_TIME {
        file.write_all(&COMMIT)?;
        file.sync_data()?;
        count += 1;
    }
    Ok(count)
}

/// Prints rows of the table of rates. Without `pgbench` there are none.
pub(super) fn report_limits(server: &PostgresServer, folder: &Path) -> Result<()> {
    // `postgres` on PATH may be a link: the other programs are where it leads to.
    let server_program = installed_programs().map(|folder| folder.join("postgres"));
    let server_program = server_program.and_then(|it| it.canonicalize().ok());
    let programs = server_program.and_then(|it| Some(it.parent()?.to_owned()));
    let Some(programs) = programs.filter(|it| it.join("pgbench").is_file()) else {
        println!("| `pgbench`: not installed | – | – | – |");
        return Ok(());
    };
    let program = |name: &str| Command::new(programs.join(name));
    run(program("pgbench").args(["-i", "-q", "-s", "10", server.url()]))?;
    let script = folder.join("chunk.sql");
    fs::write(&script, INSERT)?;
    run(program("psql").args(["-q", "-c", CHUNKS, server.url()]))?;
    let clients = ["-n", "-c", "16", "-j", "2", "-T", "10"];
    let updates = rate(run(program("pgbench")
        .args(clients)
        .args(["-N", server.url()]))?)?;
    let mut inserts = program("pgbench");
    inserts
        .args(clients)
        .arg("-f")
        .arg(&script)
        .arg(server.url());
    let inserts = rate(run(&mut inserts)?)?;
    println!("| `pgbench -N`: transactions | {updates:.0} | – | – |");
    let events = inserts * CHUNK_EVENTS;
    println!("| `pgbench`: inserts of a chunk, as events | {events:.0} | – | – |");
    Ok(())
}

/// The output of a program that must succeed.
fn run(command: &mut Command) -> Result<String> {
    let program = command.get_program().display().to_string();
    let output = command.output();
    let output = output.with_context(|| format!("cannot start `{program}`"))?;
    let complaint = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "`{program}`: {complaint}");
    Ok(String::from_utf8(output.stdout)?)
}

/// The rate in a report of `pgbench`: `tps = 1234.5 (without initial connection time)`.
#[expect(
    clippy::needless_pass_by_value,
    reason = "the report is not used any more"
)]
fn rate(report: String) -> Result<f64> {
    let line = report.lines().find_map(|line| line.strip_prefix("tps = "));
    let number = line.and_then(|rest| rest.split(' ').next());
    Ok(number.context("`pgbench` printed no rate")?.parse()?)
}
