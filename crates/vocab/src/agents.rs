//! Agents that a model can call: the output of `lapidary agents`, the result of an agent's run, and its activities.

mod activity;
mod output;
mod reports;

pub use activity::{
    ActivityErrorType, ActivityItem, ActivityItemType, ActivityType, CANCELLED_MESSAGE,
    REJECTED_PREFIX, SubagentActivityEvent, SubagentProgress, SubagentState, error_context,
};
pub use output::{AgentTerminateMode, OutputObject};
pub use reports::{
    AgentAction, AgentChange, AgentCheckReport, AgentFinding, AgentFindingSeverity, AgentInfo,
    AgentKind, AgentList, AgentOrigin, AgentProgram, AgentShown, AgentStanding, CHANGE_SCHEMA,
    CHECK_SCHEMA, ChangedAgent, LIST_SCHEMA, SHOW_SCHEMA,
};
