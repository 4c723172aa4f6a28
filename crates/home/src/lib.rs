//! What lies on disk in `.gemini`: read as Gemini CLI reads it, never written by reading.
