// Runs the hook registry, planner and translator of an installed Gemini CLI on cases from stdin, and prints what they say.
// Its bundle names each source file in a comment; the parts are cut out by those and given stand-ins for the rest.
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');

const folder = process.argv[2];
const bundle = (needle) => {
  const names = fs.readdirSync(folder).filter((name) => name.endsWith('.js')).sort();
  const texts = names.map((name) => fs.readFileSync(path.join(folder, name), 'utf8'));
  const found = texts.find((text) => text.includes(needle));
  if (!found) throw new Error(`no ${needle} in the bundle`);
  return found;
};
const cut = (text, file) => {
  const start = text.indexOf(`// ${file}\n`);
  if (start < 0) throw new Error(`no ${file} in the bundle`);
  const end = text.indexOf('\n// packages/', start + 1);
  return text.slice(start, end).replace(/^import \* as (\w+) from ("[^"]+");$/gm, 'const $1 = require($2);');
};

const core = bundle('// packages/core/src/hooks/hookRegistry.ts\n');
const parts = ['hookTranslator', 'types', 'trustedHooks', 'hookRegistry', 'hookPlanner'];
const source = parts.map((part) => cut(core, `packages/core/src/hooks/${part}.ts`)).join('\n');
const responseText = core.match(/^function getResponseText\(response\) \{[\s\S]*?^\}/m)[0];
const merge = cut(bundle('// packages/cli/src/utils/deepMerge.ts\n'), 'packages/cli/src/utils/deepMerge.ts');
const load = new Function('require', 'coreEvents', 'debugLogger', 'Storage', `
  var DEFAULT_GEMINI_FLASH_MODEL = "gemini-3.5-flash";
  ${responseText}
  ${source}
  ${merge}
  return { HookRegistry, HookPlanner, defaultHookTranslator, createHookOutput, customDeepMerge };`);

const quiet = new Proxy({}, { get: () => () => {} });
const strategy = (keys) =>
  keys.length === 2 && keys[0] === 'hooks' ? 'concat' : keys.join('.') === 'hooksConfig.disabled' ? 'union' : 'replace';
const EVENTS = ['BeforeTool', 'AfterTool', 'BeforeAgent', 'AfterAgent', 'Notification', 'SessionStart', 'SessionEnd',
  'PreCompress', 'BeforeModel', 'AfterModel', 'BeforeToolSelection'];
const defaults = () => ({
  hooksConfig: { enabled: true, disabled: [] },
  hooks: Object.fromEntries(EVENTS.map((event) => [event, []])),
});

async function registry(one) {
  const warnings = [];
  const home = fs.mkdtempSync(path.join(os.tmpdir(), 'hooks-'));
  const upstream = load(require, { emitFeedback: (_, text) => warnings.push(text) }, quiet, { getGlobalGeminiDir: () => home });
  const settings = upstream.customDeepMerge(strategy, defaults(), one.user, one.workspace);
  const config = {
    isTrustedFolder: () => true,
    getHooks: () => settings.hooks || {},
    getProjectHooks: () => one.workspace.hooks || {},
    getProjectRoot: () => one.project,
    getDisabledHooks: () => settings.hooksConfig?.disabled || [],
    getExtensions: () => one.extensions,
  };
  const registry = new upstream.HookRegistry(config);
  await registry.initialize();
  const planner = new upstream.HookPlanner(registry);
  const plans = one.occasions.map(([event, context]) => {
    const kind = event.endsWith('Tool') ? { toolName: context } : { trigger: context };
    const plan = planner.createExecutionPlan(event, context === null ? undefined : kind);
    return plan && { commands: plan.hookConfigs.map((hook) => [hook.name ?? null, hook.command]), sequential: plan.sequential };
  });
  const entries = registry.getAllHooks().map((entry) => ({
    event: entry.eventName, name: entry.config.name ?? null, command: entry.config.command, source: entry.source, enabled: entry.enabled,
  }));
  const seen = path.join(home, 'trusted_hooks.json');
  const trusted = fs.existsSync(seen) ? JSON.parse(fs.readFileSync(seen, 'utf8')) : null;
  fs.rmSync(home, { recursive: true });
  return { warnings, entries, plans, trusted };
}

function translation(one) {
  const { defaultHookTranslator: translator, createHookOutput } = load(require, {}, quiet, {});
  const orNull = (make) => {
    try {
      return make() ?? null;
    } catch {
      return null;
    }
  };
  return {
    request: translator.toHookLLMRequest(one.request),
    applied: orNull(() => translator.fromHookLLMRequest(one.said, one.request)),
    response: translator.toHookLLMResponse(one.response),
    back: orNull(() => translator.fromHookLLMResponse(one.answer)),
    tools: createHookOutput('BeforeToolSelection', one.output).applyToolConfigModifications(one.target),
    context: createHookOutput('BeforeAgent', one.output).getAdditionalContext() ?? null,
    reason: String(createHookOutput('BeforeAgent', one.output).getEffectiveReason()),
  };
}

(async () => {
  const { registries, translations, patterns } = JSON.parse(fs.readFileSync(0, 'utf8'));
  const said = { registries: [], translations: translations.map(translation) };
  for (const one of registries) said.registries.push(await registry(one));
  const planner = new (load(require, {}, quiet, {}).HookPlanner)(null);
  said.patterns = patterns.map(([matcher, toolName]) => planner.matchesContext({ matcher }, { toolName }));
  process.stdout.write(JSON.stringify(said));
})();
