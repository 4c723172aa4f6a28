//! Links that are safe to follow.

/// True for `http`, `https` and `mailto`. Everything else (`javascript:`, `data:`, `file:`, `vscode:`, relative paths) is
/// shown as text: a transcript has no place that a relative path could start from.
pub(crate) fn is_safe(url: &str) -> bool {
    // Browsers ignore white space and control characters within a scheme; a URL that has any is not one to trust.
    let is_clean = !url.chars().any(|c| c.is_control() || c.is_whitespace());
    let scheme = url
        .split_once(':')
        .map(|(scheme, _)| scheme.to_ascii_lowercase());
    is_clean && matches!(scheme.as_deref(), Some("http" | "https" | "mailto"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_web_and_mail_are_safe() {
        for url in [
            "https://a.example/?q=1",
            "HTTP://a.example",
            "mailto:a@b.example",
        ] {
            assert!(is_safe(url), "{url}");
        }
        for url in [
            "javascript:alert(1)",
            "JaVaScRiPt:alert(1)",
            "java\nscript:alert(1)",
            " javascript:alert(1)",
            "data:text/html,x",
            "file:///etc/passwd",
            "//evil.example",
            "/relative",
            "#top",
            "https\u{0}:x",
            "",
        ] {
            assert!(!is_safe(url), "{url}");
        }
    }
}
