//! The wheel `lapidary-cli`.

use std::fs;
use std::path::Path;
use std::process::Command;

use lapidary_testkit::gemini::peers_beside;

use super::installed::installed_clients;
use super::misfortunes::{
    check_addresses, check_error, check_left_runs, check_long_lines, check_lost_server,
    check_named_binaries, check_wrong_options,
};
use super::readme::{check_command, check_outputs, run_examples, write_examples};
use super::{ran, succeeded};
use crate::support::{Ran, program, root};

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn examples_of_the_python_package_are_typed_strictly_and_run() {
    let clients = installed_clients();
    let folder = tempfile::tempdir().unwrap();
    let readme = root().join("clients/python/README.md");
    let mut examples = write_examples(&readme, "python", folder.path(), "package");
    examples.extend(write_examples(
        &root().join("README.md"),
        "python",
        folder.path(),
        "project",
    ));
    // The installed package, its own modules too.
    let installed = clients.environment.join("lib");
    let installed = fs::read_dir(installed).unwrap().next().unwrap().unwrap();
    let mut mypy = program("python3");
    mypy.args(["-m", "mypy", "--strict", "--python-version", "3.9"])
        .args(["--scripts-are-modules", "--cache-dir"])
        .arg(folder.path().join("cache"))
        .args(
            examples
                .iter()
                .map(|example| folder.path().join(&example.name)),
        )
        .arg(root().join("examples/batch.py"))
        .arg(root().join("crates/cli/tests/it/clients/cancellation.py"))
        .env("PYTHONPATH", peers_beside("peers-clients-python"))
        .env("MYPYPATH", installed.path().join("site-packages"))
        .current_dir(&folder);
    succeeded(mypy);
    let outputs = run_examples(&examples, |example, state| {
        let mut python = clients.python(state);
        python.arg(folder.path().join(&example.name));
        python
    });
    check_outputs(&outputs);
    let state = tempfile::tempdir().unwrap();
    check_command(clients.program(clients.environment.join("bin/lapidary"), state.path()));
}

/// Runs a program with the client, which shows the error that it gets.
fn run_script(text: &str, prepare: impl FnOnce(&mut Command)) -> Ran {
    let state = tempfile::tempdir().unwrap();
    let mut python = installed_clients().python(state.path());
    let lines = text.replace('\n', "\n    ");
    python.args(["-c", &format!("import lapidary_cli\ntry:\n    {lines}\nexcept lapidary_cli.LapidaryError as error:\n    print(error.code)\n    print(error)")]);
    prepare(&mut python);
    ran(python)
}

const RUN: &str = "lapidary_cli.run('hi', agent='demo').finished()";

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn a_python_client_without_a_fitting_binary_says_what_to_do() {
    let missing = run_script(RUN, |python| {
        // The sources alone, as on a platform without a wheel.
        python.env("PYTHONPATH", root().join("clients/python/src"));
        python.env("PYTHONDONTWRITEBYTECODE", "1");
    });
    check_error(
        &missing,
        "binary_missing",
        &[
            "no binary for `linux-x86_64`",
            "pip install",
            "cargo install --locked",
        ],
    );
    check_named_binaries("pip install lapidary-cli==9.4.2", |binary| {
        run_script(RUN, |python| {
            python.env("LAPIDARY_BIN", binary);
        })
    });
    let lost = RUN.replace("'demo'", "'demo', cwd='/nonexistent'");
    let unknown = "lapidary_cli.connect(agent='nosuch').send('hi')";
    check_wrong_options(&run_script(&lost, |_| {}), &run_script(unknown, |_| {}));
}

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn an_old_python_gets_an_error_that_names_the_required_version_and_wrong_options_are_refused() {
    let state = tempfile::tempdir().unwrap();
    let mut python = installed_clients().python(state.path());
    python.args([
        "-c",
        "import sys\nsys.version_info = (3, 8, 18)\nimport lapidary_cli",
    ]);
    let told = ran(python);
    assert_eq!(told.code, Some(1));
    assert!(
        told.stderr
            .contains("needs Python 3.9 or newer; this is Python 3.8\nhint: "),
        "{told:?}"
    );
    let mut python = installed_clients().python(state.path());
    python.args([
        "-c",
        "import lapidary_cli
for options in ({'agnet': 'demo'}, {'allow': 'edit'}):
    try: lapidary_cli.run('hi', **options)
    except TypeError as error: print(error)",
    ]);
    let told = succeeded(python);
    assert!(told.starts_with("unknown option `agnet`: "), "{told}");
    assert!(
        told.ends_with("`allow` is a list: write ['edit']\n"),
        "{told}"
    );
    let mut python = installed_clients().python(state.path());
    python.args([
        "-c",
        "import lapidary_cli
for start in (lapidary_cli.run, lapidary_cli.run_result, lapidary_cli.connect(agent='demo').send):
    try: start(None)
    except TypeError as error: print(error)
try: lapidary_cli.run('hi', server={'url': None})
except lapidary_cli.LapidaryError as error: print(error.code)",
    ]);
    let prompt = "the prompt is None: it must be a string\n";
    let told = format!("{}server_address\n", prompt.repeat(3));
    assert_eq!(succeeded(python), told);
    let mut python = installed_clients().python(state.path());
    // Python's word for bytes of a command line that are not UTF-8. The agent would wait for such a prompt.
    python.args([
        "-c",
        "import lapidary_cli
for start in (lapidary_cli.run, lapidary_cli.run_result):
    try: start('\\udc80', agent='demo', output_schema={})
    except UnicodeEncodeError as error: print(error.reason)
try: lapidary_cli.run('hi', binary='/')
except lapidary_cli.LapidaryError as error: print(error.hint)",
    ]);
    let told = "surrogates not allowed\nsurrogates not allowed\nit must be an executable file\n";
    assert_eq!(succeeded(python), told);
}

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn a_connection_of_python_refuses_a_second_turn_and_goes_on_with_the_first() {
    let script = "import asyncio
async def main():
    async with lapidary_cli.connect(agent={AGENT}, trust_workspace=True) as agent:
        turns = agent.asend('say one'), agent.asend('say two')
        first, second = await asyncio.gather(*turns, return_exceptions=True)
        print(second.code)
        print(second)
        print(first.text)
        print((await agent.asend('say three')).text)
asyncio.run(main())";
    let agent = format!(
        "{:?}",
        root().join("examples/agent.py").display().to_string()
    );
    let ran = run_script(&script.replace("{AGENT}", &agent), |_| {});
    let words = ["another turn of this connection", "\none\nthree\n"];
    check_error(&ran, "command_failed", &words);
}

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn the_python_client_ends_what_is_cancelled_left_by_its_block_or_answered_by_nothing() {
    let state = tempfile::tempdir().unwrap();
    let mut python = installed_clients().python(state.path());
    python
        .args(["-c", include_str!("cancellation.py")])
        .arg(root().join("examples/agent.py"));
    let told = "one
left when idle: completed
left in a turn: cancelled
cancelled
cancelled
three
left after it: completed
cancelled
`on_permission` returned None: a dictionary with `allowed` is an answer
withdrawn
hint
";
    assert_eq!(succeeded(python), told);
}

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn the_python_client_explains_a_server_that_is_gone_and_a_token_that_is_missing() {
    let missing = run_script(
        "lapidary_cli.run('hi', server='http://127.0.0.1:9')",
        |_| {},
    );
    check_error(
        &missing,
        "token_missing",
        &["serve/token` (No such file or directory)", "lapidary serve"],
    );
    let gone = "import os, threading
server = {'url': os.environ['LAPIDARY_URL'], 'token_file': os.environ['LAPIDARY_TOKEN_FILE']}
def never(request):
    os.kill(int(os.environ['SERVER_PID']), 9)
    return True
lapidary_cli.run('hi', agent='demo', server=server, on_permission=never).finished()";
    check_lost_server(|server| {
        run_script(gone, |python| {
            python.envs(server.variables());
        })
    });
    check_addresses(|url| {
        let server = format!("{{'url': {url:?}, 'token': 'x'}}");
        run_script(
            &format!("lapidary_cli.run('hi', server={server}).finished()"),
            |_| {},
        )
    });
}

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn a_python_client_that_leaves_or_dies_leaves_no_process() {
    let options = |agent: &Path| {
        let agent = agent.display().to_string();
        format!("agent={agent:?}, trust_workspace=True")
    };
    let leave = |agent: &Path| {
        let options = options(agent);
        let script = format!(
            "import asyncio
for event in lapidary_cli.run('say hi; hang', {options}):
    if event['event'] == 'stream_delta': break
async def leave():
    async for event in lapidary_cli.run('say hi; hang', {options}):
        if event['event'] == 'stream_delta': break
asyncio.run(leave())
with lapidary_cli.connect({options}) as agent:
    for event in agent.prompt('say hi; hang'):
        if event['event'] == 'stream_delta': break
    print(agent.send('say again').text)
    print(agent.close()['outcome'])"
        );
        run_script(&script, |_| {})
    };
    let hang = |agent: &Path, state: &Path| {
        let options = options(agent);
        let events = [
            format!("run('say hi; hang', {options})"),
            format!("connect({options}).prompt('say hi; hang')"),
        ];
        events.map(|events| {
            let script = format!(
                "import lapidary_cli
for event in lapidary_cli.{events}:
    if event['event'] == 'stream_delta': print('hi', flush=True)"
            );
            let mut python = installed_clients().python(state);
            python.args(["-c", &script]);
            python
        })
    };
    check_left_runs("again\ncompleted\n", leave, hang);
}

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn the_python_client_reads_lines_of_any_length_up_to_a_bound() {
    check_long_lines("`max_line_bytes`", |binary| {
        let binary = format!("binary={:?}", binary.display().to_string());
        let script = format!(
            "lengths = [len(event.get('text', '')) for event in lapidary_cli.run('hi', {binary})]
assert lengths == [3000000, 0], lengths
lapidary_cli.run('hi', {binary}, max_line_bytes=1000).finished()"
        );
        run_script(&script, |_| {})
    });
}
