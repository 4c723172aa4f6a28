//! `lapidary run` with scripted agents that are spoken to over ACP, none of which mean well: each run ends once, as it should, tells
//! every line, and leaves nothing behind.

mod asking;
mod cancelling;
mod deaths;
mod denied;
mod files;
mod floods;
mod garbled;
mod hooked;
mod judged;
mod lines;
mod opening;
mod scene;
mod turns;
mod views;
mod violations;
mod ways;
