//! The front matter of an agent file: its shapes, and the messages about one that does not fit.

use super::failure::{FrontmatterIssue, LoadProblem, in_file};
use super::shape::{Field, Fit, Issue, NumberRule, ObjectShape, Shape, TOO_SHORT, TextRule};
use crate::notice::TextPosition;
use crate::skills;
use crate::yaml::{self, Yaml, YamlPlaces};

const TEXT: Shape = Shape::Text(TextRule::Any);
const URL: Shape = Shape::Text(TextRule::Url);
const NOT_EMPTY: Shape = Shape::Text(TextRule::NotEmpty(TOO_SHORT));
const TEXTS: Shape = Shape::List(&TEXT);

const fn required_field(name: &'static str, shape: Shape) -> Field {
    let is_required = true;
    Field {
        name,
        shape,
        is_required,
    }
}

const fn optional_field(name: &'static str, shape: Shape) -> Field {
    let is_required = false;
    Field {
        name,
        shape,
        is_required,
    }
}

const OAUTH: ObjectShape = ObjectShape {
    fields: &[
        required_field("type", Shape::Literal("oauth")),
        optional_field("client_id", TEXT),
        optional_field("client_secret", TEXT),
        optional_field("scopes", TEXTS),
        optional_field("authorization_url", URL),
        optional_field("token_url", URL),
        optional_field("issuer", URL),
        optional_field("audiences", TEXTS),
        optional_field("redirect_uri", URL),
        optional_field("token_param_name", TEXT),
        optional_field("registration_url", URL),
    ],
    is_strict: false,
};

const GOOGLE: ObjectShape = ObjectShape {
    fields: &[
        required_field("type", Shape::Literal("google-credentials")),
        optional_field("scopes", TEXTS),
    ],
    is_strict: false,
};

const API_KEY: ObjectShape = ObjectShape {
    fields: &[
        required_field("type", Shape::Literal("apiKey")),
        required_field(
            "key",
            Shape::Text(TextRule::NotEmpty("API key is required")),
        ),
        optional_field("name", TEXT),
    ],
    is_strict: false,
};

const HTTP: ObjectShape = ObjectShape {
    fields: &[
        required_field("type", Shape::Literal("http")),
        required_field("scheme", NOT_EMPTY),
        optional_field("token", NOT_EMPTY),
        optional_field("username", NOT_EMPTY),
        optional_field("password", NOT_EMPTY),
        optional_field("value", NOT_EMPTY),
    ],
    is_strict: false,
};

/// The `auth` of a remote agent, by its `type`.
pub(super) static REMOTE_AUTH: [(&str, ObjectShape); 4] = [
    ("apiKey", API_KEY),
    ("http", HTTP),
    ("google-credentials", GOOGLE),
    ("oauth", OAUTH),
];

static MCP_OAUTH: ObjectShape = OAUTH;
static MCP_GOOGLE: ObjectShape = GOOGLE;

/// An entry of `mcp_servers`.
pub(super) static MCP_SERVER: ObjectShape = ObjectShape {
    fields: &[
        optional_field("command", TEXT),
        optional_field("args", TEXTS),
        optional_field("env", Shape::Record(&TEXT)),
        optional_field("cwd", TEXT),
        optional_field("url", TEXT),
        optional_field("http_url", TEXT),
        optional_field("headers", Shape::Record(&TEXT)),
        optional_field("tcp", TEXT),
        optional_field("type", Shape::Word(&["sse", "http"])),
        optional_field("timeout", Shape::Number(NumberRule::Any)),
        optional_field("trust", Shape::Bool),
        optional_field("description", TEXT),
        optional_field("include_tools", TEXTS),
        optional_field("exclude_tools", TEXTS),
        optional_field(
            "auth",
            Shape::Union(&[Shape::Object(&MCP_GOOGLE), Shape::Object(&MCP_OAUTH)]),
        ),
    ],
    is_strict: false,
};

static MCP_SERVER_SHAPE: Shape = Shape::Object(&MCP_SERVER);
static TOOL: Shape = Shape::Text(TextRule::ToolName);

static LOCAL: ObjectShape = ObjectShape {
    fields: &[
        optional_field("kind", Shape::Literal("local")),
        required_field("name", Shape::Text(TextRule::Slug)),
        required_field("description", NOT_EMPTY),
        optional_field("display_name", TEXT),
        optional_field("tools", Shape::List(&TOOL)),
        optional_field("mcp_servers", Shape::Record(&MCP_SERVER_SHAPE)),
        optional_field("model", TEXT),
        optional_field("temperature", Shape::Number(NumberRule::Any)),
        optional_field("max_turns", Shape::Number(NumberRule::PositiveInteger)),
        optional_field("timeout_mins", Shape::Number(NumberRule::PositiveInteger)),
    ],
    is_strict: true,
};

static REMOTE_BY_URL: ObjectShape = ObjectShape {
    fields: &[
        optional_field("kind", Shape::Literal("remote")),
        required_field("name", Shape::Text(TextRule::Slug)),
        optional_field("description", TEXT),
        optional_field("display_name", TEXT),
        optional_field("auth", Shape::ByType(&REMOTE_AUTH)),
        required_field("agent_card_url", URL),
        optional_field("agent_card_json", Shape::Undefined),
    ],
    is_strict: true,
};

static REMOTE_BY_JSON: ObjectShape = ObjectShape {
    fields: &[
        optional_field("kind", Shape::Literal("remote")),
        required_field("name", Shape::Text(TextRule::Slug)),
        optional_field("description", TEXT),
        optional_field("display_name", TEXT),
        optional_field("auth", Shape::ByType(&REMOTE_AUTH)),
        optional_field("agent_card_url", Shape::Undefined),
        required_field("agent_card_json", Shape::Text(TextRule::Json)),
    ],
    is_strict: true,
};

static REMOTE: Shape = Shape::Union(&[
    Shape::Object(&REMOTE_BY_URL),
    Shape::Object(&REMOTE_BY_JSON),
]);

static ONE_AGENT: Shape = Shape::Union(&[
    Shape::Object(&LOCAL),
    Shape::Object(&REMOTE_BY_URL),
    Shape::Object(&REMOTE_BY_JSON),
]);

static REMOTE_LIST: Shape = Shape::List(&REMOTE);

/// What messages call the branches of a union, by their place in it.
const LABELS: [&str; 3] = ["Local Agent", "Remote Agent", "Remote Agent"];

/// Front matter that fits.
#[derive(Debug)]
pub(super) enum Frontmatter {
    Local { header: Yaml, body: String },
    Remote(Vec<Yaml>),
}

/// Reads the text of an agent file.
pub(super) fn read_frontmatter(text: &str) -> Result<Frontmatter, LoadProblem> {
    let (header, body) = skills::split_frontmatter(text).map_err(|_| LoadProblem::NoFrontmatter)?;
    let value = yaml::load(header).map_err(LoadProblem::Yaml)?;
    let value = (!header.is_empty()).then_some(value);
    if let Some(Yaml::List(agents)) = value {
        let value = Yaml::List(agents);
        check(&REMOTE_LIST, Some(&value), header, "Remote Agents List")?;
        let Yaml::List(agents) = value else {
            return Ok(Frontmatter::Remote(Vec::new()));
        };
        return Ok(Frontmatter::Remote(agents));
    }
    check(&ONE_AGENT, value.as_ref(), header, "Agent Definition")?;
    let header = value.unwrap_or(Yaml::Null);
    // The union takes the first branch that fits.
    if Shape::Object(&LOCAL).check(Some(&header)).0 == Fit::Valid {
        let body = crate::js::trim(body).to_owned();
        return Ok(Frontmatter::Local { header, body });
    }
    Ok(Frontmatter::Remote(vec![header]))
}

fn check(
    shape: &Shape,
    value: Option<&Yaml>,
    header: &str,
    context: &'static str,
) -> Result<(), LoadProblem> {
    let (fit, issues) = shape.check(value);
    if fit == Fit::Valid {
        return Ok(());
    }
    let kind = match value {
        Some(value @ Yaml::Map(_)) => intended_kind(value),
        _ => None,
    };
    let mut flat = Vec::new();
    flatten_issues(&issues, None, kind, &mut flat);
    let places = YamlPlaces::read(header);
    let issues = flat.into_iter().map(|(label, path, key, message)| {
        let place = places.find(path.iter().chain(&key));
        FrontmatterIssue {
            place: in_file(place.unwrap_or(TextPosition { line: 1, column: 1 })),
            label,
            path: path.join("."),
            message,
        }
    });
    let mut unique: Vec<FrontmatterIssue> = Vec::new();
    let mut seen = std::collections::HashSet::new();
    unique.extend(issues.filter(|issue| seen.insert(issue.to_string())));
    Err(LoadProblem::Invalid {
        context,
        issues: unique,
    })
}

/// A message with its label, its path, and the key below the path that it is about.
type FlatIssue = (Option<&'static str>, Vec<String>, Option<String>, String);

/// The branches of a union in a row. Those of the kind that was not meant are left out.
fn flatten_issues(
    issues: &[Issue],
    label: Option<&'static str>,
    kind: Option<&'static str>,
    flat: &mut Vec<FlatIssue>,
) {
    for issue in issues {
        match issue {
            Issue::Plain { path, message, key } => {
                flat.push((label, path.clone(), key.clone(), message.clone()));
            }
            Issue::Union(branches) => {
                for (place, branch) in branches.iter().enumerate() {
                    let label = label.or(LABELS.get(place).copied());
                    if kind.is_none() || label == kind {
                        flatten_issues(branch, label, kind, flat);
                    }
                }
            }
        }
    }
}

/// The label of the kind that the author had in mind, as far as keys tell.
fn intended_kind(value: &Yaml) -> Option<&'static str> {
    const LOCAL_KEYS: [&str; 6] = [
        "tools",
        "mcp_servers",
        "model",
        "temperature",
        "max_turns",
        "timeout_mins",
    ];
    const REMOTE_KEYS: [&str; 3] = ["agent_card_url", "auth", "agent_card_json"];
    let has = |keys: &[&str]| keys.iter().any(|key| value.get(key).is_some());
    match value.get("kind").and_then(Yaml::as_text) {
        Some("local") => return Some(LABELS[0]),
        Some("remote") => return Some(LABELS[1]),
        _ => {}
    }
    match (has(&LOCAL_KEYS), has(&REMOTE_KEYS)) {
        (true, false) => Some(LABELS[0]),
        (false, true) => Some(LABELS[1]),
        _ => None,
    }
}
