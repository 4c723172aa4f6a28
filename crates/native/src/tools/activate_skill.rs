//! `activate_skill`: the instructions of a skill, and a way to its files.

use std::sync::{Arc, Mutex, PoisonError};

use lapidary_gemini::skills::SkillManager;
use serde_json::{Map, Value, json};

use super::{Arguments, ReadingCall, failed_output, reading_preview, tool_declaration};
use crate::tool::{
    CallKind, PreparedCall, Tool, ToolDeclaration, ToolError, ToolOutput, WorkspaceScope,
};
use crate::workspace::Workspace;

/// Skills that the tools of an agent share.
pub type SharedSkills = Arc<Mutex<SkillManager>>;

/// Activates skills.
#[derive(Debug)]
pub struct ActivateSkillTool {
    workspace: Arc<Workspace>,
    skills: SharedSkills,
    declaration: ToolDeclaration,
}

impl ActivateSkillTool {
    /// The tool for the skills that are there now.
    pub fn new(workspace: Arc<Workspace>, skills: SharedSkills) -> Self {
        let names: Vec<String> = lock_skills(&skills)
            .active_skills()
            .map(|skill| skill.name.clone())
            .collect();
        let mut property = json!({ "type": "string", "description": "The name of the skill." });
        if !names.is_empty() {
            property["enum"] = json!(names);
        }
        let listed: Vec<_> = names.iter().map(|name| format!("'{name}'")).collect();
        let available = if listed.is_empty() {
            String::new()
        } else {
            format!(" (Available: {})", listed.join(", "))
        };
        let description = format!(
            "Activates a skill by its name{available} and returns its instructions in `<activated_skill>` tags. Use it when the task is what a skill is for."
        );
        let mut declaration = tool_declaration(
            "activate_skill",
            &description,
            &json!({ "name": property }),
            &["name"],
        );
        declaration.parameters["additionalProperties"] = false.into();
        Self {
            workspace,
            skills,
            declaration,
        }
    }
}

fn lock_skills(skills: &SharedSkills) -> std::sync::MutexGuard<'_, SkillManager> {
    skills.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Tool for ActivateSkillTool {
    fn declaration(&self) -> &ToolDeclaration {
        &self.declaration
    }

    fn in_scope(&self, scope: &mut WorkspaceScope<'_>) -> Option<Arc<dyn Tool>> {
        Some(Arc::new(Self::new(
            scope(&self.workspace),
            Arc::clone(&self.skills),
        )))
    }

    fn instruction(&self) -> Option<String> {
        Some(lock_skills(&self.skills).available_skills())
    }

    fn prepare(&self, arguments: &Map<String, Value>) -> Result<Box<dyn PreparedCall>, ToolError> {
        let arguments = Arguments::check(&self.declaration, arguments)?;
        let name = arguments.text_argument("name").to_owned();
        let mut preview = reading_preview(
            CallKind::Other,
            format!("Activate skill {name}"),
            Vec::new(),
        );
        if let Some(skill) = lock_skills(&self.skills).skill_by_name(&name) {
            preview.needs_permission = !skill.is_builtin;
            preview.paths = vec![skill.directory()];
        }
        let (workspace, skills) = (Arc::clone(&self.workspace), Arc::clone(&self.skills));
        Ok(Box::new(ReadingCall {
            preview,
            work: move |_: &_| activation_output(&workspace, &skills, &name),
        }))
    }
}

fn activation_output(workspace: &Workspace, skills: &SharedSkills, name: &str) -> ToolOutput {
    let skills = lock_skills(skills);
    let directory = skills
        .skill_by_name(name)
        .map(lapidary_gemini::skills::SkillDefinition::directory);
    match skills.activate_skill(name) {
        Ok(text) => {
            let directory = directory.unwrap_or_default();
            // A skill whose directory is gone has its instructions, and no files.
            let _ = workspace.add_root(&directory);
            let mut output = ToolOutput::from_text(text);
            output.display = Some(format!(
                "Skill **{name}** activated. Resources loaded from `{}`",
                directory.display()
            ));
            output
        }
        Err(words) => failed_output(
            "invalid_tool_params",
            words.clone(),
            format!("Error: {words}"),
        ),
    }
}
