//! The requests that were made, as many as are worth keeping.

use std::collections::VecDeque;

use super::request::ApiRequest;

/// How many requests are kept: the newest ones.
const MOST_REQUESTS: usize = 10_000;
/// How many bytes the bodies of all kept requests had. One of an agent has a hundred thousand or so, and they grow turn by turn.
const MOST_BYTES: usize = 256 * 1024 * 1024;

/// The newest requests.
#[derive(Debug, Default)]
pub(super) struct RequestLog {
    kept: VecDeque<LogEntry>,
    bytes: usize,
    count: u64,
}

#[derive(Debug)]
struct LogEntry {
    request: ApiRequest,
    bytes: usize,
}

impl RequestLog {
    /// Numbers a request and keeps it. Returns how many there were so far.
    pub(super) fn add(&mut self, mut request: ApiRequest, bytes: usize) -> u64 {
        request.number = self.count;
        self.count += 1;
        self.bytes += bytes;
        self.kept.push_back(LogEntry { request, bytes });
        while self.kept.len() > MOST_REQUESTS || self.bytes > MOST_BYTES {
            let Some(oldest) = self.kept.pop_front() else {
                break;
            };
            self.bytes -= oldest.bytes;
        }
        self.count
    }

    /// The requests that are kept, oldest first.
    pub(super) fn requests(&self) -> Vec<ApiRequest> {
        let requests = self.kept.iter().map(|entry| &entry.request);
        requests.cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use hyper::Request as HttpRequest;

    use super::*;

    fn request() -> ApiRequest {
        let (head, ()) = HttpRequest::new(()).into_parts();
        ApiRequest::read(&head, "")
    }

    #[test]
    fn the_oldest_request_makes_room_for_the_newest() {
        let mut log = RequestLog::default();
        for _ in 0..=MOST_REQUESTS {
            log.add(request(), 1);
        }
        let numbers: Vec<_> = log.requests().iter().map(|kept| kept.number).collect();
        assert_eq!(numbers, (1..=MOST_REQUESTS as u64).collect::<Vec<_>>());
    }

    #[test]
    fn large_bodies_make_room_too() {
        let mut log = RequestLog::default();
        for _ in 0..3 {
            log.add(request(), MOST_BYTES / 2);
        }
        assert_eq!(log.requests().len(), 2);
    }
}
