//! The todo list of an agent, by the calls that change it.

use lapidary_json::Token;

/// How many steps are kept.
const MOST_STEPS: usize = 50;

/// Words for a step that needs no more work.
const DONE: [&str; 3] = ["completed", "cancelled", "deleted"];

/// The steps of the work, as the agent wrote them down last.
#[derive(Debug, Default)]
pub(super) struct TodoList {
    steps: Vec<TodoStep>,
}

#[derive(Debug)]
struct TodoStep {
    text: String,
    status: String,
}

impl TodoList {
    /// Takes in a call: `TodoWrite` and `update_plan` write the whole list, as Gemini CLI's `write_todos` does; `TaskCreate` adds a
    /// step with the next number, and `TaskUpdate` changes one by it (Claude Code 2.1.312).
    pub(super) fn take_call(&mut self, tool: &str, input: Token<'_>) {
        match tool {
            "TodoWrite" | "write_todos" | "todowrite" | "todo_write" => {
                self.replace(input.get("todos"));
            }
            "update_plan" => self.replace(input.get("plan")),
            "TaskCreate" => {
                if let Some(text) = text_of(input, "subject") {
                    let status = "pending".to_owned();
                    self.steps.push(TodoStep { text, status });
                }
            }
            "TaskUpdate" => self.update(input),
            _ => {}
        }
        self.steps.truncate(MOST_STEPS);
    }

    /// The steps that are not done.
    pub(super) fn into_open(self) -> Vec<String> {
        let open = self.steps.into_iter();
        let open = open.filter(|step| !DONE.contains(&&*step.status));
        open.map(|step| match step.status.as_str() {
            "in_progress" => format!("{} (begun)", step.text),
            _ => step.text,
        })
        .collect()
    }

    fn replace(&mut self, list: Option<Token<'_>>) {
        let Some(list) = list else {
            return;
        };
        self.steps = list
            .elements()
            .filter_map(|step| {
                let names = ["content", "description", "step"];
                let text = names.iter().find_map(|name| text_of(step, name))?;
                let status = text_of(step, "status").unwrap_or_default();
                Some(TodoStep { text, status })
            })
            .collect();
    }

    fn update(&mut self, input: Token<'_>) {
        let number = text_of(input, "taskId").and_then(|id| id.parse::<usize>().ok());
        let step = number.and_then(|number| self.steps.get_mut(number.checked_sub(1)?));
        let Some(step) = step else {
            return;
        };
        if let Some(text) = text_of(input, "subject") {
            step.text = text;
        }
        if let Some(status) = text_of(input, "status") {
            step.status = status;
        }
    }
}

fn text_of(object: Token<'_>, name: &str) -> Option<String> {
    Some(object.get(name)?.string()?.into_owned())
}
