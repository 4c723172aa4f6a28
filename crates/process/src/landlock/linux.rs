//! The system calls, by the crate of Landlock's maintainer.

use std::io;
use std::os::fd::AsFd;

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible as _, NetPort,
    PathBeneath, PathFd, Ruleset, RulesetAttr as _, RulesetCreated, RulesetCreatedAttr as _,
    RulesetError, RulesetStatus, Scope,
};
use rustix::fs::{FileType, fstat};

use crate::{Confinement, LandlockAbi, Stdio};

/// The access rights that apply to a single file.
const FILE_ALONE: BitFlags<AccessFs> = landlock::make_bitflags!(AccessFs::{WriteFile | Truncate});

/// The newest version whose rights the kernel knows. The crate tells no number, so each version is asked for.
pub(crate) fn abi_of_kernel() -> LandlockAbi {
    let has_files = |abi| can_create(|ruleset| ruleset.handle_access(AccessFs::from_write(abi)));
    if can_create(|ruleset| ruleset.scope(Scope::from_all(ABI::V6))) {
        LandlockAbi::SCOPES
    } else if can_create(|ruleset| ruleset.handle_access(AccessNet::ConnectTcp)) {
        LandlockAbi::TCP
    } else if has_files(ABI::V3) {
        LandlockAbi::TRUNCATION
    } else if has_files(ABI::V2) {
        LandlockAbi::RENAMES
    } else if has_files(ABI::V1) {
        LandlockAbi::FILES
    } else {
        LandlockAbi::NONE
    }
}

fn can_create(ask: impl FnOnce(Ruleset) -> Result<Ruleset, RulesetError>) -> bool {
    ask(demanding_ruleset()).is_ok_and(|ruleset| ruleset.create().is_ok())
}

/// A ruleset of which everything has to hold.
fn demanding_ruleset() -> Ruleset {
    Ruleset::default().set_compatibility(CompatLevel::HardRequirement)
}

/// Confines this process, which must have one thread, and everything that it starts from now on. The files that the agent's stdout
/// and stderr are can be opened again: scripts do so by `/dev/stderr`.
pub(crate) fn restrict(
    confinement: &Confinement,
    abi: LandlockAbi,
    stdio: &Stdio,
) -> io::Result<()> {
    let rights = write_rights(abi);
    let mut rules = created_ruleset(confinement, abi, rights).map_err(io::Error::other)?;
    for path in &confinement.write {
        // One that has gone meanwhile can be written by no process.
        if let Ok(place) = PathFd::new(path) {
            rules = with_granted_path(rules, place, rights)?;
        }
    }
    for output in [&stdio.stdout, &stdio.stderr] {
        if check_type(output, FileType::RegularFile)? {
            rules = with_granted_path(rules, output, rights)?;
        }
    }
    let status = rules.restrict_self().map_err(io::Error::other)?;
    match status.ruleset {
        RulesetStatus::FullyEnforced => Ok(()),
        _ => Err(io::ErrorKind::Unsupported.into()),
    }
}

/// The rights that are taken away where they are not granted.
fn write_rights(abi: LandlockAbi) -> BitFlags<AccessFs> {
    AccessFs::from_write(match abi {
        LandlockAbi::FILES => ABI::V1,
        LandlockAbi::RENAMES => ABI::V2,
        _ => ABI::V3, // later versions have rights that are not about files
    })
}

fn created_ruleset(
    confinement: &Confinement,
    abi: LandlockAbi,
    rights: BitFlags<AccessFs>,
) -> Result<RulesetCreated, RulesetError> {
    let mut ruleset = demanding_ruleset().handle_access(rights)?;
    let ports = confinement.connect.as_ref();
    let ports = ports.filter(|_| abi >= LandlockAbi::TCP);
    if ports.is_some() {
        ruleset = ruleset.handle_access(AccessNet::ConnectTcp)?;
    }
    if abi >= LandlockAbi::SCOPES {
        ruleset = ruleset.scope(Scope::from_all(ABI::V6))?;
    }
    let ports = ports.into_iter().flatten();
    let ports = ports.map(|port| Ok::<_, RulesetError>(NetPort::new(*port, AccessNet::ConnectTcp)));
    ruleset.create()?.add_rules(ports)
}

fn with_granted_path(
    rules: RulesetCreated,
    place: impl AsFd,
    rights: BitFlags<AccessFs>,
) -> io::Result<RulesetCreated> {
    let rights = if check_type(&place, FileType::Directory)? {
        rights
    } else {
        rights & FILE_ALONE
    };
    let rule = PathBeneath::new(place, rights);
    rules.add_rule(rule).map_err(io::Error::other)
}

fn check_type(place: &impl AsFd, kind: FileType) -> io::Result<bool> {
    Ok(FileType::from_raw_mode(fstat(place)?.st_mode) == kind)
}
