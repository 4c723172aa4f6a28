//! Speaking ACP with scripted agents: real processes under the real supervisor, and none of them means well.

mod bounds;
mod endings;
mod hostile;
mod stage;
