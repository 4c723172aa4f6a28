//! Files for an agent: what is read and written, and that nothing leads out of the roots. Terminals need a supervisor, and are tested
//! where there is one: with the command.

mod ambush;
mod confined;
mod desk;
mod reading;
mod requests;
mod writing;
