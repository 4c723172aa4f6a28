//! Rendering as a caller sees it: events in, three formats out.

mod ahead;
mod golden_events;
mod hostile;
mod html;
mod markdown;
mod sample;
mod text;
mod well_formed;
