// Which histories generateText takes before it would call a model. Run with the working directory beside node_modules:
//   node --input-type=module --eval "$(cat run_ai.mjs)" < requests.json
import { readFileSync } from 'node:fs';
import { generateText, jsonSchema } from 'ai';
import * as mocks from 'ai/test';

const { version } = JSON.parse(readFileSync('node_modules/ai/package.json', 'utf8'));
const major = Number(version.split('.')[0]);
globalThis.AI_SDK_LOG_WARNINGS = false;
console.warn = () => {};

// The verdict is whether this model is reached; nothing is sent or fetched.
let reached;
const Model = major >= 7 ? mocks.MockLanguageModelV4 : mocks.MockLanguageModelV3;
const model = new Model({
  supportedUrls: { '*/*': [/.*/] },
  doGenerate: async () => {
    reached = true;
    throw new Error('reached');
  },
});

// Rows of gbrain's table of messages, one for one: blocks of both of its paths, and nothing looked up beside them.
const KINDS = { tool_use: 'tool-call', tool_result: 'tool-result' };
const parts = {
  text: ({ text }) => ({ type: 'text', text }),
  'tool-call': block => ({
    type: 'tool-call',
    toolCallId: block.toolCallId ?? block.id,
    toolName: block.toolName ?? block.name,
    input: block.input ?? {},
  }),
  'tool-result': block => {
    const value = 'output' in block ? block.output : block.content;
    const said = typeof value === 'string' ? 'text' : 'json';
    return {
      type: 'tool-result',
      toolCallId: block.toolCallId ?? block.tool_use_id,
      toolName: block.toolName ?? '__legacy__',
      output: { type: block.isError || block.is_error ? `error-${said}` : said, value },
    };
  },
};
function mapped({ role, content_blocks: blocks }) {
  const content = blocks.map(block => parts[KINDS[block.type] ?? block.type]?.(block)).filter(Boolean);
  const results = content.filter(part => part.type === 'tool-result');
  return role === 'user' && results.length ? { role: 'tool', content: results } : { role, content };
}

// Every tool that is called is there, as it is in a client that goes on: a call that was approved is run by the SDK itself.
const tool = { inputSchema: jsonSchema({}), execute: async () => 'done' };
const called = messages =>
  Object.fromEntries(
    (Array.isArray(messages) ? messages : [])
      .flatMap(message => (Array.isArray(message?.content) ? message.content : []))
      .filter(part => part?.type === 'tool-call' && part.toolName)
      .map(part => [part.toolName, tool]),
  );

const verdicts = {};
for (const [name, { messages, system, rows, dates }] of Object.entries(JSON.parse(readFileSync(0, 'utf8')))) {
  // JSON knows no dates: a member that `dates` names is made one.
  const kept = rows && JSON.parse(JSON.stringify(rows), (key, value) => (dates?.includes(key) ? new Date(value) : value));
  const given = kept ? kept.map(mapped) : messages;
  reached = false;
  let error = null;
  try {
    await generateText({
      model,
      messages: given,
      tools: called(given),
      maxRetries: 0,
      ...(system ? { [major >= 7 ? 'instructions' : 'system']: system } : {}),
    });
  } catch (thrown) {
    error = reached ? null : thrown.message;
  }
  verdicts[name] = { ok: reached, error };
}
process.stdout.write(JSON.stringify({ version: `ai ${version}`, verdicts }));
