// What pi reads of session files: its session manager, its converter, the repair before a request, and whether the conversion for a provider throws.
//   node run_pi.mjs CODING_AGENT AI FILE...    (folders of two packages; of each FILE a copy that pi may write to)
// One line of JSON for each file as soon as it is read, {"stops"} where pi throws: it walks a cycle without end, and then the lines before it are kept.
import { existsSync, readFileSync, writeSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { told } from './telling.mjs';

const [agent, ai, ...files] = process.argv.slice(2);
const load = (...parts) => import(pathToFileURL(join(...parts)).href);
const { SessionManager } = await load(agent, 'dist/core/session-manager.js');
const { convertToLlm } = await load(agent, 'dist/core/messages.js');
const place = ['dist/api/transform-messages.js', 'dist/providers/transform-messages.js'].find((each) => existsSync(join(ai, each)));
const { transformMessages } = await load(ai, place);
// The converters of all APIs throw at the same content; that of 1.5.2 cannot be loaded without what the package needs.
const { convertMessages } = await load(ai, dirname(place), 'openai-completions.js').catch(() => ({}));

const named = (folder) => {
  const { name, version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  return `${name}@${version}`;
};
writeSync(1, `${JSON.stringify({ version: [named(agent), named(ai)].join(' with ') })}\n`);

// The request goes to the model that answered last, as it does when a person types on.
const modelOf = (messages) => {
  const last = messages.filter((each) => each.role === 'assistant').at(-1);
  return { id: last?.model, provider: last?.provider, api: last?.api, reasoning: true, input: ['text', 'image'] };
};

for (const file of files) {
  let at = 'open';
  try {
    const manager = SessionManager.open(file, dirname(file));
    // The context is built from a last line without an id as well; the branch is that of an id.
    const leaf = manager.getLeafId();
    const path = leaf || leaf === null ? manager.getBranch().map((entry) => entry.id).join(' ') : undefined;
    at = 'context';
    const context = convertToLlm(manager.buildSessionContext().messages);
    at = 'send';
    const model = modelOf(context);
    const sent = transformMessages(structuredClone(context), model);
    at = 'request';
    convertMessages?.(model, { messages: structuredClone(context) }, {}, {});
    writeSync(1, `${JSON.stringify({ path, context: told(context), sent: told(sent) })}\n`);
  } catch (error) {
    writeSync(1, `${JSON.stringify({ stops: `${at}: ${error.message}` })}\n`);
  }
}
process.exit(0);
