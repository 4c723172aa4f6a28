//! Agents that a model can call: what an agent's run gives back, and what happens in it.

mod activity;
mod output;

pub use activity::{
    ActivityErrorType, ActivityItem, ActivityItemType, ActivityType, CANCELLED_MESSAGE,
    REJECTED_PREFIX, SubagentActivityEvent, SubagentProgress, SubagentState, error_context,
};
pub use output::{AgentTerminateMode, OutputObject};
