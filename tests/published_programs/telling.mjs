// A message in one line of words: who, what, which call, which result. tests/published_programs/telling.py says it of ours in the same words.
const blocks = (content) => (typeof content === 'string' ? [{ type: 'text', text: content }] : content ?? []);

const wordsOf = (block) =>
  ({
    text: () => block.text,
    thinking: () => `(thinks) ${block.thinking}`,
    toolCall: () => `${block.name}[${block.id}] ${JSON.stringify(block.arguments)}`,
  })[block.type]?.() ?? `(${block.type})`;

const whose = (message) => (message.role === 'toolResult' ? `[${message.toolCallId}]${message.isError ? ' failed' : ''}` : '');

export const told = (messages) =>
  messages.map((message) => `${message.role}${whose(message)}: ${blocks(message.content).map(wordsOf).join(' | ')}`);
