//! The real Gemini CLI.
