//! Where runs are recorded.

use std::path::Path;

use lapidary_vocab::doctor::{Check, CheckName, CheckState};

use crate::system;

const GIB: u64 = 1 << 30;

/// The output limit of a single run, unless configured otherwise.
const ENOUGH: u64 = GIB;

/// Whether recordings can be written, found out without writing one.
pub(super) fn writable_check(directory: &Path) -> Check {
    let check = |state, message: String| Check::new(CheckName::State, state, message);
    let shown = directory.display();
    let elsewhere = "set LAPIDARY_STATE_DIR to a directory that can be written";
    // The directory is made when it is needed, so its nearest existing ancestor counts.
    let nearest = directory.ancestors().find(|path| path.exists());
    let Some(nearest) = nearest else {
        let message = format!("nothing of `{shown}` exists");
        return check(CheckState::Problem, message).remedy(elsewhere);
    };
    if !nearest.is_dir() {
        let message = format!("`{}` is not a directory", nearest.display());
        return check(CheckState::Problem, message).remedy(elsewhere);
    }
    if let Err(error) = system::writable(nearest) {
        let message = format!("`{}` cannot be written: {error}", nearest.display());
        return check(CheckState::Problem, message).remedy(elsewhere);
    }
    match system::free_space(nearest) {
        None => check(CheckState::Ok, format!("runs are recorded in `{shown}`")),
        Some(free) => {
            let message = format!("runs are recorded in `{shown}`, {} free", size_text(free));
            if free < ENOUGH {
                let remedy = "free some space: a run may write 1 GiB";
                return check(CheckState::Warning, message).remedy(remedy);
            }
            check(CheckState::Ok, message)
        }
    }
}

fn size_text(bytes: u64) -> String {
    if bytes < GIB {
        format!("{} MiB", bytes >> 20)
    } else {
        format!("{} GiB", bytes >> 30)
    }
}
