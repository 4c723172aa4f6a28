//! How the prompt gets there.

use std::fs;
use std::path::{Path, PathBuf};

use lapidary_engine::config::Config;
use lapidary_engine::gemini_cli::{
    GeminiLaunch, LaunchError, PromptDelivery, PromptText, STDIN_LIMIT, StdinContent, prepare,
};

use crate::launch::{hello, ready};

fn with_system_prompt(text: &str) -> Config {
    Config::builder()
        .set("system_prompt", text)
        .build()
        .unwrap()
}

/// A directory with a file `prompt.md` that is not empty.
fn workspace() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("prompt.md");
    fs::write(&file, "do it").unwrap();
    (folder, file)
}

fn from_file<'a>(config: &'a Config, dir: &'a Path, file: &str) -> GeminiLaunch<'a> {
    GeminiLaunch {
        dir,
        prompt: PromptText::File(file.into()),
        ..hello(config)
    }
}

/// P31: by stdin, as the specification has it. P36
#[test]
fn text_goes_by_stdin_behind_the_system_prompt() {
    let config = Config::default();
    let launch = GeminiLaunch {
        prompt: PromptText::Text("-p --yolo\n".to_owned()),
        ..hello(&config)
    };
    let invocation = ready(&launch);
    assert_eq!(
        invocation.stdin,
        StdinContent::Text("-p --yolo\n".to_owned())
    );
    assert_eq!(
        invocation.args,
        ["-o", "stream-json", "--approval-mode", "default"]
    );

    let config = with_system_prompt("Be brief.");
    let stdin = ready(&hello(&config)).stdin;
    assert_eq!(stdin, StdinContent::Text("Be brief.\n\nhello".to_owned()));
}

/// P32, P33, P36
#[test]
fn a_file_is_named_behind_the_system_prompt() {
    let (folder, file) = workspace();
    let order = format!("Process the prompt in {}", file.display());
    let invocation = ready(&from_file(&Config::default(), folder.path(), "prompt.md"));
    assert_eq!(invocation.args[4..], ["-p", &order]);
    assert_eq!(
        (invocation.stdin, invocation.notices),
        (StdinContent::Empty, vec![])
    );

    let config = with_system_prompt("Be brief.");
    let invocation = ready(&from_file(&config, folder.path(), "prompt.md"));
    assert_eq!(
        invocation.args[4..],
        ["-p", &format!("Be brief.\n\n{order}")]
    );

    let config = with_system_prompt("- be brief");
    let invocation = ready(&from_file(&config, folder.path(), "prompt.md"));
    assert_eq!(
        invocation.args[4..],
        [&*format!("--prompt=- be brief\n\n{order}")]
    );
}

#[test]
fn a_system_prompt_too_long_for_an_argument_goes_by_stdin() {
    let (folder, file) = workspace();
    let system = "x".repeat(200_000);
    let config = with_system_prompt(&system);
    let invocation = ready(&from_file(&config, folder.path(), "prompt.md"));
    let order = format!("Process the prompt in {}", file.display());
    assert_eq!(invocation.args[4..], ["-p", &order]);
    assert_eq!(invocation.stdin, StdinContent::Text(system));

    let config = with_system_prompt(&"x".repeat(STDIN_LIMIT + 1));
    let error = prepare(&from_file(&config, folder.path(), "prompt.md")).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the system prompt has 8388609 bytes, more than the 8388608 that Gemini CLI reads"
    );
}

#[test]
fn text_longer_than_the_cli_reads_needs_a_file() {
    let config = with_system_prompt("Be brief.");
    let room = STDIN_LIMIT - "Be brief.\n\n".len();
    let launch = |size| GeminiLaunch {
        prompt: PromptText::Text("x".repeat(size)),
        ..hello(&config)
    };
    assert!(matches!(
        prepare(&launch(room)),
        Ok(PromptDelivery::Ready(_))
    ));
    let needed = prepare(&launch(room + 1)).unwrap();
    let expected = PromptDelivery::NeedsFile {
        text: "x".repeat(room + 1),
        notice: "the prompt has 8388609 bytes, more than the 8388608 that Gemini CLI reads: it is passed as a file, which \
                 the agent reads in parts"
            .to_owned(),
    };
    assert!(needed == expected);
}

#[test]
fn nothing_to_do_is_an_error() {
    let config = with_system_prompt("Be brief.");
    for text in ["", " \n\t"] {
        let launch = GeminiLaunch {
            prompt: PromptText::Text(text.to_owned()),
            ..hello(&config)
        };
        assert!(matches!(prepare(&launch), Err(LaunchError::EmptyPrompt)));
    }
    let (folder, file) = workspace();
    fs::write(file, "").unwrap();
    let prepared = prepare(&from_file(&config, folder.path(), "prompt.md"));
    assert!(matches!(prepared, Err(LaunchError::EmptyPrompt)));
}

#[test]
fn a_file_that_is_none_is_refused_with_the_reason() {
    let (folder, _) = workspace();
    let config = Config::default();
    for (file, reason) in [
        ("missing.md", "No such file or directory (os error 2)"),
        (".", "it is a directory"),
        ("/dev/null", "it is not a regular file"),
    ] {
        let error = prepare(&from_file(&config, folder.path(), file)).unwrap_err();
        let path = folder.path().join(file);
        let expected = format!("cannot use {} as the prompt: {reason}", path.display());
        assert_eq!(error.to_string(), expected);
    }
}

#[test]
fn a_file_that_the_agent_will_refuse_to_read_is_reported() {
    let (folder, file) = workspace();
    let elsewhere = tempfile::tempdir().unwrap();
    let file = file.to_str().unwrap();
    let notices = |config: &Config| ready(&from_file(config, elsewhere.path(), file)).notices;
    let notice = format!(
        "{file} lies outside the workspace, where Gemini CLI refuses to read files: add its directory to \
         include_directories, or pass the text itself"
    );
    assert_eq!(notices(&Config::default()), [notice]);
    let included = Config::builder()
        .include_directory(folder.path())
        .build()
        .unwrap();
    assert_eq!(notices(&included), [""; 0]);
    let there = Config::builder()
        .working_dir(folder.path())
        .build()
        .unwrap();
    assert_eq!(notices(&there), [""; 0]);
}
