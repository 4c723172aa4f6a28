//! A store, the program that measures it, and the program that works on it.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use anyhow::{Context as _, Result, ensure};

use super::super::measure::printed_numbers;

/// A store, and the programs that use it.
#[derive(Debug, Clone)]
pub(super) struct FleetStage {
    /// The example of `lapidary-fleet` that measures.
    pub(super) rates: PathBuf,
    pub(super) lapidary: PathBuf,
    pub(super) folder: PathBuf,
    /// The address of the store.
    pub(super) store: String,
}

impl FleetStage {
    /// Makes the folder and the tables.
    pub(super) fn set_up(&self) -> Result<()> {
        fs::create_dir_all(self.folder.join("project"))?;
        self.measure("init", &[])?;
        Ok(())
    }

    /// The numbers that the measuring program prints.
    pub(super) fn measure(&self, what: &str, args: &[&str]) -> Result<Vec<f64>> {
        printed_numbers(&mut self.rates_command(what, args))
    }

    /// The sum of the counts of several processes that run at a time.
    pub(super) fn sum_of_processes(
        &self,
        what: &str,
        processes: usize,
        args: &[&str],
    ) -> Result<f64> {
        let started = (0..processes).map(|_| {
            let mut command = self.rates_command(what, args);
            command.stdout(Stdio::piped()).stderr(Stdio::piped());
            command.spawn().context("cannot start `rates`")
        });
        let started: Vec<Child> = started.collect::<Result<_>>()?;
        let mut sum = 0.0;
        for child in started {
            let output = child.wait_with_output()?;
            let complaint = String::from_utf8_lossy(&output.stderr);
            ensure!(output.status.success(), "`rates {what}`: {complaint}");
            let count: f64 = String::from_utf8(output.stdout)?.trim().parse()?;
            sum += count;
        }
        Ok(sum)
    }

    fn rates_command(&self, what: &str, args: &[&str]) -> Command {
        let mut command = Command::new(&self.rates);
        command.args([what, &self.store]).args(args);
        command
    }

    /// `lapidary fleet VERB` on this store, in a home of its own.
    pub(super) fn fleet_command(&self, verb: &str) -> Command {
        let mut command = Command::new(&self.lapidary);
        command
            .args(["fleet", verb])
            .current_dir(self.folder.join("project"))
            .env_clear()
            .env("HOME", &self.folder)
            .env("PATH", "/usr/bin:/bin")
            .env("LAPIDARY_STORE", &self.store)
            .env("GEMINI_CLI_PATH", self.folder.join("agent"))
            .env("GEMINI_CLI_TRUST_WORKSPACE", "true")
            .stdin(Stdio::null());
        command
    }
}
