// The tools of the real Gemini CLI as a program: one JSON object per line in, one per line out, in order.
//
// in:  {"tool": NAME, "params": {…}, "workspace": DIRECTORY, "fresh"?: true, "path"?: PATH}
// out: {"text": what the model gets, "display": …, "error": TYPE or null, "temporary": the project's temporary directory}
//
// in:  {"models": [NAME, …]}  out: {"models": [the model that each name stands for with an API key, …]}
// in:  {"hints": [TEXT, …]}   out: {"text": the message that a model gets for hints of the user}
//
// `fresh` forgets what was cached of that workspace (ignore files are read once). `path` is the PATH of the call: with an empty one,
// `grep_search` finds neither `git` nor `grep` and searches by itself. The first line out is {"ready": true, "version": …}.
import { createInterface } from 'node:readline';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const bundle = join(process.argv[2], 'node_modules/gemini-0.61.0/bundle');
const say = (value) => process.stdout.write(JSON.stringify(value) + '\n');
// The core logs to the console: that must not reach the answers.
for (const name of ['log', 'info', 'warn', 'error', 'debug']) console[name] = () => {};

// The installed program loads its core as a module that exports everything: no second package is needed.
const [name] = readFileSync(join(bundle, 'gemini.js'), 'utf8').match(/dist-[A-Z0-9]+\.js/);
const core = await import(pathToFileURL(join(bundle, name)));
const { version } = JSON.parse(readFileSync(join(bundle, '../package.json'), 'utf8'));
const bus = { subscribe() {}, unsubscribe() {}, publish() {}, on() {}, off() {} };
const makers = {
  list_directory: (config) => new core.LSTool(config, bus),
  read_file: (config) => new core.ReadFileTool(config, bus),
  glob: (config) => new core.GlobTool(config, bus),
  grep_search: (config) => new core.GrepTool(config, bus),
  replace: (config) => new core.EditTool(config, bus),
  write_file: (config) => new core.WriteFileTool(config, bus),
  run_shell_command: (config) => new core.ShellTool(config, bus),
  activate_skill: (config) => new core.ActivateSkillTool(config, bus),
  get_internal_docs: (config) => config.getAgentRegistry().getDefinition('cli_help').toolConfig.tools[0],
};
// Tools whose skills and agents the start of the program loads.
const initialized = ['activate_skill', 'get_internal_docs'];
const workspaces = new Map();

async function toolOf(call) {
  // A skill that is activated adds its directory to the workspace: the tools for files are not to see that.
  const isInitialized = initialized.includes(call.tool);
  const key = JSON.stringify([call.workspace, isInitialized]);
  if (call.fresh) workspaces.delete(key);
  if (!workspaces.has(key)) {
    const config = new core.Config({
      sessionId: 'oracle',
      targetDir: call.workspace,
      cwd: call.workspace,
      debugMode: false,
      model: 'gemini-2.5-flash',
      disableLLMCorrection: true,
      interactive: false,
      enableAgents: isInitialized,
      skillsSupport: isInitialized,
    });
    await config.storage.initialize();
    config.getBaseLlmClient = () => undefined; // no model corrects what was asked for
    if (isInitialized) await config.initialize();
    workspaces.set(key, { config, tools: {} });
  }
  const { config, tools } = workspaces.get(key);
  return { config, tool: (tools[call.tool] ??= makers[call.tool](config)) };
}

async function answer(call) {
  if (call.path !== undefined) process.env.PATH = call.path;
  const { config, tool } = await toolOf(call);
  const temporary = config.storage.getProjectTempDir();
  let invocation;
  try {
    invocation = tool.build(call.params);
  } catch (error) {
    return { temporary, text: error.message, display: error.message, error: 'invalid_tool_params' };
  }
  const signal = new AbortController().signal;
  const context = { context: config, config };
  const result = await invocation.execute({ abortSignal: signal, ...context });
  // The scheduler sends the model the error's message, where there is one, and not `llmContent`.
  const text = result.error ? result.error.message : result.llmContent;
  return { temporary, text, display: result.returnDisplay, error: result.error?.type ?? null };
}

// With an API key some models stand for newer ones.
async function modelsOf(names) {
  process.env.GEMINI_API_KEY = 'none';
  const config = new core.Config({ sessionId: 'oracle', targetDir: process.cwd(), cwd: process.cwd(), debugMode: false, model: 'auto' });
  await config.refreshAuth('gemini-api-key');
  const flags = [config.getGemini31LaunchedSync(), false, config.getHasAccessToPreviewModel(), config];
  const latest = [config.hasLatestFlashGAAccess(), config.hasLatestFlashLiteGAAccess()];
  return { models: names.map((name) => core.resolveModel(name, ...flags, ...latest)) };
}

function answerOther(call) {
  if (call.models) return modelsOf(call.models);
  if (call.hints) return { text: core.formatUserHintsForModel(call.hints) };
  return answer(call);
}

const path = process.env.PATH;
say({ ready: true, version });
for await (const line of createInterface({ input: process.stdin })) {
  process.env.PATH = path;
  try {
    say(await answerOther(JSON.parse(line)));
  } catch (error) {
    say({ thrown: String(error?.stack ?? error) });
  }
}
process.exit(0);
