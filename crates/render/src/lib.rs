//! Events as text, Markdown and HTML for people.
