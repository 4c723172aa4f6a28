//! `complete_task`: the call that ends a task, if its arguments are the result that was asked for.

use lapidary_gemini::agents::OutputConfig;
use serde_json::{Map, Value};

use super::AgentRun;
use crate::schema;
use crate::tool::{ToolDeclaration, ToolError, ToolOutput};

impl AgentRun<'_> {
    /// The result that a call hands over, and the output for the model.
    pub(super) fn take_completion(
        &self,
        arguments: &Map<String, Value>,
    ) -> (Option<Value>, ToolOutput) {
        let declaration = self.tools.declarations.last();
        let output = self.request.definition.output_config.as_ref();
        match submitted_result(declaration, output, arguments) {
            Ok(result) => {
                let told = ToolOutput::from_text("Result submitted and task completed.");
                (Some(result), told)
            }
            Err(error) => (None, ToolOutput::from_error(error)),
        }
    }
}

fn submitted_result(
    declaration: Option<&ToolDeclaration>,
    output: Option<&OutputConfig>,
    arguments: &Map<String, Value>,
) -> Result<Value, ToolError> {
    let invalid = |message: String| ToolError::new("invalid_tool_params", message);
    if let Some(declaration) = declaration {
        let arguments = Value::Object(arguments.clone());
        schema::check(&declaration.parameters, &arguments)
            .map_err(|violations| invalid(schema::sentence("params", &violations)))?;
    }
    let name = output.map_or("result", |output| &output.output_name);
    let result = arguments.get(name).cloned().unwrap_or(Value::Null);
    let is_blank = result.as_str().is_some_and(|text| text.trim().is_empty());
    if output.is_none() && is_blank {
        return Err(invalid(
            "Missing required \"result\" argument. You must provide your findings when calling complete_task."
                .to_owned(),
        ));
    }
    Ok(result)
}
