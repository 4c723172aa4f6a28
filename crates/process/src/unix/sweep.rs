//! Killing programs with all that they started, many at a time.
//!
//! To find what carries a mark, everybody has to be asked. When the time of a hundred programs is up at once, a hundred rounds take
//! longer than anybody should have to wait: so whoever wants one comes along on the next. There is no thread for it, whoever is first
//! makes the round for all.

use std::collections::{HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use super::tree::{self, CarriedMarks};
use crate::short_command::MARK;

/// So often what came since is looked for while everything found so far is stopped.
const FREEZES: u32 = 8;

/// So long a process that is in the middle of `execve` gets to show its environment before the next look.
const EXEC_PAUSE: Duration = Duration::from_millis(1);

/// Whoever carries no mark, or another's, is not asked again for so long: later its id may be somebody else's.
const BELIEF: Duration = Duration::from_millis(100);

/// A program that is to end, by what tells its processes from others.
#[derive(Debug)]
pub(super) struct SweepTarget {
    /// The program and its group, as long as nobody has waited for it.
    pub(super) root: Option<Pid>,
    /// What everything that it started says where [`MARK`] is.
    pub(super) mark: OsString,
}

/// One blow at everything that is there of a program, and of those whose time is up as well. Returns how many processes it had. Can
/// be dropped: then nobody is struck for it.
pub(super) async fn strike(target: SweepTarget) -> u32 {
    let place = QueuePlace::default();
    sweeper().waiting.push((target, Arc::clone(&place.0)));
    // Whoever is ready now comes along.
    tokio::task::yield_now().await;
    sweeper().sweep();
    // Somebody else may have made the round in the meantime.
    place.0.get().copied().unwrap_or_default()
}

/// The same without waiting for anybody.
pub(super) fn strike_now(target: &SweepTarget) {
    sweeper().strike(&[target]);
}

/// A place in the queue, and how many were struck once it was its turn.
#[derive(Debug, Default)]
struct QueuePlace(Arc<OnceLock<u32>>);

impl Drop for QueuePlace {
    fn drop(&mut self) {
        let is_other = |(_, place): &(SweepTarget, _)| !Arc::ptr_eq(place, &self.0);
        sweeper().waiting.retain(is_other);
    }
}

/// Makes the rounds.
#[derive(Debug)]
struct TreeSweeper {
    waiting: Vec<(SweepTarget, Arc<OnceLock<u32>>)>,
    /// Who carries which mark, or none.
    known: CarriedMarks,
    /// Since when that is believed.
    since: Instant,
}

fn sweeper() -> MutexGuard<'static, TreeSweeper> {
    static SWEEPER: LazyLock<Mutex<TreeSweeper>> = LazyLock::new(|| {
        Mutex::new(TreeSweeper {
            waiting: Vec::new(),
            known: CarriedMarks::new(),
            since: Instant::now(),
        })
    });
    SWEEPER.lock().unwrap_or_else(PoisonError::into_inner)
}

impl TreeSweeper {
    /// One round for all who wait.
    fn sweep(&mut self) {
        let waiting = std::mem::take(&mut self.waiting);
        if waiting.is_empty() {
            return;
        }
        let targets: Vec<_> = waiting.iter().map(|(target, _)| target).collect();
        let counts = self.strike(&targets);
        for ((_, place), count) in waiting.iter().zip(counts) {
            let _ = place.set(count);
        }
    }

    /// Kills them. Returns how many processes each of them had.
    fn strike(&mut self, targets: &[&SweepTarget]) -> Vec<u32> {
        self.forget(targets);
        let found = self.frozen(targets);
        for root in targets.iter().filter_map(|target| target.root) {
            let _ = kill_process_group(root, Signal::KILL);
        }
        for pid in found.iter().flatten() {
            let _ = kill_process(*pid, Signal::KILL);
        }
        let counts = found.iter().map(|found| u32::try_from(found.len()));
        counts.map(|count| count.unwrap_or(u32::MAX)).collect()
    }

    fn forget(&mut self, targets: &[&SweepTarget]) {
        if self.since.elapsed() > BELIEF {
            self.known.clear();
            self.since = Instant::now();
        }
        // Whoever was asked while it was being started looked like us.
        for root in targets.iter().filter_map(|target| target.root) {
            self.known.remove(&root);
        }
    }

    /// Everything that is there of each, stopped, so that none can start another before it is killed.
    fn frozen(&mut self, targets: &[&SweepTarget]) -> Vec<HashSet<Pid>> {
        let mut all = vec![HashSet::new(); targets.len()];
        for _ in 0..FREEZES {
            let (mut fresh, has_unknown) = self.found(targets);
            fresh.retain(|(at, pid)| all[*at].insert(*pid));
            match (fresh.is_empty(), has_unknown) {
                (true, false) => break,
                (true, true) => std::thread::sleep(EXEC_PAUSE),
                (false, _) => {}
            }
            for (_, pid) in fresh {
                let _ = kill_process(pid, Signal::STOP);
            }
        }
        all
    }

    /// What stands below each program, and what carries its mark, itself included. The dead carry none. True if it is not known
    /// of some process yet what it carries.
    fn found(&mut self, targets: &[&SweepTarget]) -> (Vec<(usize, Pid)>, bool) {
        let below = |(at, target): (usize, &&SweepTarget)| {
            let below = target.root.map(tree::descendants).unwrap_or_default();
            below.into_iter().map(move |pid| (at, pid))
        };
        let mut found: Vec<_> = targets.iter().enumerate().flat_map(below).collect();
        let marks = targets.iter().enumerate();
        let marks: HashMap<&OsStr, usize> = marks.map(|(at, it)| (&*it.mark, at)).collect();
        let is_wanted = |mark: &OsStr| marks.contains_key(mark);
        let carriers = tree::carriers(MARK.as_ref(), is_wanted, &mut self.known);
        for (pid, mark) in carriers.found {
            found.extend(marks.get(&*mark).map(|at| (*at, pid)));
        }
        (found, carriers.has_unknown)
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::future::poll_fn;
    use std::pin::pin;
    use std::process::{Child, Command};
    use std::task::Poll;

    use super::*;

    fn program(mark: &str) -> Child {
        let mut command = Command::new("sleep");
        command
            .arg("60")
            .env(MARK, mark)
            .spawn()
            .expect("it starts")
    }

    fn target(mark: &str) -> SweepTarget {
        SweepTarget {
            root: None,
            mark: mark.into(),
        }
    }

    /// Whether it is only waiting to be buried.
    fn is_dead(child: &mut Child) -> bool {
        let deadline = Instant::now() + Duration::from_secs(10);
        while Instant::now() < deadline {
            if child.try_wait().expect("it is our child").is_some() {
                return true;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        false
    }

    #[tokio::test]
    async fn whoever_is_first_strikes_for_all_who_wait() {
        // The same test may run elsewhere on this machine.
        let mark = |number: u32| format!("sweep {} {number}", std::process::id());
        let marks = [1, 2, 3].map(mark);
        let [first, second, third] = marks.each_ref().map(String::as_str);
        let mut programs = [first, second, third].map(program);
        let mut one = pin!(strike(target(first)));
        let mut two = pin!(strike(target(second)));
        let mut gone = Box::pin(strike(target(third)));
        poll_fn(|context| {
            assert!(one.as_mut().poll(context).is_pending());
            assert!(two.as_mut().poll(context).is_pending());
            assert!(gone.as_mut().poll(context).is_pending());
            Poll::Ready(())
        })
        .await;
        drop(gone);
        assert_eq!(one.await, 1);
        assert!(is_dead(&mut programs[1]), "nobody else has struck yet");
        assert_eq!(two.await, 1, "and what was struck is told");
        assert!(programs[2].try_wait().unwrap().is_none(), "unwanted");
        strike_now(&target(third));
        assert!(programs.iter_mut().all(is_dead));
    }
}
