// What a provider's package of the AI SDK makes of histories: roles and kinds of blocks of the body that it would send. The argument is our profile's wire shape.
//   node --input-type=module --eval "$(cat run_ai_packages.mjs)" anthropic < requests.json
import { readFileSync } from 'node:fs';
import { generateText } from 'ai';
import { createAnthropic } from '@ai-sdk/anthropic';
import { createGoogleGenerativeAI } from '@ai-sdk/google';
import { createOpenAI } from '@ai-sdk/openai';

globalThis.AI_SDK_LOG_WARNINGS = false;
console.warn = () => {};

// Nothing leaves the process.
let body;
const options = {
  apiKey: 'none',
  fetch: async (url, { body: text }) => {
    body = JSON.parse(text);
    throw new Error('kept here');
  },
};
const models = {
  anthropic: ['anthropic', () => createAnthropic(options)('claude-sonnet-4-5')],
  'openai-chat': ['openai', () => createOpenAI(options).chat('gpt-4o')],
  'openai-responses': ['openai', () => createOpenAI(options).responses('gpt-4o')],
  gemini: ['google', () => createGoogleGenerativeAI(options)('gemini-2.5-flash')],
};
const wire = process.argv[process.argv.length - 1];
const [name, make] = models[wire];
const { version } = JSON.parse(readFileSync(`node_modules/@ai-sdk/${name}/package.json`, 'utf8'));

const kind = block => block.type ?? Object.keys(block)[0];
function shape(message) {
  const held = message.content ?? message.parts ?? [];
  const blocks = typeof held === 'string' ? ['text'] : held.map(kind);
  return `${message.role ?? message.type}:${[...blocks, ...(message.tool_calls ?? []).map(kind)].join(',')}`;
}

const verdicts = {};
for (const [question, { messages, system }] of Object.entries(JSON.parse(readFileSync(0, 'utf8')))) {
  body = null;
  let error = null;
  try {
    await generateText({ model: make(), messages, maxRetries: 0, ...(system ? { system } : {}) });
  } catch (thrown) {
    error = body ? null : thrown.message;
  }
  verdicts[question] = body ? { sent: (body.messages ?? body.contents ?? body.input).map(shape).join(' ') } : { error };
}
process.stdout.write(JSON.stringify({ version: `@ai-sdk/${name} ${version}`, verdicts }));
