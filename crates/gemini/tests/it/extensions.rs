//! Extensions: which are installed, which count, and their content.

use std::fs;
use std::os::unix::fs::symlink;

use lapidary_gemini::extensions::{Extension, ExtensionInstall};
use lapidary_gemini::setup::Setup;
use lapidary_gemini::{GeminiHome, Vars};
use lapidary_testkit::gemini::{GeminiVersion, GeminiWorld};
use serde_json::{Value, json};

use crate::machine::Machine;
use crate::settings::{TRUST, USER};

const ONE: &str = "home/.gemini/extensions/one";
const MANIFEST: &str = "gemini-extension.json";

fn with(machine: Machine, name: &str, manifest: &str) -> Machine {
    machine.file(
        &format!("home/.gemini/extensions/{name}/{MANIFEST}"),
        manifest,
    )
}

fn one(manifest: &str) -> Machine {
    with(Machine::new(), "one", manifest)
}

fn told(setup: &Setup) -> Vec<&str> {
    let notices = setup.notices.iter();
    notices.map(|notice| notice.sentence.as_str()).collect()
}

#[test]
fn extensions_are_found_by_name_with_their_variables_filled_in() {
    let manifest = r#"{"name": "one", "version": "1.2", "a": ["${extensionPath}${/}x ${workspacePath} $V ${no}"]}"#;
    let machine = with(
        one(manifest),
        "alpha",
        r#"{"name": "alpha", "version": "1"}"#,
    )
    .with("V", "v");
    let setup = machine.setup();
    let names: Vec<_> = setup.extensions.iter().map(|found| &*found.name).collect();
    assert_eq!(names, ["alpha", "one"]);
    let one = &setup.extensions[1];
    let (path, project) = (machine.path(ONE), machine.project());
    let filled = format!("{}/x {} v ${{no}}", path.display(), project.display());
    assert_eq!(one.manifest["a"], json!([filled]));
    assert_eq!((&*one.version, &one.directory), ("1.2", &path));
    assert_eq!(
        one.hydrate("${/}${x}${extensionPath}"),
        format!("/${{x}}{}", path.display())
    );
    let hydrated = one.hydrate_all(&json!({"a": ["${/}"], "__proto__": 1}));
    assert_eq!(hydrated, json!({"a": ["/"]}));
    assert!(setup.notices.is_empty());
}

#[test]
fn an_invalid_extension_is_named_with_the_reason() {
    for (manifest, why) in [
        (
            "{",
            "is not valid JSON: EOF while parsing an object at line 1 column 1",
        ),
        ("[]", "does not hold a JSON object"),
        (
            "{} // x",
            "is not valid JSON: trailing characters at line 1 column 4",
        ),
    ] {
        let machine = one(manifest);
        let path = machine.path(ONE).join(MANIFEST);
        assert_eq!(
            told(&machine.setup()),
            [format!("is not loaded: `{}` {why}", path.display())]
        );
    }
    for (manifest, why) in [
        (
            r#"{"version": "1"}"#,
            "its gemini-extension.json has no `name`",
        ),
        (
            r#"{"name": "one"}"#,
            "its gemini-extension.json has no `version`",
        ),
        (
            r#"{"name": "../x", "version": "1"}"#,
            "its name `../x` has more than letters, digits and dashes",
        ),
        (
            r#"{"name": "é", "version": "1"}"#,
            "its name `é` has more than letters, digits and dashes",
        ),
    ] {
        assert_eq!(
            told(&one(manifest).setup()),
            [format!("is not loaded: {why}")]
        );
    }
    let twice = with(
        one(r#"{"name": "x", "version": "1"}"#),
        "two",
        r#"{"name": "x", "version": "2"}"#,
    );
    let setup = twice.setup();
    assert_eq!(setup.extensions.len(), 1);
    assert_eq!(
        told(&setup),
        ["is not loaded: another extension has its name, and Gemini CLI does not start with both"]
    );
}

#[test]
fn the_last_rule_that_holds_switches_an_extension_off_or_on() {
    const RULES: &str = "home/.gemini/extensions/extension-enablement.json";
    let machine = one(r#"{"name": "one", "version": "1"}"#);
    let check = |rules: &str, reason: Option<&str>| {
        let path = machine.path(RULES);
        fs::write(
            path,
            rules.replace('~', &machine.path("home").display().to_string()),
        )
        .unwrap();
        let setup = machine.setup();
        let inactive = setup.extensions[0].inactive.as_deref();
        let home = machine.path("home").display().to_string();
        let inactive = inactive.map(|reason| reason.replace(&home, "~"));
        assert_eq!(inactive.as_deref(), reason, "{rules}");
        assert_eq!(
            setup.active_extensions().count(),
            usize::from(reason.is_none())
        );
        told(&setup).join("\n")
    };
    check(r#"{"other": {"overrides": ["!/*"]}}"#, None);
    let off = Some("`!~/code/*` in extension-enablement.json");
    check(r#"{"one": {"overrides": ["~/*", "!~/code/*"]}}"#, off);
    check(
        r#"{"one": {"overrides": ["!~/code/*", "~/code/project/"]}}"#,
        None,
    );
    check(r#"{"one": {"overrides": ["!~/code/"]}}"#, None);
    let problem = check(r#"{"one": {"overrides": ["!/*"]}, "two": {}}"#, None);
    assert_eq!(
        problem,
        "has no list of texts at `two.overrides`; every extension counts as enabled"
    );
    let problem = check("{", None);
    assert!(
        problem.ends_with("; every extension counts as enabled"),
        "{problem}"
    );
}

#[test]
fn settings_decide_what_may_be_installed_from_where() {
    const FROM: &str = "home/.gemini/extensions/one/.gemini-extension-install.json";
    let machine = || one(r#"{"name": "one", "version": "1"}"#);
    let git = r#"{"type": "git", "source": "https://example.com/one"}"#;
    let block = r#"{"security": {"blockGitExtensions": true}}"#;
    assert_eq!(machine().file(USER, block).setup().extensions.len(), 1);
    for kind in ["git", "github-release"] {
        let from = git.replace("\"git\"", &format!("{kind:?}"));
        let blocked = machine().file(USER, block).file(FROM, &from).setup();
        assert!(blocked.extensions.is_empty(), "{kind}");
    }
    let allow =
        |pattern: &str| format!(r#"{{"security": {{"allowedExtensions": ["{pattern}"]}}}}"#);
    let allowed = machine()
        .file(USER, &allow("^https://example"))
        .file(FROM, git);
    let found = &allowed.setup().extensions[0];
    let install = ExtensionInstall {
        kind: "git".to_owned(),
        source: "https://example.com/one".to_owned(),
    };
    assert_eq!(found.install, Some(install));
    // As JavaScript reads them.
    for fits in ["^https:(?!//evil)", r"\\/one$", r"(?<=exam)ple\\.com"] {
        let setup = machine().file(USER, &allow(fits)).file(FROM, git).setup();
        assert_eq!(
            (setup.extensions.len(), told(&setup).len()),
            (1, 0),
            "{fits}"
        );
    }
    for (other, why) in [
        ("^ftp", "`security.allowedExtensions` does not have it"),
        (
            "^https:(?!//example)",
            "`security.allowedExtensions` does not have it",
        ),
        (
            "(",
            "`security.allowedExtensions` has `(`, which is not a regular expression",
        ),
        (
            "(?:a{1000}){1000}",
            "cannot tell whether `(?:a{1000}){1000}` of `security.allowedExtensions` matches it: it uses what only JavaScript has",
        ),
    ] {
        let setup = machine().file(USER, &allow(other)).file(FROM, git).setup();
        assert_eq!(told(&setup), [format!("is not loaded: {why}")]);
    }
    assert!(
        machine()
            .file(USER, &allow("."))
            .setup()
            .extensions
            .is_empty()
    );
    // The target of a link counts, not its name.
    for (pattern, count) in [("/allowed$", 0), ("/other$", 1)] {
        let linked = machine()
            .file(USER, &allow(pattern))
            .file(FROM, r#"{"type": "local", "source": "~/allowed"}"#);
        fs::create_dir(linked.path("home/other")).unwrap();
        symlink("other", linked.path("home/allowed")).unwrap();
        assert_eq!(linked.setup().extensions.len(), count, "{pattern}");
    }
}

#[test]
fn settings_of_an_extension_come_from_its_own_file_and_a_trusted_workspace() {
    let manifest = r#"{"name": "one", "version": "1", "x": "${A} $B", "settings": [{"envVar": "A"}, {"envVar": "C"}]}"#;
    let machine = one(manifest)
        .file(&format!("{ONE}/.env"), "A=user\nB=2\n")
        .file("home/code/project/.env", "A=workspace\n");
    let found = |setup: &Setup| {
        (
            setup.extensions[0].manifest["x"].clone(),
            setup.extensions[0].env.clone(),
        )
    };
    let (text, env) = found(&machine.setup());
    assert_eq!(text, "user 2");
    assert_eq!(
        env.into_iter().collect::<Vec<_>>(),
        [("A".to_owned(), "user".to_owned())]
    );
    let machine = machine.with(TRUST, "true");
    let (text, _) = found(&machine.setup());
    assert_eq!(text, "workspace 2");
    assert_eq!(
        machine.setup().extensions[0].hydrate("${A}${B}${C}"),
        "workspace2${C}"
    );
    let machine = machine.file(USER, r#"{"experimental": {"extensionConfig": false}}"#);
    let (text, env) = found(&machine.setup());
    assert_eq!((text, env.len()), ("${A} $B".into(), 0));
}

#[test]
fn links_to_an_extension_and_to_the_workspace_are_followed() {
    let machine = Machine::new()
        .file(
            &format!("{ONE}/.gemini-extension-install.json"),
            r#"{"type": "link", "source": "~/made"}"#,
        )
        .file(
            &format!("home/made/{MANIFEST}"),
            r#"{"name": "one", "version": "1"}"#,
        );
    let link = machine.path("home/link");
    symlink(machine.project(), &link).unwrap();
    let setup = Setup::read(&machine.home(), &link, Vars::new(machine.vars()));
    let one = &setup.extensions[0];
    assert_eq!(one.directory, machine.path("home/made"));
    let workspace = machine.project().display().to_string();
    assert_eq!(one.hydrate("${workspacePath}"), workspace);
}

/// The fields of an extension that the CLI reports too.
fn outline(found: &Extension) -> Value {
    json!({
        "name": found.name,
        "version": found.version,
        "path": found.directory,
        "isActive": found.is_active(),
        "env": found.env,
    })
}

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn gemini_cli_lists_the_same_extensions() {
    let world = GeminiWorld::new();
    let folder = world.home().join(".gemini/extensions");
    let root = world.root().canonicalize().unwrap();
    let put = |name: &str, file: &str, text: &str| {
        let text = text.replace("ROOT", &root.display().to_string());
        fs::create_dir_all(folder.join(name)).unwrap();
        fs::write(folder.join(name).join(file), text).unwrap();
    };
    for (name, manifest) in [
        ("zeta", r#"{"name": "zeta", "version": "0"}"#),
        ("Upper", r#"{"name": "Upper", "version": "v 1"}"#),
        ("other-name", r#"{"name": "named", "version": "2"}"#),
        (
            "commented",
            "// no\n{\"name\": \"commented\", \"version\": \"2\"}",
        ),
        ("bad-name", r#"{"name": "bad name", "version": "2"}"#),
        ("version", r#"{"name": "version-${A}", "version": "2"}"#),
        ("hydrated", r#"{"name": "hydrated", "version": "${/}"}"#),
        ("number", r#"{"name": "number", "version": "5"}"#),
        ("off", r#"{"name": "off", "version": "1"}"#),
        ("here", r#"{"name": "here", "version": "1"}"#),
        (
            "set",
            r#"{"name": "set", "version": "1", "settings": [{"name": "S", "envVar": "S", "description": "d"}, {"name": "T", "envVar": "T", "description": "d"}]}"#,
        ),
    ] {
        put(name, MANIFEST, manifest);
    }
    put("set", ".env", "export S = \"a\\nb\" # c\n");
    put(
        "linked",
        ".gemini-extension-install.json",
        r#"{"type": "link", "source": "ROOT/elsewhere"}"#,
    );
    fs::create_dir(root.join("elsewhere")).unwrap();
    fs::write(
        root.join("elsewhere").join(MANIFEST),
        r#"{"name": "linked", "version": "3"}"#,
    )
    .unwrap();
    put(
        "",
        "extension-enablement.json",
        r#"{"off": {"overrides": ["!ROOT/*"]}, "here": {"overrides": ["!ROOT/*", "ROOT/project/"]}}"#,
    );

    let mut command = world.command(GeminiVersion::V0_61_0, "http://127.0.0.1:9");
    let output = command
        .args(["extensions", "list", "--output-format", "json"])
        .output()
        .unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    let start = text.find("\n[\n").map_or(0, |at| at + 1);
    let listed: Vec<Value> =
        serde_json::from_str(&text[start..]).unwrap_or_else(|error| panic!("{error}: {text}"));
    let theirs: Vec<_> = listed
        .iter()
        .map(|found| {
            let set = found["resolvedSettings"].as_array().into_iter().flatten();
            let set = set.filter(|setting| !setting["value"].is_null());
            let env: serde_json::Map<_, _> = set
                .map(|setting| {
                    (
                        setting["envVar"].as_str().unwrap().to_owned(),
                        setting["value"].clone(),
                    )
                })
                .collect();
            json!({
                "name": found["name"],
                "version": found["version"],
                "path": found["path"],
                "isActive": found["isActive"],
                "env": env,
            })
        })
        .collect();
    let vars = world
        .environment("http://127.0.0.1:9")
        .into_iter()
        .collect();
    let vars = Vars::new(&vars);
    let home = GeminiHome::from_vars(vars, Some(&root.join("home"))).unwrap();
    let setup = Setup::read(&home, &root.join("project"), vars);
    let ours: Vec<_> = setup.extensions.iter().map(outline).collect();
    assert_eq!(Value::from(ours), Value::from(theirs));
}
