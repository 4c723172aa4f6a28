//! Files for an agent: reads and writes, and that no path leads out of the roots. Terminals need a supervisor, so the tests of
//! the command cover them.

mod ambush;
mod confined;
mod desk;
mod reading;
mod requests;
mod writing;
