//! `lapidary connect` as programs meet it: events out, commands in, and an agent that does what its prompts say.

mod elicitations;
mod endings;
mod hooked;
mod lines;
mod page;
mod peer;
mod places;
mod prompts;
mod sessions;
