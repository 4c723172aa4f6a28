//! `lapidary connect` from the side of a client program: events out, commands in, and an agent that carries out its prompts.

mod elicitations;
mod endings;
mod hooked;
mod lines;
mod page;
mod peer;
mod places;
mod prompts;
mod sessions;
