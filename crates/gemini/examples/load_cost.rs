//! The cost of reading settings and skills: `cargo run --release --example load_cost -- HOME PROJECT ROUNDS`.
//!
//! It prints how many settings files and skills there were, and the CPU time of reading each kind once, in microseconds: the
//! least of all rounds, and of as many rounds again.

#[cfg(unix)]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    unix::main()
}

#[cfg(not(unix))]
fn main() {}

#[cfg(unix)]
mod unix {
    use std::collections::BTreeMap;
    use std::error::Error;
    use std::hint::black_box;
    use std::io::{Write as _, stdout};
    use std::path::PathBuf;

    use lapidary_gemini::setup::Setup;
    use lapidary_gemini::skills::{SkillManager, SkillSources};
    use lapidary_gemini::{GeminiHome, Vars};
    use nix::sys::resource::{UsageWho, getrusage};
    use nix::sys::time::TimeValLike as _;

    #[expect(clippy::disallowed_methods, reason = "a program reads its arguments")]
    pub(super) fn main() -> Result<(), Box<dyn Error>> {
        let mut args = std::env::args_os().skip(1);
        let mut path = || args.next().map(PathBuf::from).ok_or("HOME PROJECT ROUNDS");
        let (home, project) = (path()?, path()?);
        let rounds: u32 = path()?.to_string_lossy().parse()?;
        let home = GeminiHome::at(home);
        let vars = BTreeMap::from([("GEMINI_CLI_TRUST_WORKSPACE".into(), "true".into())]);
        let read = || Setup::read(&home, &project, Vars::new(&vars));
        let setup = read();
        let load = || {
            let mut skills = SkillManager::new(SkillSources::from_setup(&setup, None));
            skills.load_skills();
            skills
        };
        let counts = [setup.settings.files.len(), load().all_skills().len()];
        let costs = [
            least(rounds, read)?,
            least(rounds, read)?,
            least(rounds, load)?,
            least(rounds, load)?,
        ];
        let [files, skills] = counts;
        let [settings, settings_again, loading, loading_again] = costs;
        writeln!(
            stdout(),
            "{files} {settings} {settings_again} {skills} {loading} {loading_again}"
        )?;
        Ok(())
    }

    /// The least CPU time of so many turns, in microseconds.
    fn least<T>(rounds: u32, mut turn: impl FnMut() -> T) -> Result<i64, Box<dyn Error>> {
        let mut least = i64::MAX;
        for _ in 0..rounds {
            let before = spent()?;
            black_box(turn());
            least = least.min(spent()? - before);
        }
        Ok(least)
    }

    fn spent() -> Result<i64, nix::Error> {
        let usage = getrusage(UsageWho::RUSAGE_SELF)?;
        Ok((usage.user_time() + usage.system_time()).num_microseconds())
    }
}
