//! The verdict of a part of the bench on its numbers.

use super::{NOISE, control_off};

/// Why numbers cannot be trusted, and the goals that were missed.
#[derive(Debug, Default)]
pub(super) struct BenchVerdict {
    pub(super) doubts: Vec<String>,
    pub(super) misses: Vec<String>,
}

impl BenchVerdict {
    pub(super) fn add_verdict(&mut self, other: Self) {
        self.doubts.extend(other.doubts);
        self.misses.extend(other.misses);
    }

    /// Doubts the numbers if two measures of the same command are too far apart.
    pub(super) fn compare_control(&mut self, what: &str, ours: f64, control: f64) {
        let off = control_off(ours, control);
        if off.is_nan() || off > NOISE {
            let percent = off * 100.0;
            self.doubts
                .push(format!("{what}: the A/A control is {percent:.1} % off"));
        }
    }

    /// Notes a miss if a rate is below its limit, and says in a word whether it is not.
    pub(super) fn judge_rate(&mut self, what: &str, rate: f64, least: f64) -> &'static str {
        if rate >= least {
            return "yes";
        }
        self.misses
            .push(format!("{what}: {rate:.0} a second, at least {least}"));
        "**no**"
    }

    /// Notes a miss if a cost is over its limit, and says in a word whether it is not.
    pub(super) fn judge_limit(
        &mut self,
        what: &str,
        spent: f64,
        most: f64,
        unit: &str,
    ) -> &'static str {
        if spent <= most {
            return "yes";
        }
        self.misses
            .push(format!("{what}: {spent:.3} {unit}, at most {most}"));
        "**no**"
    }
}
