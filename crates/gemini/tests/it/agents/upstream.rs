//! The loader of the real Gemini CLI agrees on generated files.
//!
//! All files go through one start of `node`, which imports the loader from the installed CLI (`upstream.mjs`).

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use lapidary_gemini::agents::{
    AgentCard, AgentDefinition, AgentTool, HttpCredentials, OAuthSettings, RemoteAuth, parse_agents,
};
use lapidary_testkit::gemini::GeminiVersion;
use lapidary_testkit::mutate::SeededRng;
use serde_json::{Map, Value, json};

const FILES: u64 = if cfg!(feature = "full") { 30_000 } else { 4000 };

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn the_real_loader_makes_the_same_of_every_agent_file() {
    let written = WRITTEN.iter().map(|text| (*text).to_owned());
    let files: Vec<String> = written.chain((0..FILES).map(file)).collect();
    let theirs = upstream(&files);
    let mut good = 0;
    for (text, theirs) in files.iter().zip(&theirs) {
        let ours = normalized(ours(text));
        assert_eq!(
            ours,
            normalized(without_yaml_words(theirs.clone())),
            "{text}"
        );
        good += usize::from(ours.get("agents").is_some());
    }
    let bad = files.len() - good;
    assert!(
        good > 500 && bad > 1000,
        "{good} good files, {bad} bad ones: the test is blind"
    );
}

fn upstream(files: &[String]) -> Vec<Value> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/agents/upstream.mjs");
    let bundle = GeminiVersion::V0_61_0.program();
    let mut node = Command::new("node")
        .arg(script)
        .arg(bundle.parent().unwrap())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = node.stdin.take().unwrap();
    let files = serde_json::to_string(files).unwrap();
    let writing = std::thread::spawn(move || stdin.write_all(files.as_bytes()).unwrap());
    let output = node.wait_with_output().unwrap();
    writing.join().unwrap();
    assert!(output.status.success());
    serde_json::from_slice(&output.stdout).unwrap()
}

fn ours(text: &str) -> Value {
    match parse_agents(Path::new("x.md"), text) {
        Ok(agents) => json!({"agents": agents.iter().map(told).collect::<Vec<_>>()}),
        Err(error) => without_yaml_words(json!({"error": error.to_string()})),
    }
}

/// Our words for a mistake in YAML are not js-yaml's.
fn without_yaml_words(mut answer: Value) -> Value {
    const START: &str = "Failed to load agent from x.md: YAML frontmatter parsing failed:";
    if answer["error"]
        .as_str()
        .is_some_and(|error| error.starts_with(START))
    {
        answer["error"] = START.into();
    }
    answer
}

/// Numbers as JavaScript has them, objects by key, nothing absent.
fn normalized(value: Value) -> Value {
    match value {
        Value::Number(number) => json!(number.as_f64()),
        Value::Array(items) => items.into_iter().map(normalized).collect(),
        Value::Object(object) => {
            let pairs = object.into_iter().filter(|(_, value)| !value.is_null());
            let mut pairs: Vec<_> = pairs.map(|(key, value)| (key, normalized(value))).collect();
            pairs.sort_by(|one, other| one.0.cmp(&other.0));
            Value::Object(pairs.into_iter().collect())
        }
        other => other,
    }
}

/// A definition under Gemini CLI's names.
fn told(agent: &AgentDefinition) -> Value {
    match agent {
        AgentDefinition::Local(agent) => {
            let tools = agent.tool_config.as_ref().map(|config| {
                let names = config.tools.iter().filter_map(AgentTool::name);
                json!({"tools": names.collect::<Vec<_>>()})
            });
            let servers = agent.mcp_servers.iter();
            let servers: Map<_, _> = servers
                .map(|(name, server)| (name.clone(), serde_json::to_value(server).unwrap()))
                .collect();
            json!({
                "kind": "local",
                "name": agent.name,
                "description": agent.description,
                "displayName": agent.display_name,
                "promptConfig": {
                    "systemPrompt": agent.prompt_config.system_prompt,
                    "query": agent.prompt_config.query,
                },
                "modelConfig": {
                    "model": agent.model_config.model,
                    "generateContentConfig": agent.model_config.generate_content_config,
                },
                "runConfig": {
                    "maxTurns": agent.run_config.max_turns,
                    "maxTimeMinutes": agent.run_config.max_time_minutes,
                },
                "toolConfig": tools,
                "mcpServers": (!servers.is_empty()).then_some(servers),
                "inputConfig": {"inputSchema": agent.input_config.schema},
            })
        }
        AgentDefinition::Remote(agent) => {
            let (url, card) = match &agent.card {
                AgentCard::Url(url) => (Some(url), None),
                AgentCard::Json(card) => (None, Some(card)),
            };
            json!({
                "kind": "remote",
                "name": agent.name,
                "description": agent.description,
                "displayName": agent.display_name,
                "auth": agent.auth.as_ref().map(told_auth),
                "inputConfig": {"inputSchema": agent.input_config.schema},
                "agentCardUrl": url,
                "agentCardJson": card,
            })
        }
    }
}

fn told_auth(auth: &RemoteAuth) -> Value {
    let mut told = match auth {
        RemoteAuth::ApiKey { key, header } => json!({"key": key, "name": header}),
        RemoteAuth::Http(HttpCredentials::Bearer { token }) => {
            json!({"scheme": "Bearer", "token": token})
        }
        RemoteAuth::Http(HttpCredentials::Basic { username, password }) => {
            json!({"scheme": "Basic", "username": username, "password": password})
        }
        RemoteAuth::Http(HttpCredentials::Raw { scheme, value }) => {
            json!({"scheme": scheme, "value": value})
        }
        RemoteAuth::GoogleCredentials { scopes } => json!({"scopes": scopes}),
        RemoteAuth::OAuth2(OAuthSettings {
            client_id,
            client_secret,
            scopes,
            authorization_url,
            token_url,
            issuer,
            audiences,
            redirect_uri,
            token_param_name,
            registration_url,
        }) => json!({
            "client_id": client_id,
            "client_secret": client_secret,
            "scopes": scopes,
            "authorization_url": authorization_url,
            "token_url": token_url,
            "issuer": issuer,
            "audiences": audiences,
            "redirect_uri": redirect_uri,
            "token_param_name": token_param_name,
            "registration_url": registration_url,
        }),
    };
    told["type"] = auth.type_name().into();
    told
}

/// Files in which no part is a matter of chance.
const WRITTEN: [&str; 22] = [
    "",
    "# no front matter",
    "---\nname: a\ndescription: b\n",
    "\u{feff}---\nname: a\ndescription: b\n---\n",
    "---\n---\n",
    "---\n\n---\n",
    "---\n# nothing\n---\nbody",
    "---\nnull\n---\n",
    "---\n5\n---\n",
    "---\ntext\n---\n",
    "---\n[]\n---\n",
    "---\n- 5\n- name: a\n  agent_card_url: https://a.example\n---\n",
    "---\nname: a\ndescription: b\n----\nbody",
    "---\r\nname: a\r\ndescription: b\r\n---\r\n  body \r\n",
    "---\nname: a\ndescription: b\nname: c\n---\n",
    "---\nname: a\ndescription: [\n---\n",
    "---\nname: a\ndescription: b\n10: x\n2: y\nz: 1\n---\n",
    "---\nname: a\ndescription: b\ntools: read_file, Bash\ncolor: red\n---\n",
    "---\nkind: remote\nname: a\nagent_card_url: nope\nagent_card_json: '{}'\n---\n",
    "---\nname: a\nagent_card_json: '\"\\ud800\"'\n---\n",
    "---\n!!set {name, description}\n---\n",
    "---\nname: a\ndescription: b\nmcp_servers:\n  s:\n    auth: {type: oauth, issuer: x}\n    timeout: .inf\nmax_turns: .inf\n---\n",
];

struct Dice(SeededRng);

impl Dice {
    fn chance(&mut self, percent: usize) -> bool {
        self.0.below(100) < percent
    }

    fn one_of<'a>(&mut self, faces: &[&'a str]) -> &'a str {
        faces[self.0.below(faces.len())]
    }
}

const ODD: [&str; 11] = [
    "",
    "null",
    "5",
    "1.5",
    "-3",
    "true",
    "[a, 2]",
    "{a: b}",
    "2024-01-01",
    "''",
    ".nan",
];

/// Keys of a local agent, and values that fit.
const LOCAL: [(&str, &[&str]); 10] = [
    ("kind", &["local"]),
    (
        "name",
        &["reviewer", "a_b-1", "x", "code-reviewer", "7", "Not A Slug"],
    ),
    ("description", &["Does it", "|\n  two\n  lines"]),
    ("display_name", &["Reviewer", "\"\""]),
    (
        "tools",
        &[
            "[]",
            "[read_file, glob]",
            "['*']",
            "[mcp_*, mcp_a_*, mcp_a.b_c:d]",
            "[mcp__x, mcp_a, mcp_a__, mcp_a_ b]",
            "[search_file_content, discovered_tool_x, Bash, codebase_investigator]",
        ],
    ),
    ("mcp_servers", &["{}", "MCP"]),
    ("model", &["gemini-2.5-pro", "''", "inherit"]),
    ("temperature", &["0", "0.3", "-1", "1e3"]),
    ("max_turns", &["1", "20", "0", "-1", "2.5", "3.0"]),
    ("timeout_mins", &["5", "0x10", "0", "1_000"]),
];

/// Keys of a remote agent, and values that fit.
const REMOTE: [(&str, &[&str]); 7] = [
    ("kind", &["remote"]),
    ("name", &["far", "far-2", "far_3", "f", "Far"]),
    ("description", &["Far away", "''"]),
    ("display_name", &["Far"]),
    ("auth", &["AUTH"]),
    (
        "agent_card_url",
        &[
            "https://a.example/card",
            "http://localhost:4103/x",
            "a",
            "mailto:x",
        ],
    ),
    ("agent_card_json", &["'{\"name\": \"x\"}'", "'{'", "'1 2'"]),
];

const AUTH: [(&str, &[&str]); 12] = [
    (
        "type",
        &[
            "apiKey",
            "http",
            "http",
            "google-credentials",
            "oauth",
            "other",
        ],
    ),
    ("key", &["$KEY", "''"]),
    ("name", &["X-Key"]),
    ("scheme", &["Bearer", "Basic", "Digest", "''"]),
    ("token", &["abc", "''"]),
    ("username", &["u"]),
    ("password", &["p"]),
    ("value", &["v", "''"]),
    ("scopes", &["[a, b]", "[1]"]),
    ("issuer", &["https://issuer.example", "x"]),
    ("client_id", &["id"]),
    ("extra", &["1"]),
];

const MCP: [(&str, &[&str]); 16] = [
    ("command", &["node"]),
    ("args", &["[a, b]", "[1]"]),
    ("env", &["{A: b}", "{A: 1, 2: x}"]),
    ("cwd", &["/x"]),
    ("url", &["http://a"]),
    ("http_url", &["x"]),
    ("headers", &["{A: b}"]),
    ("tcp", &["x"]),
    ("type", &["sse", "http", "stdio"]),
    ("timeout", &["5000", "1.5"]),
    ("trust", &["true", "no"]),
    ("description", &["x"]),
    ("include_tools", &["[a]"]),
    ("exclude_tools", &["[b]"]),
    ("auth", &["AUTH"]),
    ("unknown", &["1"]),
];

/// The file of a seed: an agent with most keys right, some wrong, some missing, some unknown.
fn file(seed: u64) -> String {
    let mut dice = Dice(SeededRng::new(seed));
    let body = dice
        .one_of(&["Do it.", "", "\n  ${query} \n\n", "\u{a0}x\u{feff}"])
        .to_owned();
    let header = match dice.0.below(10) {
        0 => {
            let count = dice.0.below(4);
            let each = (0..count).map(|_| format!("-{}", &mapping(&mut dice, &REMOTE, 2, 10)[1..]));
            each.collect::<Vec<_>>().join("\n")
        }
        1..=3 => mapping(&mut dice, &REMOTE, 0, 12),
        4 => {
            let both: Vec<_> = LOCAL.iter().chain(&REMOTE[4..]).copied().collect();
            mapping(&mut dice, &both, 0, 10)
        }
        _ => mapping(&mut dice, &LOCAL, 0, 8),
    };
    format!("---\n{header}\n---\n{body}")
}

/// Keys and values, each line behind so many spaces. The value is odd in so many cases of a hundred.
fn mapping(dice: &mut Dice, keys: &[(&str, &[&str])], indent: usize, odd: usize) -> String {
    let space = " ".repeat(indent);
    let mut lines = Vec::new();
    for (key, values) in keys {
        let is_needed = matches!(*key, "name" | "description" | "agent_card_url" | "type");
        if !dice.chance(if is_needed { 95 } else { 35 }) {
            continue;
        }
        let value = if dice.chance(odd) {
            dice.one_of(&ODD)
        } else {
            dice.one_of(values)
        };
        lines.push(match value {
            "AUTH" => format!(
                "{space}{key}:\n{}",
                mapping(dice, &AUTH, indent + 2, odd / 2)
            ),
            "MCP" => format!(
                "{space}{key}:\n{space}  s:\n{}",
                mapping(dice, &MCP, indent + 4, odd / 4)
            ),
            value if value.contains('\n') => format!(
                "{space}{key}: {}",
                value.replace('\n', &format!("\n{space}"))
            ),
            value => format!("{space}{key}: {value}"),
        });
    }
    if dice.chance(odd / 2) {
        lines.push(format!(
            "{space}{}: 1",
            dice.one_of(&["color", "skills", "7", "__proto"])
        ));
    }
    if lines.is_empty() {
        lines.push(format!("{space}x: 1"));
    }
    lines.join("\n")
}
