//! The faults of the chaos.

use std::fmt::Display;
use std::time::Instant;

use jiff::Timestamp;
use lapidary_fleet::{CancelRequest, TicketState};
use nix::sys::signal::Signal;

use super::checks::OrderedCancel;
use super::{FleetChaos, LEASE, WORKERS, now_or_later};
use crate::fleet::processes;

impl FleetChaos {
    /// One random fault.
    pub(super) async fn strike(&mut self) {
        match self.dice.roll(10) {
            0 => self.hit_worker(Signal::SIGKILL),
            1 => self.hit_worker(Signal::SIGSTOP),
            2 => self.hit_supervisor(Signal::SIGKILL),
            3 => self.hit_supervisor(Signal::SIGSTOP),
            4 => self.hit_agent(Signal::SIGKILL),
            5 => self.hit_agent(Signal::SIGSTOP),
            6 => self.cancel_some().await,
            7 => self.fill_disk(),
            _ => {
                let fault = self.database.strike(&mut self.dice).await;
                if let Some(fault) = fault {
                    self.note(fault.name(), &"");
                }
            }
        }
    }

    /// Ends the faults whose time is over.
    pub(super) async fn mend(&mut self) {
        let now = Instant::now();
        self.database.mend(now).await;
        self.disk.mend(now);
        self.mend_workers(now);
    }

    /// Ends all faults.
    pub(super) async fn end_faults(&mut self) {
        self.database.end_fault().await;
        self.disk.empty();
        self.mend_workers(Instant::now() + 3 * LEASE);
    }

    /// Counts a fault of a worker, a process or a ticket, or of all.
    fn note(&mut self, fault: &'static str, target: &dyn Display) {
        *self.faults.entry(fault).or_default() += 1;
        let now = Timestamp::now();
        self.history.push(format!("{now} {fault} {target}"));
    }

    fn hit_worker(&mut self, signal: Signal) {
        let at = self.dice.roll(WORKERS);
        let stop = LEASE / 2 + self.dice.millis(0, 8_000);
        let worker = &mut self.workers[at];
        if !worker.is_rested() {
            return;
        }
        worker.hit = Some(Instant::now());
        worker.signal(signal);
        if signal == Signal::SIGSTOP {
            worker.stopped_until = Some(Instant::now() + stop);
            self.note("worker stopped", &at);
        } else {
            worker.is_killed = true;
            self.note("worker killed", &at);
        }
    }

    fn hit_supervisor(&mut self, signal: Signal) {
        let at = self.dice.roll(WORKERS);
        let supervisors = self.workers[at].supervisors();
        if !self.workers[at].is_rested() || supervisors.is_empty() {
            return;
        }
        let which = supervisors[self.dice.roll(supervisors.len())];
        self.workers[at].hit = Some(Instant::now());
        processes::signal(which, signal);
        let fault = match signal {
            Signal::SIGSTOP => "supervisor stopped",
            _ => "supervisor killed",
        };
        self.note(fault, &format_args!("{which} of worker {at}"));
    }

    fn hit_agent(&mut self, signal: Signal) {
        let processes = self.fleet.world.processes();
        let agents = processes
            .iter()
            .filter(|(_, line)| line.contains("/gemini "));
        let agents: Vec<i32> = agents.map(|(pid, _)| *pid).collect();
        if agents.is_empty() {
            return;
        }
        let which = agents[self.dice.roll(agents.len())];
        let stop = self.dice.millis(500, 15_000);
        processes::signal(which, signal);
        if signal == Signal::SIGSTOP {
            self.stopped_agents.push((which, Instant::now() + stop));
            self.note("agent stopped", &which);
        } else {
            self.note("agent killed", &which);
        }
    }

    fn fill_disk(&mut self) {
        // Rarely: each recording that is under way fails.
        if self.dice.roll(4) == 0 {
            let time = self.dice.millis(500, 3_000);
            if self.disk.fill(Instant::now() + time) {
                self.note("disk full", &"");
            }
        }
    }

    async fn cancel_some(&mut self) {
        if !self.database.is_up() {
            return;
        }
        let open = [TicketState::Waiting, TicketState::Running];
        let open = self.tickets(&open).await.unwrap_or_default();
        // One in ten is cancelled at most.
        if open.is_empty() || self.cancels.len() * 10 > self.submitted + 10 {
            return;
        }
        let ticket = open[self.dice.roll(open.len())].id.clone();
        let request = CancelRequest {
            by: "chaos".to_owned(),
            why: None,
            now: self.dice.roll(2) == 0,
        };
        let reply = now_or_later(self.fleet.store.cancel(&ticket, &request)).await;
        let found = now_or_later(self.fleet.store.ticket(&ticket)).await;
        let (Some(reply), Some(Some(found))) = (reply, found) else {
            return; // it may be cancelled or not
        };
        let cancel = OrderedCancel {
            reply,
            attempts: found.attempts,
        };
        self.note("ticket cancelled", &ticket);
        self.cancels.insert(ticket, cancel);
    }
}
