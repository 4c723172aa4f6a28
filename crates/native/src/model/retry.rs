//! When a request is made again, and after how long.

use std::hash::{BuildHasher as _, RandomState};
use std::time::Duration;

use tokio::time::sleep;

use super::error::{ModelError, RetryClass};
use super::{ModelAnswer, ModelEvent, RetryNotice};
use crate::tool::BoxFuture;

/// How often a request is made, and how long the waits between are. The default is Gemini CLI's (0.61).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RetryPolicy {
    /// Attempts at a request that is not answered.
    pub request_attempts: u32,
    /// The first wait between these; each further one is twice as long.
    pub request_delay: Duration,
    /// The longest wait that we choose. The API may ask for a longer one.
    pub longest_delay: Duration,
    /// Attempts at an answer that breaks off, is empty or cannot be read.
    pub answer_attempts: u32,
    /// The first wait between these; each further one is twice as long.
    pub answer_delay: Duration,
    /// The part of a wait by which it varies, so that clients do not return all at once.
    pub jitter: f64,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            request_attempts: 10,
            request_delay: Duration::from_secs(5),
            longest_delay: Duration::from_secs(30),
            answer_attempts: 4,
            answer_delay: Duration::from_secs(1),
            jitter: 0.3,
        }
    }
}

/// One attempt at a request, which passes each event of the answer to the listener.
pub(super) trait Attempt: Sync {
    fn attempt<'a>(
        &'a self,
        listener: &'a mut (dyn FnMut(ModelEvent) + Send),
    ) -> BoxFuture<'a, Result<ModelAnswer, ModelError>>;
}

impl RetryPolicy {
    /// Attempts until there is an answer, or an error that will not pass. Each wait is announced before it begins.
    pub(super) async fn run(
        &self,
        request: &dyn Attempt,
        listener: &mut (dyn FnMut(ModelEvent) + Send),
    ) -> Result<ModelAnswer, ModelError> {
        let (mut requests, mut answers) = (0, 0);
        loop {
            let error = match request.attempt(listener).await {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            let (attempt, max_attempts, first) = match error.retry_class() {
                RetryClass::Never => return Err(error),
                RetryClass::Request => {
                    requests += 1;
                    (requests, self.request_attempts, self.request_delay)
                }
                RetryClass::Answer => {
                    answers += 1;
                    (answers, self.answer_attempts, self.answer_delay)
                }
            };
            if attempt >= max_attempts {
                return Err(error);
            }
            let delay = self.retry_delay(&error, first, attempt);
            listener(ModelEvent::Retry(RetryNotice {
                attempt,
                max_attempts,
                delay,
                error,
            }));
            sleep(delay).await;
        }
    }

    fn retry_delay(&self, error: &ModelError, first: Duration, attempt: u32) -> Duration {
        if let ModelError::QuotaRetryable {
            delay: Some(delay), ..
        } = error
        {
            // Never earlier than the API asks for.
            return delay.mul_f64(1.0 + self.jitter * random_fraction());
        }
        let doubled = first.saturating_mul(1 << attempt.saturating_sub(1).min(16));
        let spread = 1.0 + self.jitter * (2.0 * random_fraction() - 1.0);
        doubled.min(self.longest_delay).mul_f64(spread)
    }
}

/// A number from 0 to 1. The keys of a hasher are random, and a wait needs no better chance.
fn random_fraction() -> f64 {
    let bits = RandomState::new().hash_one(0) >> 32;
    let bits = u32::try_from(bits).unwrap_or_default();
    f64::from(bits) / f64::from(u32::MAX)
}
