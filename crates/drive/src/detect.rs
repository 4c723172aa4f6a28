//! Finding an agent on this machine, and saying where it was looked for.
