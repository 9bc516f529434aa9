// What OpenClaw reads of session rows: the active path of its tree scan, the context of that path, and the pairing before a request.
//   node run_openclaw.mjs PACKAGE FILE...    (the folder of the package)
// One line of JSON for each file; `builder` in it is the context by the other reader of the same release, where that is another one.
import { readFileSync, readdirSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { told } from './telling.mjs';

const [folder, ...files] = process.argv.slice(2);
const { name, version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));

// The bundle's files and exports get new names in every release; functions keep their names.
async function functionOf(bundle, wanted) {
  for (const file of readdirSync(join(folder, 'dist')).filter((each) => bundle.test(each)).sort()) {
    if (!readFileSync(join(folder, 'dist', file), 'utf8').includes(`function ${wanted}(`)) continue;
    const found = Object.values(await import(pathToFileURL(join(folder, 'dist', file)).href)).find((each) => each?.name === wanted);
    if (found) return found;
  }
  throw new Error(`${name}@${version} exports no ${wanted} in ${bundle}`);
}
const selectActive = await functionOf(/^transcript-tree-/, 'selectSessionTranscriptActiveEntries');
const contextOfPath = await functionOf(/^session-[A-Za-z0-9_-]{8}\.m?js$/, 'buildSessionContext');
const convertToLlm = await functionOf(/^session-[A-Za-z0-9_-]{8}\.m?js$/, 'convertToLlm');
const contextOfEntries = await functionOf(/^session-manager-codec-/, 'buildSessionContext');
const paired = await functionOf(/^session-transcript-repair-/, 'repairToolUseResultPairing');
writeSync(1, `${JSON.stringify({ version: `${name}@${version}` })}\n`);

function parsed(line) {
  try {
    const value = JSON.parse(line);
    return value?.type && value.type !== 'session' ? [value] : [];
  } catch {
    return [];
  }
}

for (const file of files) {
  const entries = readFileSync(file, 'utf8').split('\n').flatMap(parsed);
  const active = selectActive({ entries, recordOf: (entry) => entry });
  const context = convertToLlm(contextOfPath(active).messages);
  const { messages } = paired(structuredClone(context), { erroredAssistantResultPolicy: 'drop' });
  const builder = told(convertToLlm(contextOfEntries(entries).messages));
  const answer = { path: active.map((entry) => entry.id).join(' '), context: told(context), sent: told(messages) };
  if (JSON.stringify(builder) !== JSON.stringify(answer.context)) answer.builder = builder;
  writeSync(1, `${JSON.stringify(answer)}\n`);
}
process.exit(0);
