//! Failures in their order, each with links to its neighbours: a page without scripts can still be searched for what went wrong.

/// Counts the failures that are written.
#[derive(Debug, Default)]
pub(super) struct FailureLinks {
    written: usize,
    total: usize,
}

impl FailureLinks {
    pub(super) fn new(total: usize) -> Self {
        Self { written: 0, total }
    }

    /// The attribute that the next failure is found by, and the links to stand in it.
    pub(super) fn next(&mut self) -> (String, String) {
        self.written += 1;
        let at = self.written;
        let attribute = format!(" id=\"failure-{at}\"");
        if self.total < 2 {
            return (attribute, String::new());
        }
        let link = |to: usize, word: &str| format!(" <a href=\"#failure-{to}\">{word}</a>");
        let previous = (at > 1).then(|| link(at - 1, "previous"));
        let next = (at < self.total).then(|| link(at + 1, "next"));
        let links = format!(
            "<p class=\"jump\">Failure {at} of {}{}{}</p>\n",
            self.total,
            previous.unwrap_or_default(),
            next.unwrap_or_default()
        );
        (attribute, links)
    }
}
