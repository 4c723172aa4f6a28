//! The real Gemini CLI agrees about many generated settings, all in one start.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use lapidary_gemini::settings::{EditError, EditOutcome, edit};
use lapidary_gemini::setup::Setup;
use lapidary_gemini::{GeminiHome, UpstreamReaction, Vars};
use lapidary_testkit::gemini::{GeminiVersion, GeminiWorld};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde_json::{Map, Value, json};

/// How many made-up cases are tried.
const CASES: usize = 600;

/// The contents of the four settings files, if they exist, and whether the workspace is trusted.
#[derive(Debug, Clone)]
struct Case {
    files: [Option<String>; 4],
    /// The `.env` of the workspace, and whether it lies in its `.gemini`.
    env: Option<(String, bool)>,
    is_trusted: bool,
}

/// Texts that look like a variable, a boolean or a number.
fn text() -> impl Strategy<Value = String> {
    let part = prop::sample::select(vec![
        "$", "{", "}", ":-", "A", "EMPTY", "_", "é", " ", "-", ":", "${A}", "$A", "${B:-x}", "\n",
    ]);
    let fixed = prop::sample::select(vec![
        "true", "False", "12", " 1.5 ", "0x1F", "1e3", "", "-", "$A", "plan", "VS", "VS2015",
        "default", "1_000", "Infinity", "+5", ".5", "5.", "0b12", "$YES",
    ]);
    prop_oneof![
        vec(part, 0..5).prop_map(|parts| parts.concat()),
        fixed.prop_map(str::to_owned),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        1 => Just(Value::Null),
        3 => any::<bool>().prop_map(Value::from),
        2 => prop::sample::select(vec![0.0, 1.0, 5.0, -2.5]).prop_map(Value::from),
        4 => text().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        let keys = prop::sample::select(vec![
            "a",
            "command",
            "enabled",
            "constructor",
            "hooks",
            "matcher",
            "args",
            "maxTurns",
            "0",
        ]);
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            vec((keys.prop_map(str::to_owned), inner), 0..3)
                .prop_map(|pairs| Value::Object(pairs.into_iter().collect())),
        ]
    })
}

/// A value that fits the key more often than not, so that whole files are sound often enough.
fn fitting(path: &str) -> BoxedStrategy<Value> {
    let names = || vec(prop::sample::select(vec!["a", "b", "c"]), 0..3).prop_map(Value::from);
    let switch = || {
        let words = prop::sample::select(vec!["true", "FALSE", "$YES"]).prop_map(Value::from);
        prop_oneof![any::<bool>().prop_map(Value::from), words]
    };
    match path {
        "skills.disabled" | "hooksConfig.disabled" | "tools.exclude" | "tools.core" | "context.includeDirectories"
        | "policyPaths" | "agents.disabled" | "hooks.disabled" | "hooks.Odd" | "advanced.excludedEnvVars" => names().boxed(),
        "hooks.BeforeTool" | "hooks.SessionStart" => {
            let hook = (text(), prop::sample::select(vec![json!(5), json!("60"), json!("$A")]));
            let hook = hook.prop_map(|(command, timeout)| json!({"type": "command", "command": command, "timeout": timeout}));
            vec(hook, 0..3)
                .prop_map(|hooks| json!([{"matcher": "x", "hooks": hooks}]))
                .boxed()
        }
        "mcpServers" => (text(), names())
            .prop_map(|(command, args)| json!({"one": {"command": command, "args": args}}))
            .boxed(),
        "agents.overrides" => switch().prop_map(|yes| json!({"x": {"enabled": yes}})).boxed(),
        "general.maxAttempts" => prop::sample::select(vec![json!(1), json!("12"), json!(" 0x1F")]).boxed(),
        "general.defaultApprovalMode" | "tools.approvalMode" => {
            prop::sample::select(vec![json!("plan"), json!("yolo"), json!("$A")]).boxed()
        }
        "experimental.codebaseInvestigatorSettings" => (switch(), 0..5)
            .prop_map(|(yes, turns)| json!({"enabled": yes, "maxNumTurns": turns, "thinkingBudget": 1, "model": "m"}))
            .boxed(),
        "experimental.cliHelpAgentSettings" => switch().prop_map(|yes| json!({"enabled": yes})).boxed(),
        "ui.theme" | "x" => text().prop_map(Value::from).boxed(),
        _ => switch().boxed(),
    }
}

const PATHS: [&str; 40] = [
    "skills.enabled",
    "skills.disabled",
    "hooksConfig.enabled",
    "hooksConfig.disabled",
    "hooksConfig.notifications",
    "hooks.enabled",
    "hooks.disabled",
    "hooks.BeforeTool",
    "hooks.SessionStart",
    "hooks.Odd",
    "agents.disabled",
    "agents.overrides",
    "agents.browser.headless",
    "general.vimMode",
    "general.maxAttempts",
    "general.defaultApprovalMode",
    "general.disableAutoUpdate",
    "general.enableAutoUpdate",
    "general.disableUpdateNag",
    "general.plan.enabled",
    "ui.theme",
    "ui.accessibility.disableLoadingPhrases",
    "ui.accessibility.enableLoadingPhrases",
    "ui.loadingPhrases",
    "context.fileFiltering.disableFuzzySearch",
    "context.includeDirectories",
    "context.fileName",
    "tools.exclude",
    "tools.core",
    "tools.sandbox",
    "tools.approvalMode",
    "experimental.plan",
    "experimental.codebaseInvestigatorSettings",
    "experimental.cliHelpAgentSettings",
    "mcpServers",
    "policyPaths",
    "advanced.excludedEnvVars",
    "admin.skills.enabled",
    "telemetry",
    "x",
];

fn settings() -> impl Strategy<Value = Value> {
    let path = prop::sample::select(PATHS.to_vec());
    let entry = path.prop_flat_map(|path| {
        let value = prop_oneof![12 => fitting(path), 1 => value()];
        (Just(path), value)
    });
    vec(entry, 0..6).prop_map(|entries| {
        let mut object = json!({});
        for (path, value) in entries {
            put(&mut object, &path.split('.').collect::<Vec<_>>(), value);
        }
        object
    })
}

fn put(at: &mut Value, keys: &[&str], value: Value) {
    let Some((first, rest)) = keys.split_first() else {
        *at = value;
        return;
    };
    if !at.is_object() {
        *at = json!({});
    }
    put(&mut at[*first], rest, value);
}

/// A file: most are sound, a few are none.
fn file() -> impl Strategy<Value = Option<String>> {
    let sound = settings().prop_map(|settings| format!("// é\n{settings:#} /* end */"));
    let odd = prop::sample::select(vec![
        "",
        "[]",
        "{\"a\": 1,}",
        "\u{feff}{}",
        "nul",
        "{} //\u{a0}",
        "\"text\"",
    ]);
    prop_oneof![
        2 => Just(None),
        16 => sound.prop_map(Some),
        1 => odd.prop_map(|text| Some(text.to_owned())),
    ]
}

/// A `.env` file with lines that Node accepts and lines that it does not.
fn env() -> impl Strategy<Value = Option<(String, bool)>> {
    let line = prop::sample::select(vec![
        "B=1",
        "export C = \"x\\ny\" # c",
        "D: d",
        "E='a # b'",
        "F=`q` ",
        "G=",
        "H=\"unclosed",
        "  J=1 2 3  ",
        "#I=1",
        "K=a#b",
        "L='two\nlines'",
        "A=no",
        "DEBUG=1",
        "GEMINI_API_KEY=a$b/c_d",
        "GOOGLE_CLOUD_PROJECT='p q'",
        "=x",
        "M==",
        "N.x-y=é",
        "EMPTY=full",
        "words",
        "O=\"it's\"",
        "P='it\\'s'",
        "\r",
    ]);
    let text = vec(line, 0..6).prop_map(|lines| lines.join("\n"));
    prop::option::weighted(0.6, (text, any::<bool>()))
}

fn case() -> impl Strategy<Value = Case> {
    let files = [
        file().boxed(),
        file().boxed(),
        file().boxed(),
        file().boxed(),
    ];
    let parts = (files, env(), prop::bool::weighted(0.8));
    parts.prop_map(|(files, env, is_trusted)| Case {
        files,
        env,
        is_trusted,
    })
}

/// Keys that would change all objects of JavaScript. They stand in no file with keys of an older version: Gemini CLI writes such a file
/// anew, empties the prototype of all objects on the way, and answers nothing any more.
fn dangerous() -> Vec<Case> {
    let texts = [
        r#"{"__proto__": {"skills": {"enabled": false}}, "constructor": {"x": 1}, "prototype": 1}"#,
        r#"{"skills": {"__proto__": {"enabled": false}, "disabled": ["a"], "constructor": 5}}"#,
        r#"{"hooks": {"__proto__": [1], "BeforeTool": [{"__proto__": 1, "matcher": "x"}]}, "mcpServers": {"__proto__": {"command": "x"}}}"#,
    ];
    let case = |text: &str| Case {
        files: [None, Some(text.to_owned()), Some(text.to_owned()), None],
        env: None,
        is_trusted: true,
    };
    texts.into_iter().map(case).collect()
}

/// The same each time, unless `LAPIDARY_SEED` is set.
fn cases() -> Vec<Case> {
    let mut seed = [0; 32];
    let wanted = std::env::var("LAPIDARY_SEED").unwrap_or_default();
    seed.iter_mut()
        .zip(wanted.bytes())
        .for_each(|(to, from)| *to = from);
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &seed);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let made = (0..CASES).map(|_| case().new_tree(&mut runner).unwrap().current());
    made.chain(dangerous()).collect()
}

/// Where the files of a case are. The system's are where others cannot write, if there is such a place: else both leave them out.
struct Places {
    root: PathBuf,
    system: PathBuf,
}

impl Places {
    fn vars(&self, case: &Case) -> BTreeMap<OsString, OsString> {
        [
            ("A", "12".into()),
            ("EMPTY", "".into()),
            ("YES", "True".into()),
            ("HOME", self.root.join("home").into_os_string()),
            (
                "GEMINI_CLI_TRUST_WORKSPACE",
                case.is_trusted.to_string().into(),
            ),
            (
                "GEMINI_CLI_SYSTEM_SETTINGS_PATH",
                self.system.join("settings.json").into_os_string(),
            ),
        ]
        .map(|(name, value): (&str, OsString)| (name.into(), value))
        .into()
    }

    fn workspace(&self, at: usize) -> PathBuf {
        self.root.join(format!("workspaces/{at}"))
    }

    fn files(&self, at: usize, case: &Case) -> Vec<(PathBuf, String)> {
        let paths = [
            self.system.join("system-defaults.json"),
            self.root.join("home/.gemini/settings.json"),
            self.workspace(at).join(".gemini/settings.json"),
            self.system.join("settings.json"),
        ];
        let env = case.env.iter().map(|(text, is_inside)| {
            let folder = self.workspace(at);
            let name = if *is_inside { ".gemini/.env" } else { ".env" };
            (folder.join(name), text.clone())
        });
        let files = paths.into_iter().zip(&case.files);
        let files = files.filter_map(|(path, text)| Some((path, text.clone()?)));
        files.chain(env).collect()
    }

    fn question(&self, at: usize, case: &Case) -> Value {
        let text = |from: &OsString| from.to_str().unwrap().to_owned();
        let vars = self.vars(case);
        let vars: BTreeMap<_, _> = vars
            .iter()
            .map(|(name, value)| (text(name), text(value)))
            .collect();
        let files: BTreeMap<_, _> = self.files(at, case).into_iter().collect();
        json!({"files": files, "vars": vars, "workspace": self.workspace(at)})
    }

    fn ours(&self, at: usize, case: &Case) -> (Setup, BTreeMap<OsString, OsString>) {
        let files = self.files(at, case);
        for (path, text) in &files {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let vars = self.vars(case);
        let vars = Vars::new(&vars);
        let home = GeminiHome::from_vars(vars, Some(&self.root.join("home"))).unwrap();
        let setup = Setup::read(&home, &self.workspace(at), vars);
        let environment = setup.environment(vars);
        for (path, _) in files {
            fs::remove_file(path).unwrap();
        }
        (setup, environment)
    }
}

fn ask(root: &Path, questions: &[Value]) -> Vec<Value> {
    let program = GeminiVersion::V0_61_0.program();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/settings/oracle.mjs");
    let mut child = Command::new("node")
        .arg(script)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap())
        .env("HOME", root.join("home"))
        .env("TMPDIR", root)
        .current_dir(root)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let out = root.join("answers.json");
    let question = json!({"bundle": program.parent().unwrap(), "cases": questions, "out": out});
    let mut input = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || input.write_all(question.to_string().as_bytes()));
    let status = child.wait().unwrap();
    writer.join().unwrap().unwrap();
    assert!(status.success());
    serde_json::from_slice(&fs::read(out).unwrap()).unwrap()
}

/// JavaScript does not distinguish `1` and `1.0`. The CLI's version sets `modelConfigs`, not the settings files.
fn comparable(object: &Map<String, Value>) -> Value {
    fn plain(value: &Value) -> Value {
        match value {
            Value::Number(number) => number.as_f64().into(),
            Value::Array(list) => list.iter().map(plain).collect(),
            Value::Object(object) => {
                // A list has an object's place for JavaScript; what would change all objects is not copied either.
                let pairs = object.iter().filter(|(key, _)| *key != "__proto__");
                Value::Object(
                    pairs
                        .map(|(key, value)| (key.clone(), plain(value)))
                        .collect(),
                )
            }
            other => other.clone(),
        }
    }
    let mut object = object.clone();
    object.remove("modelConfigs");
    plain(&Value::Object(object))
}

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn gemini_cli_merges_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let safe = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let places = Places {
        root: folder.path().canonicalize().unwrap(),
        system: safe.path().canonicalize().unwrap(),
    };
    let cases = cases();
    let numbered = || cases.iter().enumerate();
    let questions: Vec<_> = numbered()
        .map(|(at, case)| places.question(at, case))
        .collect();
    fs::create_dir_all(places.root.join("home/.gemini")).unwrap();
    let answers = ask(&places.root, &questions);
    let (mut sound, mut fatal, mut crashed) = (0, 0, 0);
    for ((at, case), answer) in numbered().zip(&answers) {
        let (ours, environment) = places.ours(at, case);
        let refusal = answer.get("fatal").and_then(Value::as_str);
        if refusal.is_some_and(|refusal| !refusal.starts_with("Error in ")) {
            // It stumbles over a value that it does not expect, and has no opinion.
            crashed += 1;
            continue;
        }
        let refuses = ours.settings.files.iter().any(|file| file.content.is_err());
        assert_eq!(refuses, refusal.is_some(), "{case:#?}\n{answer:#}");
        if refuses {
            fatal += 1;
            continue;
        }
        sound += 1;
        assert_eq!(ours.is_trusted(), answer["isTrusted"] == true, "{case:#?}");
        let theirs = answer["merged"].as_object().unwrap();
        assert_eq!(comparable(ours.merged()), comparable(theirs), "{case:#?}");
        let environment: BTreeMap<_, _> = environment
            .iter()
            .map(|(name, value)| (name.to_str().unwrap(), value.to_str().unwrap()))
            .collect();
        let theirs: BTreeMap<_, _> = answer["env"].as_object().unwrap().iter().collect();
        let is_known = |name: &str| !["PATH", "TMPDIR"].contains(&name);
        let theirs: BTreeMap<_, _> = theirs
            .into_iter()
            .filter(|(name, _)| is_known(name))
            .map(|(name, value)| (name.as_str(), value.as_str().unwrap()))
            .collect();
        assert_eq!(environment, theirs, "{case:#?}");
        for path in answer["warned"].as_array().unwrap() {
            let path = Path::new(path.as_str().unwrap());
            assert!(
                ours.notices.iter().any(|notice| notice.path == path),
                "{case:#?}"
            );
        }
    }
    assert!(
        sound > CASES / 3 && fatal > CASES / 20 && crashed < CASES / 20,
        "{sound} {fatal} {crashed}"
    );
}

/// Unusual texts, and the reaction to each.
fn odd() -> Vec<(String, Option<UpstreamReaction>)> {
    let nested = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    let texts = [
        (r#"{"x": 1e400}"#.to_owned(), None),
        (r#"{"x": "\ud800", "\udc00": 1}"#.to_owned(), None),
        (format!(r#"{{"x": {}}}"#, nested(511)), None),
        (
            format!(r#"{{"x": {}}}"#, nested(512)),
            Some(UpstreamReaction::MayRead),
        ),
        (format!(r#"{{"x": "{}"}}"#, "a".repeat(5 << 20)), None),
        (
            format!(r#"{{"x": [1{}]}}"#, ",1".repeat(1_000_000)),
            Some(UpstreamReaction::MayRead),
        ),
    ];
    let refused = [
        "",
        "[]",
        "\u{feff}{}",
        "{,}",
        "{\"x\": [1,]}",
        "{\"x\": 01}",
        "{\"x\": \"\t\"}",
    ];
    let refused = refused.map(|text| (text.to_owned(), Some(UpstreamReaction::Refuses)));
    texts.into_iter().chain(refused).collect()
}

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn gemini_cli_starts_with_what_we_say_it_starts_with() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let places = Places {
        system: root.join("etc"),
        root,
    };
    let odd = odd();
    let case = |text: &str| Case {
        files: [None, Some(text.to_owned()), None, None],
        env: None,
        is_trusted: true,
    };
    let questions = odd.iter().enumerate().map(|(at, (text, _))| {
        let mut question = places.question(at, &case(text));
        question["brief"] = true.into();
        question
    });
    let questions: Vec<_> = questions.collect();
    fs::create_dir_all(places.root.join("home/.gemini")).unwrap();
    let answers = ask(&places.root, &questions);
    for (at, ((text, expected), answer)) in odd.iter().zip(answers).enumerate() {
        let (ours, _) = places.ours(at, &case(text));
        let file = &ours.settings.files[0];
        let error = file.content.as_ref().err();
        let verdict = error.map(|error| error.verdict(&file.path));
        let text = &text[..text.len().min(60)];
        assert_eq!(verdict, *expected, "{text}");
        let starts = answer["started"] == true;
        assert_eq!(
            starts,
            verdict != Some(UpstreamReaction::Refuses),
            "{text} {answer}"
        );
        assert_eq!(answer["isEndless"] == true, text.contains("1e400"));
    }
}

/// Settings that need no rewriting, and a path and value to write into them.
fn written() -> impl Strategy<Value = (Value, &'static str, Value)> {
    let paths = prop::sample::select(vec![
        "skills.disabled",
        "hooksConfig.disabled",
        "general.vimMode",
        "x",
        "ui.footer.items",
    ]);
    let entry = paths.prop_flat_map(|path| (Just(path), fitting(path)));
    let settings = vec(entry.clone(), 0..4).prop_map(|entries| {
        let mut object = json!({});
        for (path, value) in entries {
            put(&mut object, &path.split('.').collect::<Vec<_>>(), value);
        }
        object
    });
    (settings, entry).prop_map(|(settings, (path, value))| (settings, path, value))
}

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn a_file_that_the_cli_could_have_written_is_changed_to_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let places = Places {
        system: root.join("etc"),
        root,
    };
    let mut runner = TestRunner::deterministic();
    let changes: Vec<_> = (0..200)
        .map(|_| written().new_tree(&mut runner).unwrap().current())
        .collect();
    let case = |settings: &Value| Case {
        files: [None, Some(format!("{settings:#}")), None, None],
        env: None,
        is_trusted: true,
    };
    let questions = changes
        .iter()
        .enumerate()
        .map(|(at, (settings, key, value))| {
            let mut question = places.question(at, &case(settings));
            question["set"] = json!({"key": key, "value": value});
            question
        });
    let questions: Vec<_> = questions.collect();
    fs::create_dir_all(places.root.join("home/.gemini")).unwrap();
    let answers = ask(&places.root, &questions);
    let path = places.root.join("ours.json");
    for ((settings, key, value), answer) in changes.iter().zip(answers) {
        fs::write(&path, format!("{settings:#}")).unwrap();
        let keys: Vec<_> = key.split('.').collect();
        edit(&path, |document| document.set(&keys, value.clone())).unwrap();
        let ours = fs::read_to_string(&path).unwrap();
        assert_eq!(answer["written"], ours, "{key} {value} {settings:#}");
    }
}

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn a_skill_disabled_by_the_cli_is_disabled_and_enabled_again_by_us() {
    let world = GeminiWorld::new();
    let path = world.home().join(".gemini/settings.json");
    let text = fs::read_to_string(&path).unwrap();
    // The CLI would rewrite a file with old keys on its start already.
    let mut settings: Value = serde_json::from_str(&text).unwrap();
    settings["general"] = json!({"enableAutoUpdate": false, "enableAutoUpdateNotification": false});
    let before = format!("// top\n{settings:#}").replace("\"auth\"", "/* how */ \"auth\"");
    let ours = world.root().join("ours.json");
    fs::write(&path, &before).unwrap();
    fs::write(&ours, &before).unwrap();
    let mut command = world.command(GeminiVersion::V0_61_0, "http://127.0.0.1:9");
    command.args(["skills", "disable", "pdf", "--scope", "user"]);
    assert!(command.output().unwrap().status.success());
    let keys = ["skills", "disabled"];
    let changed = edit(&ours, |document| document.push(&keys, "pdf").map(drop)).unwrap();
    assert_eq!(changed, EditOutcome::Yes);
    let (theirs, ours) = (
        fs::read_to_string(&path).unwrap(),
        fs::read_to_string(ours).unwrap(),
    );
    assert!(ours.starts_with("// top\n"), "{ours}");
    assert!(ours.contains("/* how */ \"auth\""), "{ours}");
    assert!(theirs.contains("\"pdf\""), "{theirs}");
    // What one wrote the other reads.
    let undone = edit(&path, |document| {
        assert!(document.pull(&keys, "pdf")?);
        let left = document.get(&keys).cloned();
        assert_eq!(left, Some(json!([])));
        Ok::<_, EditError>(())
    });
    assert_eq!(undone.unwrap(), EditOutcome::Yes);
}
