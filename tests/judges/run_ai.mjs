// Which histories generateText takes before it would call a model. Run with the working directory beside node_modules:
//   node --input-type=module --eval "$(cat run_ai.mjs)" < requests.json
import { readFileSync } from 'node:fs';
import { generateText } from 'ai';

const { version } = JSON.parse(readFileSync('node_modules/ai/package.json', 'utf8'));
const major = Number(version.split('.')[0]);
globalThis.AI_SDK_LOG_WARNINGS = false;
console.warn = () => {};

// The verdict is whether this model is reached; nothing is sent or fetched.
let reached;
const model = {
  specificationVersion: major >= 7 ? 'v4' : 'v3',
  provider: 'none',
  modelId: 'none',
  supportedUrls: { '*/*': [/.*/] },
  doGenerate: async () => {
    reached = true;
    throw new Error('reached');
  },
};

const verdicts = {};
for (const [name, { messages, system }] of Object.entries(JSON.parse(readFileSync(0, 'utf8')))) {
  reached = false;
  let error = null;
  try {
    await generateText({ model, messages, maxRetries: 0, ...(system ? { [major >= 7 ? 'instructions' : 'system']: system } : {}) });
  } catch (thrown) {
    error = reached ? null : thrown.message;
  }
  verdicts[name] = { ok: reached, error };
}
process.stdout.write(JSON.stringify({ version: `ai ${version}`, verdicts }));
