//! Commands that take turns, and the agent alone among them.

use std::ffi::OsString;

use anyhow::Result;

use super::super::measure::ProcessCost;

/// The commands that run one agent, the agent alone first, with the least cost of each one so far.
pub(super) struct RunTurns(Vec<(&'static str, Vec<OsString>, Option<ProcessCost>)>);

impl RunTurns {
    pub(super) fn new(alone: Vec<OsString>) -> Self {
        Self(vec![("the agent alone", alone, None)])
    }

    pub(super) fn add_command(&mut self, what: &'static str, command: Vec<OsString>) {
        self.0.push((what, command, None));
    }

    /// Measures each of them once.
    pub(super) fn measure_each(
        &mut self,
        measure: impl Fn(&[OsString]) -> Result<ProcessCost>,
    ) -> Result<()> {
        for (_, command, least) in &mut self.0 {
            let cost = measure(command)?;
            *least = Some(least.map_or(cost, |least| least.minimum_with(cost)));
        }
        Ok(())
    }

    /// The cost of each command over the agent alone. Peaks stay whole: they do not add up.
    pub(super) fn costs_over_agent(&self) -> impl Iterator<Item = (&'static str, ProcessCost)> {
        let alone = self.0[0].2.unwrap_or_default();
        self.0[1..].iter().map(move |(what, _, least)| {
            let whole = least.unwrap_or_default();
            let over = ProcessCost {
                cpu: whole.cpu.saturating_sub(alone.cpu),
                wall: whole.wall.saturating_sub(alone.wall),
                peak_kib: whole.peak_kib,
            };
            (*what, over)
        })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn the_least_of_the_agent_alone_is_taken_from_the_least_of_the_others() {
        let ms = Duration::from_millis;
        let cost = |cpu, wall, peak_kib| ProcessCost {
            cpu: ms(cpu),
            wall: ms(wall),
            peak_kib,
        };
        let mut turns = RunTurns::new(vec!["alone".into()]);
        turns.add_command("ours", vec!["ours".into()]);
        for (alone, ours) in [
            (cost(3, 9, 1), cost(9, 20, 8)),
            (cost(4, 8, 1), cost(8, 30, 9)),
        ] {
            let measure =
                |command: &[OsString]| Ok(if command[0] == "alone" { alone } else { ours });
            turns.measure_each(measure).unwrap();
        }
        let over: Vec<_> = turns.costs_over_agent().collect();
        assert_eq!(over, [("ours", cost(5, 12, 8))]);
    }
}
