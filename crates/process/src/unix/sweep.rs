//! Killing programs with every process that they started, many programs at a time.
//!
//! Finding the processes with a mark needs a look at every process of the system. When a hundred programs time out at once, a
//! hundred such sweeps would take too long, so callers queue up and one sweep serves the whole queue. There is no thread for it:
//! the first caller in the queue sweeps for all.

use std::collections::{HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use super::tree::{self, CarriedMarks};
use crate::short_command::MARK;

/// How often new processes are looked for while the ones found so far are stopped.
const FREEZES: u32 = 8;

/// So long a process that is in the middle of `execve` gets to show its environment before the next look.
const EXEC_PAUSE: Duration = Duration::from_millis(1);

/// A process without our mark is not looked at again for this long. Later its id may belong to another process.
const BELIEF: Duration = Duration::from_millis(100);

/// A program that is to end, by what tells its processes from others.
#[derive(Debug)]
pub(super) struct SweepTarget {
    /// The program and its group, until the program is reaped.
    pub(super) root: Option<Pid>,
    /// What everything that it started says where [`MARK`] is.
    pub(super) mark: OsString,
}

/// Kills every process of a program once, together with other programs whose time is up. Returns how many processes it had. Can
/// be dropped: then nothing is killed for it.
pub(super) async fn strike_target(target: SweepTarget) -> u32 {
    let place = QueuePlace::default();
    shared_sweeper()
        .waiting
        .push((target, Arc::clone(&place.0)));
    // Let other callers that are ready join the queue.
    tokio::task::yield_now().await;
    shared_sweeper().sweep();
    // Another caller may have swept for us in the meantime.
    place.0.get().copied().unwrap_or_default()
}

/// The same at once, without the queue.
pub(super) fn strike_now(target: &SweepTarget) {
    shared_sweeper().strike(&[target]);
}

/// A place in the queue, and how many were struck once it was its turn.
#[derive(Debug, Default)]
struct QueuePlace(Arc<OnceLock<u32>>);

impl Drop for QueuePlace {
    fn drop(&mut self) {
        let is_other = |(_, place): &(SweepTarget, _)| !Arc::ptr_eq(place, &self.0);
        shared_sweeper().waiting.retain(is_other);
    }
}

/// Sweeps the processes of all waiting callers.
#[derive(Debug)]
struct TreeSweeper {
    waiting: Vec<(SweepTarget, Arc<OnceLock<u32>>)>,
    /// The marks of processes, and processes without one.
    known: CarriedMarks,
    /// When `known` was last emptied.
    since: Instant,
}

fn shared_sweeper() -> MutexGuard<'static, TreeSweeper> {
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
        // A process that was read while it was being started showed our environment.
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

    /// The descendants of each program and the processes with its mark, the program included. Dead processes have no environment.
    /// True if the environment of a process could not be read yet.
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
    async fn the_first_caller_sweeps_for_the_whole_queue() {
        // The same test may run twice on this machine.
        let mark = |number: u32| format!("sweep {} {number}", std::process::id());
        let marks = [1, 2, 3].map(mark);
        let [first, second, third] = marks.each_ref().map(String::as_str);
        let mut programs = [first, second, third].map(program);
        let mut one = pin!(strike_target(target(first)));
        let mut two = pin!(strike_target(target(second)));
        let mut gone = Box::pin(strike_target(target(third)));
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
