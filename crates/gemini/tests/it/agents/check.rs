//! What `check` finds, and where.

use lapidary_gemini::agents::{AgentCheck, AgentRegistry, check_agents, check_path};

use super::{agent, trusted};
use crate::machine::Machine;

const PROJECT: &str = "home/code/project/.gemini/agents";

fn told(check: &AgentCheck) -> Vec<String> {
    let findings = check.findings.iter().map(|finding| {
        let name = finding.path.file_name().unwrap().to_string_lossy();
        let place = finding
            .place
            .map(|place| format!(":{place}"))
            .unwrap_or_default();
        let hint = finding
            .hint
            .as_deref()
            .map(|hint| format!(" [{hint}]"))
            .unwrap_or_default();
        format!(
            "{name}{place} {:?} {}{hint}",
            finding.severity, finding.sentence
        )
    });
    findings.collect()
}

#[test]
fn every_mistake_has_its_line_and_column() {
    let machine = trusted()
        .file("x/a.md", "---\nname: A B\ndescription: x\ntools:\n  - read_file\n  - Read\n  - grep_serch\nmax_turns: 0\ncolour: red\n---\nx\n")
        .file("x/b.md", "---\nname: b\ndescription: [\n---\n")
        .file("x/c.md", "# nothing")
        .file("x/d.md", "---\nname: d\ndescription: x\nmcp_servers:\n  s:\n    comand: x\n---\nTell ${query} to ${user}\n")
        .file("x/e.md", "---\nname: e\ndescription: x\n---\n")
        .file("x/f.md", &agent("d", ""))
        .file("x/g.md", "---\nname: g\nauth: {type: http, scheme: Bearer}\nagent_card_url: nope\n---\n")
        .file("x/_h.md", "")
        .file("x/i.toml", "");
    let check = check_path(&machine.path("x"));
    assert_eq!(check.agents, 3);
    let toml = machine.path("x/i.toml").display().to_string();
    assert_eq!(
        told(&check),
        [
            "_h.md Note is passed over: it begins with `_`".to_owned(),
            "a.md:2:1 Error name: Name must be a valid slug".to_owned(),
            "a.md:6:5 Error tools.1: Invalid tool name [did you mean `read_file`?]".to_owned(),
            "a.md:7:5 Error tools.2: Invalid tool name [did you mean `grep_search`?]".to_owned(),
            "a.md:8:1 Error max_turns: Number must be greater than 0".to_owned(),
            "a.md:9:1 Error Unrecognized key(s) in object: 'colour'".to_owned(),
            "b.md:3:14 Error is not YAML: unclosed bracket '['".to_owned(),
            "c.md:1:1 Error does not begin with a line `---`, front matter and another line `---`".to_owned(),
            "d.md:6:5 Warning `mcp_servers.s.comand` is dropped: there is no such key".to_owned(),
            "d.md:8:18 Error `${user}` is not an input: every run of it fails (inputs: query, cliVersion, activeModel, today)".to_owned(),
            "e.md Error has no instructions below its front matter: every run of it fails".to_owned(),
            "f.md Warning another agent is called `d` and counts [rename one of them]".to_owned(),
            "g.md:3:1 Error auth.token: Bearer scheme requires \"token\"".to_owned(),
            "g.md:4:1 Error agent_card_url: Invalid url".to_owned(),
            format!("i.toml Warning is passed over: it does not end in `.md` [`lapidary agents import --from-toml {toml}` makes an agent of it]"),
        ]
    );
}

#[test]
fn an_agent_that_waits_for_an_acknowledgement_is_a_warning_and_a_claude_file_names_the_importer() {
    let claude = "---\nname: one\ndescription: x\ntools: Read, Bash\ncolor: red\n---\nx\n";
    let machine = trusted()
        .file(&format!("{PROJECT}/a.md"), &agent("a", ""))
        .file(&format!("{PROJECT}/claude.md"), claude);
    let check = check_agents(&machine.setup(), "");
    let path = machine
        .path(&format!("{PROJECT}/claude.md"))
        .display()
        .to_string();
    let hint = format!(
        "[this looks like an agent of Claude: `lapidary agents import --from-claude {path}` converts it]"
    );
    assert_eq!(
        told(&check),
        [
            "a.md Warning is not acknowledged: it does not count [read it, then `lapidary agents ack a`]".to_owned(),
            format!("claude.md:4:1 Error (Local Agent) tools: Expected array, received string {hint}"),
            format!("claude.md:5:1 Error (Local Agent) Unrecognized key(s) in object: 'color' {hint}"),
        ]
    );
}

#[test]
fn mistakes_in_a_workspace_without_trust_are_found_and_no_other_command_sees_them() {
    let machine = Machine::new()
        .file(&format!("{PROJECT}/a.md"), &agent("a", ""))
        .file(
            &format!("{PROJECT}/b.md"),
            &agent("b", "tools:\n  - raed_file\n"),
        );
    let setup = machine.setup();
    let hint =
        "`--trust-workspace` trusts it for one run; `gemini` asks for good when it starts there";
    assert_eq!(
        told(&check_agents(&setup, "")),
        [
            format!("a.md Warning does not count: the workspace is not trusted [{hint}]"),
            "b.md:5:5 Error tools.0: Invalid tool name [did you mean `read_file`?]".to_owned(),
        ]
    );
    assert!(AgentRegistry::load(&setup, "").errors.is_empty());
}
