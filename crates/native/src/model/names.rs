//! Names that stand for models: definitions and settings of Gemini CLI use them.

/// The model where no router decides, as in Gemini CLI when its router fails.
const ROUTED: &str = "gemini-2.5-pro";

/// The model that a name stands for (0.61). There is no router here: an `auto` model is the one that Gemini CLI falls back to.
pub fn concrete_model(name: &str) -> &str {
    match name.trim() {
        "auto" | "auto-gemini-3" | "auto-gemini-2.5" | "pro" => ROUTED,
        "flash" => "gemini-3-flash-preview",
        "flash-lite" => "gemini-3.1-flash-lite",
        concrete => concrete,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_alias_is_a_model_that_the_api_knows() {
        for (name, model) in [
            ("auto", "gemini-2.5-pro"),
            (" flash ", "gemini-3-flash-preview"),
            ("gemini-2.5-flash", "gemini-2.5-flash"),
            ("my-model", "my-model"),
        ] {
            assert_eq!(concrete_model(name), model);
        }
    }
}
