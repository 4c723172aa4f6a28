//! Texts for the model: the list of skills, and the instructions of an activated one. Gemini CLI's words, unescaped as they are
//! there.

use super::SkillDefinition;
use super::tree::folder_tree;

/// The list of skills for a system prompt; nothing if there are none.
pub fn available_skills<'a>(skills: impl IntoIterator<Item = &'a SkillDefinition>) -> String {
    let entries: Vec<String> = skills.into_iter().map(SkillDefinition::entry).collect();
    if entries.is_empty() {
        return String::new();
    }
    format!(
        "<available_skills>\n{}\n</available_skills>",
        entries.join("\n")
    )
}

/// The answer to the activation of an unknown skill.
pub fn not_found<'a>(name: &str, skills: impl IntoIterator<Item = &'a SkillDefinition>) -> String {
    let names: Vec<&str> = skills
        .into_iter()
        .map(|skill| skill.name.as_str())
        .collect();
    format!(
        r#"Skill "{name}" not found. Available skills are: {}"#,
        names.join(", ")
    )
}

impl SkillDefinition {
    /// Its entry in the list of skills.
    pub fn entry(&self) -> String {
        format!(
            "  <skill>\n    <name>{}</name>\n    <description>{}</description>\n    <location>{}</location>\n  </skill>",
            self.name,
            self.description,
            self.location.display()
        )
    }

    /// The result of activating it by a name, which is repeated as it was spelt: instructions, and what else lies in its folder.
    pub fn activation(&self, name: &str) -> String {
        format!(
            "<activated_skill name=\"{name}\">\n  <instructions>\n    {}\n  </instructions>\n\n  <available_resources>\n    {}\n  </available_resources>\n</activated_skill>",
            self.body,
            folder_tree(&self.directory())
        )
    }
}
