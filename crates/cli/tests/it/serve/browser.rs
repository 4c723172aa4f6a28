//! The page in a real browser, and under the TypeScript compiler.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use lapidary_testkit::attacks::ATTACKS;
use lapidary_testkit::gemini::peers;
use lapidary_testkit::recorded::RecordedHome;
use serde_json::{Value, json};

use super::http::{TestServer, command_in};

const HOSTILE: &str = "aaaaaaaa-0000-4000-8000-00000000000e";
const HOSTILE_TITLE: &str = "aaaaaaaa-0000-4000-8000-00000000000f";
const WORKSPACE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// A home with hostile sessions, and an agent that asks with forms.
fn home() -> RecordedHome {
    let home = RecordedHome::new();
    let says = ["where is the lighthouse?"].into_iter().chain(ATTACKS);
    let says: Vec<_> = says.collect();
    home.session(HOSTILE, "2026-01-05T10:00:00.000Z", &says);
    let title = ["<img src=x onerror=alert(1)><b>"];
    home.session(HOSTILE_TITLE, "2026-01-06T10:00:00.000Z", &title);
    let config = home.home().join(".config/lapidary");
    fs::create_dir_all(&config).unwrap();
    let agent = Path::new(WORKSPACE).join("examples/agent.py");
    let agents = format!(
        "[agents.talker]\ncommand = [\"python3\", \"{}\"]\n",
        agent.canonicalize().unwrap().display()
    );
    fs::write(config.join("lapidary.toml"), agents).unwrap();
    home
}

/// A worker whose agent asks, and two tickets: one that it runs, and one that needs another machine.
struct SmallFleet {
    worker: Child,
    tickets: Value,
}

impl SmallFleet {
    fn start(server: &TestServer) -> Self {
        let asking = ["--agent", "demo", "--ask-timeout", "600", "Greet the fleet"];
        let queued = [
            "--needs",
            "nowhere",
            "--lane",
            "machine-room=2",
            "<img src=x onerror=alert(1)> wait",
        ];
        let submit = |args: &[&str]| {
            let printed = server.command(&[&["fleet", "submit"], args].concat());
            let line: Value = serde_json::from_str(&printed).unwrap();
            line["ticket"].clone()
        };
        let tickets = json!([submit(&asking), submit(&queued)]);
        let args = ["fleet", "work", "--name", "builder", "--min-free", "0"];
        let mut worker = command_in(server.home(), server.project(), &args);
        worker.stdin(Stdio::null()).stderr(Stdio::null());
        let worker = worker.spawn().unwrap();
        Self { worker, tickets }
    }
}

impl Drop for SmallFleet {
    fn drop(&mut self) {
        let _ = self.worker.kill(); // its supervisor ends the agent
        let _ = self.worker.wait();
    }
}

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs a browser: `cargo xtask test` installs it"
)]
fn people_start_watch_answer_and_read_runs_on_the_page() {
    let home = home();
    let mut server = TestServer::start_in_home(&home.home(), &home.project());
    let url = format!("http://{}", server.host);
    let script = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/it/serve/browser/page.mjs"
    );
    let mut node = Command::new("node")
        .arg(script)
        .args([url.as_str(), &server.token, HOSTILE, HOSTILE_TITLE])
        .env(
            "CHROMIUM",
            Path::new(WORKSPACE).join("peers/browser/chromium.mjs"),
        )
        .current_dir(peers().with_file_name("peers-browser"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut replies = node.stdin.take().unwrap();
    let lines = BufReader::new(node.stdout.take().unwrap()).lines();
    let mut last = String::new();
    let mut fleet = None;
    for line in lines {
        last = line.unwrap();
        match last.as_str() {
            "restart" => server.stop(),
            "start" => server = server.restarted(),
            "fleet" => {
                fleet = Some(SmallFleet::start(&server));
                writeln!(replies, "{}", fleet.as_ref().unwrap().tickets).unwrap();
                continue;
            }
            _ => continue,
        }
        writeln!(replies, "done").unwrap();
    }
    drop(fleet);
    let mut stderr = String::new();
    let _ = node.stderr.take().unwrap().read_to_string(&mut stderr);
    assert!(node.wait().unwrap().success(), "{stderr}");
    assert_eq!(last, "the page works");
}

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs a browser: `cargo xtask test` installs it"
)]
fn the_pictures_of_the_documents_can_be_made_of_the_page() {
    let home = RecordedHome::new();
    let says = ["Add retries with backoff to the HTTP client", "Commit it."];
    home.session(HOSTILE, "2026-01-05T10:00:00.000Z", &says);
    let server = TestServer::start_in_home(&home.home(), &home.project());
    for prompt in ["Make the greeting say the name", "Greet the whole team"] {
        server.command(&["run", "--agent", "demo", prompt]);
    }
    let folder = tempfile::tempdir().unwrap();
    let script = Path::new(WORKSPACE).join("peers/browser/screenshots.mjs");
    let url = format!("http://{}", server.host);
    let made = Command::new("node")
        .arg(script.canonicalize().unwrap())
        .args([url.as_str(), &server.token])
        .arg(folder.path())
        .current_dir(peers().with_file_name("peers-browser"))
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&made.stderr);
    assert!(made.status.success(), "{stderr}");
    // Each picture of a document is one of these.
    let docs = fs::read_dir(Path::new(WORKSPACE).join("docs")).unwrap();
    let names = docs.map(|file| file.unwrap().file_name().into_string().unwrap());
    let of_page = names.filter(|name| name.starts_with("page-"));
    let of_page: Vec<_> = of_page.collect();
    assert!(of_page.len() >= 4, "{of_page:?}");
    for name in of_page {
        let picture = fs::read(folder.path().join(&name)).unwrap();
        assert!(picture.starts_with(b"\x89PNG"), "{name}");
    }
}

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn the_scripts_of_the_page_pass_the_type_checker() {
    let web = Path::new(WORKSPACE).join("crates/serve/web");
    let web = web.canonicalize().unwrap();
    let types = Path::new(WORKSPACE).join("schemas/lapidary.d.ts");
    let folder = tempfile::tempdir().unwrap();
    let check = |entry: &Path| {
        let project = json!({
            "compilerOptions": {
                "strict": true, "noEmit": true, "allowJs": true, "checkJs": true, "skipLibCheck": false, "types": [],
                "target": "es2023", "module": "esnext", "moduleResolution": "bundler",
                "lib": ["es2023", "dom", "dom.iterable", "dom.asynciterable"],
                "paths": { "lapidary": [types.canonicalize().unwrap()], "/*": [web.join("*")] },
            },
            "files": [entry],
        });
        let file = folder.path().join("tsconfig.json");
        fs::write(&file, project.to_string()).unwrap();
        let mut tsc = Command::new("node");
        tsc.arg(peers().join("node_modules/typescript/bin/tsc"));
        let checked = tsc.arg("--project").arg(file).output().unwrap();
        (
            checked.status.success(),
            String::from_utf8_lossy(&checked.stdout).into_owned(),
        )
    };
    let (is_right, report) = check(&web.join("app.js"));
    assert!(is_right, "{report}");
    // The checker reads what the page imports.
    let wrong = folder.path().join("wrong.js");
    let text = "// @ts-check\nimport { duration } from \"/format.js\";\nduration(\"long\");\n";
    fs::write(&wrong, text).unwrap();
    let (is_right, report) = check(&wrong);
    assert!(!is_right && report.contains("TS2345"), "{report}");
}
