//! Generated secrets as they occur in sessions, and innocent text beside them, to measure the findings of a redactor.
//!
//! Everything is generated from a fixed seed, so that no secret stands in the repository and two runs measure the same corpus.
//! The templates were written before the detectors were tuned; they include secrets that no detector can know (`admin /
//! hunter2`).

mod innocent;
mod templates;
mod values;

use crate::mutate::SeededRng;
use templates::TEMPLATES;

/// Where a secret stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SecretContext {
    /// What people and models write.
    Prose,
    /// Programs.
    Code,
    /// JSON documents within texts.
    Json,
    /// YAML, TOML and properties.
    Yaml,
    /// Addresses and command lines.
    Url,
    /// Environment dumps and `.env` files.
    Environment,
}

impl SecretContext {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Prose,
        Self::Code,
        Self::Json,
        Self::Yaml,
        Self::Url,
        Self::Environment,
    ];

    /// Its name in tables.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Prose => "prose",
            Self::Code => "code",
            Self::Json => "JSON",
            Self::Yaml => "YAML",
            Self::Url => "URLs and commands",
            Self::Environment => "environment",
        }
    }

    /// The name ending of a file with such content, for scanners that go by file names.
    pub fn file_ending(self) -> &'static str {
        match self {
            Self::Prose => "md",
            Self::Code => "py",
            Self::Json => "json",
            Self::Yaml => "yaml",
            Self::Url => "sh",
            Self::Environment => "env",
        }
    }
}

/// The kind of secret that fills a template.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TemplateClass {
    /// A token whose issuer gives it a recognisable beginning.
    Issued,
    /// Random characters.
    Random,
    /// A password that a person chose.
    Password,
}

/// A text and the secret in it.
#[derive(Debug, Clone)]
pub struct SecretSample {
    /// Where it stands.
    pub context: SecretContext,
    /// The text.
    pub text: String,
    /// None if the text is innocent.
    pub secret: Option<String>,
}

/// Texts that hold one secret each, the same number for each context.
pub fn secrets(count: usize) -> Vec<SecretSample> {
    let mut rng = SeededRng::new(16);
    let contexts = SecretContext::ALL.into_iter().cycle().take(count);
    contexts
        .map(|context| secret_sample(&mut rng, context))
        .collect()
}

/// Texts without a secret, the same number for each context.
pub fn innocent(count: usize) -> Vec<SecretSample> {
    let mut rng = SeededRng::new(61);
    let contexts = SecretContext::ALL.into_iter().cycle().take(count);
    let sample = |context| SecretSample {
        context,
        text: innocent::innocent_text(&mut rng, context),
        secret: None,
    };
    contexts.map(sample).collect()
}

fn secret_sample(rng: &mut SeededRng, context: SecretContext) -> SecretSample {
    let fitting: Vec<_> = TEMPLATES.iter().filter(|it| it.0 == context).collect();
    let (_, class, template) = fitting[rng.below(fitting.len())];
    let secret = values::secret_value(rng, *class, context);
    let text = values::fill_template(rng, &template.replace("<<secret>>", &secret));
    SecretSample {
        context,
        text,
        secret: Some(secret),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn the_corpus_is_the_same_each_time_and_has_every_secret_in_its_text() {
        let samples = secrets(300);
        for (sample, again) in samples.iter().zip(secrets(300)) {
            assert_eq!(sample.text, again.text);
            let secret = sample.secret.as_deref().unwrap();
            assert!(sample.text.contains(secret), "{sample:?}");
            assert!(!sample.text.contains("<<"), "{sample:?}");
        }
        let name = |it: SecretContext| (it.as_str(), it.file_ending());
        let names: HashSet<_> = SecretContext::ALL.into_iter().map(name).collect();
        assert_eq!(names.len(), SecretContext::ALL.len());
        for sample in innocent(300) {
            assert!(!sample.text.contains("<<"), "{sample:?}");
        }
    }
}
