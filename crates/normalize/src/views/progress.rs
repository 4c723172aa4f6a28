//! The activity of an agent → its progress: the last steps and the state, as Gemini CLI's `SubagentProgress` has them.

use lapidary_vocab::agents::{
    ActivityErrorType, ActivityItem, ActivityItemType, ActivityType, AgentTerminateMode,
    SubagentActivityEvent, SubagentProgress, SubagentState,
};
use serde_json::Value;

/// How many steps are kept: as many as Gemini CLI keeps in its session files.
const MOST_STEPS: usize = 3;

/// Folds the activity of one agent.
///
/// ```
/// use lapidary_normalize::views::progress::ProgressFold;
/// use lapidary_vocab::agents::{ActivityType, SubagentActivityEvent};
///
/// let mut fold = ProgressFold::new("scout");
/// let data = serde_json::json!({"name": "glob", "callId": "1"});
/// let data = data.as_object().cloned().unwrap_or_default();
/// fold.push(&SubagentActivityEvent::new("scout", ActivityType::ToolCallStart, data));
/// assert_eq!(fold.progress().recent_activity[0].content, "glob");
/// ```
#[derive(Debug)]
pub struct ProgressFold {
    progress: SubagentProgress,
    /// Thoughts so far: they have no id of their own.
    thoughts: u64,
}

impl ProgressFold {
    /// The progress of an agent that begins.
    pub fn new(agent_name: &str) -> Self {
        Self {
            progress: SubagentProgress {
                is_subagent_progress: true,
                agent_name: agent_name.to_owned(),
                recent_activity: Vec::new(),
                state: Some(SubagentState::Running),
                result: None,
                terminate_reason: None,
            },
            thoughts: 0,
        }
    }

    /// The progress so far.
    pub fn progress(&self) -> &SubagentProgress {
        &self.progress
    }

    /// Takes in an activity of the agent. Activities of other agents are ignored.
    pub fn push(&mut self, activity: &SubagentActivityEvent) {
        if activity.agent_name != self.progress.agent_name {
            return;
        }
        let text = |key: &str| activity.data.get(key).and_then(Value::as_str);
        let kind = &activity.activity_type;
        if *kind == ActivityType::ThoughtChunk {
            self.replace_thought(text("text").unwrap_or_default());
        } else if *kind == ActivityType::ToolCallStart {
            self.add_call(activity);
        } else if *kind == ActivityType::ToolCallEnd {
            self.end_call(text("id"), SubagentState::Completed);
        } else if *kind == ActivityType::Error {
            let error = text("error").unwrap_or_default();
            self.add_error(error, text("errorType"), text("callId"));
        }
    }

    /// The progress of an agent that has ended.
    pub fn finish(
        mut self,
        reason: AgentTerminateMode,
        result: Option<String>,
    ) -> SubagentProgress {
        self.progress.state = Some(match reason {
            AgentTerminateMode::Aborted => SubagentState::Cancelled,
            AgentTerminateMode::Error => SubagentState::Error,
            _ => SubagentState::Completed,
        });
        self.progress.result = result;
        self.progress.terminate_reason = Some(reason);
        self.progress
    }

    /// A thought replaces the one before it, unless a call or an error came between them.
    fn replace_thought(&mut self, text: &str) {
        let last = self.progress.recent_activity.last_mut();
        let open = last.filter(|item| {
            item.item_type == ActivityItemType::Thought && item.status == SubagentState::Running
        });
        match open {
            Some(item) => text.clone_into(&mut item.content),
            None => self.add_thought(text.to_owned(), SubagentState::Running),
        }
    }

    fn add_call(&mut self, activity: &SubagentActivityEvent) {
        let text = |key: &str| {
            let value = activity.data.get(key).and_then(Value::as_str);
            value.map(str::to_owned)
        };
        self.add_item(ActivityItem {
            id: text("callId").unwrap_or_default(),
            item_type: ActivityItemType::ToolCall,
            content: text("name").unwrap_or_default(),
            display_name: text("displayName"),
            description: text("description"),
            args: activity.data.get("args").map(Value::to_string),
            status: SubagentState::Running,
        });
    }

    fn end_call(&mut self, id: Option<&str>, status: SubagentState) {
        let mut items = self.progress.recent_activity.iter_mut().rev();
        let open = items.find(|item| {
            item.item_type == ActivityItemType::ToolCall
                && Some(item.id.as_str()) == id
                && item.status == SubagentState::Running
        });
        if let Some(item) = open {
            item.status = status;
        }
    }

    /// An error is a step of its own, and the end of its call.
    fn add_error(&mut self, error: &str, error_type: Option<&str>, call: Option<&str>) {
        let ended = [ActivityErrorType::Cancelled, ActivityErrorType::Rejected];
        let is_ended = ended.iter().any(|it| Some(it.as_str()) == error_type);
        let (status, words) = if is_ended {
            (SubagentState::Cancelled, error.to_owned())
        } else {
            (SubagentState::Error, format!("Error: {error}"))
        };
        self.end_call(call, status.clone());
        self.add_thought(words, status);
    }

    fn add_thought(&mut self, content: String, status: SubagentState) {
        self.thoughts += 1;
        self.add_item(ActivityItem {
            id: format!("thought-{}", self.thoughts),
            item_type: ActivityItemType::Thought,
            content,
            display_name: None,
            description: None,
            args: None,
            status,
        });
    }

    fn add_item(&mut self, item: ActivityItem) {
        let items = &mut self.progress.recent_activity;
        if items.len() == MOST_STEPS {
            items.remove(0);
        }
        items.push(item);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn steps(fold: &ProgressFold) -> Vec<String> {
        let items = fold.progress().recent_activity.iter();
        items
            .map(|item| format!("{} {}: {}", item.id, item.content, item.status.as_str()))
            .collect()
    }

    #[test]
    fn the_last_steps_are_kept_with_their_states() {
        let mut fold = ProgressFold::new("scout");
        let mut push = |kind: ActivityType, data: Value, expected: &[&str]| {
            let data = data.as_object().unwrap().clone();
            fold.push(&SubagentActivityEvent::new("scout", kind, data));
            assert_eq!(steps(&fold), expected);
        };
        let (thought, start, end, error) = (
            ActivityType::ThoughtChunk,
            ActivityType::ToolCallStart,
            ActivityType::ToolCallEnd,
            ActivityType::Error,
        );
        push(
            thought.clone(),
            json!({"text": "a"}),
            &["thought-1 a: running"],
        );
        push(thought, json!({"text": "b"}), &["thought-1 b: running"]);
        let glob = json!({"name": "glob", "callId": "1", "args": {"pattern": "*"}});
        push(
            start.clone(),
            glob,
            &["thought-1 b: running", "1 glob: running"],
        );
        let ended = ["thought-1 b: running", "1 glob: completed"];
        push(end, json!({"name": "glob", "id": "1"}), &ended);
        let write = json!({"name": "write_file", "callId": "2"});
        let written = [
            "thought-1 b: running",
            "1 glob: completed",
            "2 write_file: running",
        ];
        push(start, write, &written);
        let rejected = json!({"error": "No.", "errorType": "REJECTED", "callId": "2"});
        let told = [
            "1 glob: completed",
            "2 write_file: cancelled",
            "thought-2 No.: cancelled",
        ];
        push(error.clone(), rejected, &told);
        let failed = [
            "2 write_file: cancelled",
            "thought-2 No.: cancelled",
            "thought-3 Error: x: error",
        ];
        push(
            error,
            json!({"error": "x", "errorType": "GENERIC"}),
            &failed,
        );
        let progress = fold.finish(AgentTerminateMode::Goal, Some("Done.".to_owned()));
        assert_eq!(progress.state, Some(SubagentState::Completed));
        assert_eq!(progress.result.as_deref(), Some("Done."));
    }

    #[test]
    fn activities_of_another_agent_are_ignored() {
        let mut fold = ProgressFold::new("scout");
        let data = json!({"text": "a"}).as_object().unwrap().clone();
        fold.push(&SubagentActivityEvent::new(
            "helper",
            ActivityType::ThoughtChunk,
            data,
        ));
        assert!(fold.progress().recent_activity.is_empty());
    }
}
