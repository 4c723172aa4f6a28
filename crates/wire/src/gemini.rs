//! Gemini CLI.

pub mod hooks;
pub mod output;
pub mod session;
pub mod stream;

/// The tools that Gemini CLI 0.61 lists as its own (`ALL_BUILTIN_TOOL_NAMES`).
pub const BUILT_IN_TOOLS: [&str; 27] = [
    "glob",
    "write_todos",
    "write_file",
    "google_web_search",
    "web_fetch",
    "replace",
    "run_shell_command",
    "grep_search",
    "read_many_files",
    "read_file",
    "list_directory",
    "activate_skill",
    "ask_user",
    "tracker_create_task",
    "tracker_update_task",
    "tracker_get_task",
    "tracker_list_tasks",
    "tracker_add_dependency",
    "tracker_visualize",
    "get_internal_docs",
    "enter_plan_mode",
    "exit_plan_mode",
    "update_topic",
    "complete_task",
    "invoke_agent",
    "read_mcp_resource",
    "list_mcp_resources",
];
