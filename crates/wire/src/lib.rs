//! Other people's formats, field for field.
//!
//! Field names here are the agent's, not ours. Types are tolerant: a field is a [`Token`](lapidary_json::Token) that may be
//! missing or of another kind than documented, and the translator judges that. This crate knows no file, no
//! clock and none of our own vocabularies.
//!
//! | module | format |
//! |---|---|
//! | [`lines`] | bytes into lines: torn, too long or not UTF-8 |
//! | [`gemini::stream`] | `gemini -o stream-json`, 0.11 and later |
//! | [`gemini::output`] | `gemini -o json` |
//! | [`gemini::session`] | session files: one JSON document up to 0.38, an append log since 0.39 |
//! | [`gemini::hooks`] | input and output of hooks |
//! | [`a2a`] | the `Agent2Agent` protocol, 0.3 and 1.0, as a client has it |
//! | [`claude::session`] | session files of Claude Code |
//! | [`codex::rollout`] | session files of Codex CLI |
//! | [`opencode`] | sessions of opencode |
//! | [`qwen::session`] | session files of Qwen Code |
//! | [`record_tree`] | which records of a session file belong to its conversation |
//! | [`acp`] | the Agent Client Protocol, both directions, and transcripts of it |
//! | [`sse`] | server-sent events, as model APIs stream them |
//! | [`detect`] | which of these a text is |

pub mod a2a;
pub mod acp;
pub mod claude;
pub mod codex;
pub mod detect;
pub mod gemini;
pub mod lines;
pub mod opencode;
pub mod qwen;
pub mod record_tree;
pub mod sse;
