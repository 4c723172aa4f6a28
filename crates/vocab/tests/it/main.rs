//! The published contract, checked from outside.

mod files;
mod modules;
mod peers;
mod round_trip;
mod samples;
mod schemas;
