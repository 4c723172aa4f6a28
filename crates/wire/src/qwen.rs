//! Qwen Code's formats. Versions up to 0.4 write session files like those of Gemini CLI ([`crate::gemini::session`]), with the type
//! `qwen` for the records of the model.

pub mod session;
