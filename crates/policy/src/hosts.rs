//! The hosts that a call names: in its arguments, its title and its command.

use lapidary_json::{Token, TokenKind};

use super::argument_names::folded_name;
use super::host::{AddressHost, CallHost, host_like, host_of};
use super::shell::command_words;

/// Hosts of one call that are looked at.
const MOST_HOSTS: usize = 256;

/// How deep in lists and objects an address may stand.
const DEEPEST: usize = 8;

/// Bytes of texts of one call in which hosts are looked for.
const MOST_TEXT: usize = 256 << 10;

/// How names of arguments end that hold an address.
const ADDRESSES: [&str; 8] = [
    "url", "urls", "href", "uri", "uris", "host", "hostname", "endpoint",
];

/// Where Gemini CLI's `web_fetch` has its addresses, in a text.
const PROMPT: &str = "prompt";

/// The separators between words of a text.
const BETWEEN_WORDS: &str = "\"'`<>(){}|,;";

/// The hosts of a call.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CallHosts {
    /// Hosts of addresses that the call is about.
    pub named: Vec<CallHost>,
    /// Hosts of addresses in other texts, in the title and in the command.
    pub possible: Vec<CallHost>,
    /// Words of texts that look like hosts. Many are none: `README.md`.
    pub mentioned: Vec<CallHost>,
    /// The call does not show every host: an address is odd or cut, there are too many, or only a running shell knows it.
    pub is_hidden: bool,
}

/// The parts of a call that are searched for hosts.
#[derive(Debug, Clone, Copy)]
pub(super) struct HostSources<'a> {
    pub(super) input: Token<'a>,
    pub(super) title: Option<&'a str>,
    pub(super) command: Option<&'a str>,
    /// It fetches, by its kind.
    pub(super) is_fetch: bool,
    /// It may reach a host: texts of other calls, such as edits, are not looked through.
    pub(super) may_reach: bool,
}

/// How sure it is that a host in a text is one that the call reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum HostCertainty {
    /// The text is where the tool has its addresses.
    Named,
    /// It is any text.
    Possible,
}

impl CallHosts {
    pub(super) fn from_call(sources: HostSources<'_>) -> Self {
        let mut search = HostSearch {
            found: Self::default(),
            texts: Vec::new(),
            prompts: Vec::new(),
            left: MOST_TEXT,
        };
        search.of_members(sources.input, DEEPEST);
        if sources.may_reach || sources.command.is_some() {
            search.of_texts(sources);
        }
        search.found
    }

    /// True if the call names no host at all.
    pub fn is_empty(&self) -> bool {
        self.named.is_empty() && self.possible.is_empty()
    }

    /// Adds the hosts that a command line names.
    pub(super) fn of_command(&mut self, line: &str) {
        for command in command_words(line) {
            let mut own = Self::default();
            for word in &command.words {
                own.of_word(word, HostCertainty::Possible);
            }
            let is_silent = own.possible.is_empty() && own.mentioned.is_empty();
            own.is_hidden |= command.fetches && (command.is_expanded || is_silent);
            self.extend_hosts(own);
        }
    }

    fn extend_hosts(&mut self, more: Self) {
        self.is_hidden |= more.is_hidden;
        for host in more.possible {
            self.push(host, |hosts| &mut hosts.possible);
        }
        for host in more.mentioned {
            self.push(host, |hosts| &mut hosts.mentioned);
        }
    }

    /// Adds the hosts of earlier messages about the call. Agents stream an address bit by bit: a beginning of a later one is over.
    pub(super) fn add_before(&mut self, before: &Self) {
        self.is_hidden |= before.is_hidden && self.named.is_empty();
        let lists = [
            (&mut self.named, &before.named),
            (&mut self.possible, &before.possible),
            (&mut self.mentioned, &before.mentioned),
        ];
        for (now, before) in lists {
            let is_over = |host: &&CallHost| now.iter().any(|it| it.name.starts_with(&host.name));
            let more: Vec<_> = before.iter().filter(|host| !is_over(host)).collect();
            let more: Vec<_> = more.into_iter().cloned().collect();
            now.extend(more);
        }
    }

    fn of_text(&mut self, text: &str, surety: HostCertainty) {
        let is_between = |it: char| it.is_whitespace() || BETWEEN_WORDS.contains(it);
        for word in text.split(is_between).filter(|word| !word.is_empty()) {
            self.of_word(word, surety);
        }
    }

    /// The addresses in a word, and the word itself if it looks like a host: `--proxy=https://a.b`, `a.b`.
    fn of_word(&mut self, word: &str, surety: HostCertainty) {
        let word = word.trim_end_matches(['.', '!', '*']);
        let value = word.rsplit('=').next().unwrap_or_default();
        let starts = word
            .match_indices("://")
            .map(|(at, _)| scheme_start(word, at));
        let starts: Vec<_> = starts.collect();
        for start in &starts {
            self.add_host(host_of(&word[*start..]), surety);
        }
        if !starts.is_empty() {
            return;
        }
        match (host_like(value), surety) {
            (Some(host), HostCertainty::Named) => self.push(host, |hosts| &mut hosts.possible),
            (Some(host), HostCertainty::Possible) => self.push(host, |hosts| &mut hosts.mentioned),
            (None, _) => self.is_hidden |= host_of(value) == AddressHost::Unclear,
        }
    }

    fn add_host(&mut self, host: AddressHost, surety: HostCertainty) {
        match (host, surety) {
            (AddressHost::Known(host), HostCertainty::Named) => self.push(host, |it| &mut it.named),
            (AddressHost::Known(host), HostCertainty::Possible) => {
                self.push(host, |it| &mut it.possible);
            }
            (AddressHost::Unclear, _) => self.is_hidden = true,
            (AddressHost::None, _) => {}
        }
    }

    fn push(&mut self, host: CallHost, list: impl Fn(&mut Self) -> &mut Vec<CallHost>) {
        if list(self).contains(&host) {
            return;
        }
        if list(self).len() >= MOST_HOSTS {
            self.is_hidden = true;
            return;
        }
        list(self).push(host);
    }
}

/// Where the scheme begins that ends before `end`.
fn scheme_start(word: &str, end: usize) -> usize {
    let is_fit = |letter: char| letter.is_ascii_alphanumeric() || "+-.".contains(letter);
    let before = word[..end].trim_end_matches(is_fit);
    let scheme = word[before.len()..end].trim_start_matches(|it: char| !it.is_ascii_alphabetic());
    end - scheme.len()
}

/// The way through the arguments of a call.
struct HostSearch<'a> {
    found: CallHosts,
    texts: Vec<Token<'a>>,
    prompts: Vec<Token<'a>>,
    /// Bytes of texts that may still be looked through.
    left: usize,
}

impl<'a> HostSearch<'a> {
    fn of_members(&mut self, object: Token<'a>, depth: usize) {
        for (name, value) in object.members() {
            let name = folded_name(name);
            let holds_address = ADDRESSES.iter().any(|ending| name.ends_with(ending));
            self.of_value(value, depth, &name, holds_address);
        }
    }

    fn of_value(&mut self, value: Token<'a>, depth: usize, name: &str, holds_address: bool) {
        match (value.kind(), depth.checked_sub(1)) {
            (TokenKind::String, _) if holds_address => self.of_address(value, name),
            (TokenKind::String, _) if name == PROMPT => self.prompts.push(value),
            (TokenKind::String, _) => self.texts.push(value),
            (TokenKind::Object, Some(depth)) => self.of_members(value, depth),
            (TokenKind::Array, Some(depth)) => {
                for item in value.elements() {
                    self.of_value(item, depth, name, holds_address);
                }
            }
            (TokenKind::Object | TokenKind::Array, None) => self.found.is_hidden = true,
            _ => {}
        }
    }

    /// An address under a name for addresses. A `uri` may be a file.
    fn of_address(&mut self, value: Token<'a>, name: &str) {
        let address = value.string().unwrap_or_default();
        match host_of(&address) {
            AddressHost::None if address.is_empty() => {}
            AddressHost::None if name.contains("uri") => self.texts.push(value),
            AddressHost::None => self.found.is_hidden = true,
            known => self.found.add_host(known, HostCertainty::Named),
        }
        let rest = address.find("://").map_or("", |at| &address[at + 3..]);
        if rest.contains("://") {
            self.found.of_text(rest, HostCertainty::Possible); // an address in an address, as archives have it
        }
    }

    /// The other texts. If a fetching call names no address in its arguments, its prompt does, or else its title.
    fn of_texts(&mut self, sources: HostSources<'_>) {
        let is_nameless = sources.is_fetch && self.found.named.is_empty();
        let has_arguments = sources.input.members().next().is_some();
        let prompts = std::mem::take(&mut self.prompts);
        for prompt in prompts {
            self.of_token(prompt, host_certainty(is_nameless));
        }
        for text in std::mem::take(&mut self.texts) {
            self.of_token(text, HostCertainty::Possible);
        }
        if let Some(command) = sources.command {
            self.found.of_command(command);
        } else if let Some(title) = sources.title {
            let is_all = is_nameless && !has_arguments;
            self.found.of_text(title, host_certainty(is_all));
            let is_cut = title.contains("...") || title.contains('…');
            self.found.is_hidden |= is_all && is_cut;
        }
    }

    fn of_token(&mut self, text: Token<'_>, surety: HostCertainty) {
        match self.left.checked_sub(text.as_str().len()) {
            Some(left) => {
                self.left = left;
                let text = text.string().unwrap_or_default();
                self.found.of_text(&text, surety);
            }
            None => self.found.is_hidden = true,
        }
    }
}

fn host_certainty(is_named: bool) -> HostCertainty {
    if is_named {
        HostCertainty::Named
    } else {
        HostCertainty::Possible
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use lapidary_vocab::event::{ToolInvocation, ToolKind};
    use lapidary_vocab::{Json, Text};

    use crate::{Decision, PermissionEffect, PermissionMode, Policy, Rule, Rules, ToolAction};

    fn call(kind: &str, tool: &str, input: &str, title: Option<&str>) -> ToolAction {
        let call = ToolInvocation {
            call_id: Text::from("c"),
            tool_name: Text::from(tool.to_owned()),
            kind: ToolKind::from(kind),
            input: Json::from_value(&serde_json::from_str::<serde_json::Value>(input).unwrap()),
            parent_call_id: None,
            title: title.map(|title| Text::from(title.to_owned())),
            locations: Vec::new(),
            model: None,
        };
        ToolAction::of_call(&call, None, Path::new("/work"))
    }

    fn fetch(input: &str) -> ToolAction {
        call("fetch", "WebFetch", input, None)
    }

    fn run(command: &str) -> ToolAction {
        let input = serde_json::json!({ "command": command }).to_string();
        call("execute", "Bash", &input, None)
    }

    fn decide(effect: PermissionEffect, spec: &str, action: &ToolAction) -> Decision {
        let rule = Rule::parse_flag(effect, spec, Path::new("/work")).unwrap();
        let mode = match effect {
            PermissionEffect::Allow => PermissionMode::Default,
            PermissionEffect::Ask | PermissionEffect::Deny => PermissionMode::BypassPermissions,
        };
        Policy::new(Rules::new([rule]), mode).decide(action)
    }

    #[track_caller]
    fn check_allowed(spec: &str, action: &ToolAction, expected: bool) {
        let decision = decide(PermissionEffect::Allow, spec, action);
        assert_eq!(
            decision.effect == PermissionEffect::Allow,
            expected,
            "{action:?}"
        );
    }

    #[track_caller]
    fn check_denied(spec: &str, action: &ToolAction, expected: Option<&str>) {
        let decision = decide(PermissionEffect::Deny, spec, action);
        let why = (decision.effect == PermissionEffect::Deny).then_some(decision.reason);
        let why = why.as_deref();
        let why = why.map(|why| why.split_once(": ").map_or("", |(_, why)| why));
        assert_eq!(why, expected, "{action:?}");
    }

    #[test]
    fn a_rule_that_allows_a_host_is_sure_of_every_host() {
        for (input, expected) in [
            (
                r#"{"url":"https://docs.rs/serde","prompt":"What is in README.md?"}"#,
                true,
            ),
            (
                r#"{"urls":["https://docs.rs/a","https://DOCS.RS/b"]}"#,
                true,
            ),
            (
                r#"{"prompt":"read https://docs.rs/a and https://docs.rs/b."}"#,
                true,
            ),
            (
                r#"{"url":"https://docs.rs","prompt":"and https://evil.com"}"#,
                false,
            ),
            (r#"{"urls":["https://docs.rs","https://evil.com"]}"#, false),
            (r#"{"prompt":"read https://docs.rs and evil.com"}"#, false),
            (r#"{"url":"https://docs.rs@evil.com"}"#, false),
            (r#"{"url":"https://docs.rs\\@evil.com"}"#, false),
            (
                r#"{"url":"https:evil.com","prompt":"https://docs.rs"}"#,
                false,
            ),
            (r#"{"url":"https://docs.rs/?to=https://evil.com"}"#, false),
            (r#"{"query":"https://docs.rs"}"#, false),
            (
                r#"{"a":[[[[[[[[["https://evil.com"]]]]]]]]],"url":"https://docs.rs"}"#,
                false,
            ),
            ("{}", false),
        ] {
            check_allowed("fetch:docs.rs", &fetch(input), expected);
        }
    }

    #[test]
    fn a_title_says_what_a_call_without_arguments_fetches_unless_it_is_cut() {
        let titled = |title| call("fetch", "web_fetch", "{}", Some(title));
        check_allowed(
            "fetch:docs.rs",
            &titled("Fetch \"https://docs.rs/a\""),
            true,
        );
        check_allowed(
            "fetch:docs.rs",
            &titled("Fetch \"https://docs.rs/a...\""),
            false,
        );
        let both = call("fetch", "x", r#"{"query":"a"}"#, Some("https://docs.rs"));
        check_allowed("fetch:docs.rs", &both, false);
    }

    #[test]
    fn a_rule_that_allows_a_host_allows_nothing_but_fetching() {
        let url = r#"{"url":"https://docs.rs"}"#;
        check_allowed("host=docs.rs", &fetch(url), true);
        for kind in ["edit", "read", "delete", "other", "mcp", "execute"] {
            check_allowed("host=docs.rs", &call(kind, "t", url, None), false);
        }
        check_allowed("host=docs.rs", &run("curl https://docs.rs"), false);
        let served = call("mcp", "mcp__web__get", url, None);
        let mut rule =
            Rule::parse_flag(PermissionEffect::Allow, "host=docs.rs", Path::new("/")).unwrap();
        rule.about.kinds = vec![ToolKind::Mcp];
        let policy = Policy::new(Rules::new([rule]), PermissionMode::Default);
        assert_eq!(policy.decide(&served).effect, PermissionEffect::Allow);
    }

    #[test]
    fn a_rule_that_denies_a_host_matches_what_it_cannot_see() {
        let may = Some("the call may reach `evil.com`");
        let hidden = Some("the call does not show every host that it reaches");
        let silent = Some("the call does not say which host it reaches");
        for (action, expected) in [
            (fetch(r#"{"url":"https://EVIL.com./x"}"#), Some("")),
            (fetch(r#"{"url":"https://docs.rs"}"#), None),
            (
                fetch(r#"{"url":"https://docs.rs","prompt":"see evil.com"}"#),
                may,
            ),
            (fetch(r#"{"url":"https://ev%69l.com"}"#), hidden),
            (fetch("{}"), silent),
            (
                call("mcp", "mcp__web__get", r#"{"page":"evil.com/x"}"#, None),
                may,
            ),
            (call("mcp", "mcp__web__get", r#"{"page":"x"}"#, None), None),
            (
                call("edit", "Write", r#"{"content":"https://evil.com"}"#, None),
                None,
            ),
        ] {
            check_denied("fetch:evil.com", &action, expected);
        }
    }

    #[test]
    fn a_rule_that_denies_a_host_looks_at_the_words_of_commands() {
        let may = Some("the call may reach `evil.com`");
        let hidden = Some("the call does not show every host that it reaches");
        for (line, expected) in [
            ("curl -s https://evil.com/x | tail -1", may),
            ("sudo wget evil.com", may),
            ("bash -c 'curl --url=http://evil.com:80'", may),
            ("git clone git@evil.com:a/b.git", may),
            ("curl $URL", hidden),
            ("wget -i list", hidden),
            ("curl https://docs.rs", None),
            ("cargo build", None),
        ] {
            check_denied("fetch:evil.com", &run(line), expected);
        }
        let unread = decide(PermissionEffect::Deny, "fetch:evil.com", &run("$x y"));
        assert_eq!(unread.effect, PermissionEffect::Ask);
    }
}
