//! Names that stand for models: definitions and settings of Gemini CLI use them.

/// The model that a name stands for with an API key, as in Gemini CLI 0.61: its short names, and models that a newer one has replaced.
///
/// Gemini CLI lets a router choose for `auto`. There is no router here: `auto` is the model of Gemini CLI where its router does not decide.
pub fn concrete_model(name: &str) -> &str {
    match name.trim() {
        "auto" | "auto-gemini-3" | "pro" | "gemini-3-pro-preview" => "gemini-3.1-pro-preview",
        "auto-gemini-2.5" => "gemini-2.5-pro",
        "flash" | "gemini-3-flash" | "gemini-3.5-flash" => "gemini-3.8-flash",
        "flash-lite" | "gemini-3.1-flash-lite" => "gemini-3.5-flash-lite",
        concrete => concrete,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_alias_is_a_model_that_the_api_knows() {
        for (name, model) in [
            ("auto", "gemini-3.1-pro-preview"),
            (" flash ", "gemini-3.8-flash"),
            ("gemini-2.5-flash", "gemini-2.5-flash"),
            ("my-model", "my-model"),
        ] {
            assert_eq!(concrete_model(name), model);
        }
    }
}
