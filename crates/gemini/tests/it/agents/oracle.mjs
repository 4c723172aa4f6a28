// Asks the core of Gemini CLI, as a package, about built-in agents, templates and names of tools. The questions are on stdin.
import fs from 'node:fs';
import path from 'node:path';

const { models, templates, tools } = JSON.parse(fs.readFileSync(0, 'utf8'));
const source = path.join(process.argv[2], 'node_modules/@google/gemini-cli-core/dist/src');
const load = (name) => import(path.join(source, name));
const { CodebaseInvestigatorAgent } = await load('agents/codebase-investigator.js');
const { CliHelpAgent } = await load('agents/cli-help-agent.js');
const { GeneralistAgent } = await load('agents/generalist-agent.js');
const { templateString } = await load('agents/utils.js');
const { isValidToolName } = await load('tools/tool-names.js');

const told = (agent, tools) => ({
  name: agent.name,
  displayName: agent.displayName,
  inputs: Object.keys(agent.inputConfig.inputSchema.properties),
  required: agent.inputConfig.inputSchema.required,
  outputName: agent.outputConfig.outputName,
  outputs: Object.keys(agent.outputConfig.schema.shape),
  modelConfig: agent.modelConfig,
  runConfig: agent.runConfig,
  tools,
});
const filled = ([template, inputs]) => {
  try {
    return { text: templateString(template, inputs) };
  } catch (error) {
    return { error: error.message };
  }
};
const help = CliHelpAgent({ messageBus: {} });
const names = (agent) => agent.toolConfig.tools.map((tool) => (typeof tool === 'string' ? tool : tool.name));
const answers = JSON.stringify({
  investigators: models.map((model) => {
    const agent = CodebaseInvestigatorAgent({ getModel: () => model });
    return told(agent, names(agent));
  }),
  help: told(help, names(help)),
  helpTexts: [{ answer: ' a ', sources: ['x', ' x', '', 'y'] }, { answer: 'b', sources: [] }].map(help.processOutput),
  generalist: told(GeneralistAgent({}), null),
  templates: templates.map(filled),
  tools: tools.map((name) => isValidToolName(name, { allowWildcards: true })),
});
// Modules of the core keep timers. The pipe is written before the process ends.
process.stdout.write(answers, () => process.exit(0));
