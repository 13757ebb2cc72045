// Anthropic's SDK for Node, streamed and whole.
import Anthropic from '@anthropic-ai/sdk';
import { call, functions, loops, results } from './front_loop.mjs';

const tools = functions.map(({ name, description, parameters }) => ({ name, description, input_schema: parameters }));

async function play({ url, way }, model, question) {
  const client = new Anthropic({ baseURL: url, apiKey: 'x', maxRetries: 0 });
  const stream = way === 'streamed';
  const messages = [{ role: 'user', content: question }];
  const turns = [];
  for (const result of [...results, '']) {
    const body = { model, max_tokens: 1000, messages, tools };
    const done = stream ? await client.messages.stream(body).finalMessage() : await client.messages.create(body);
    const blocks = (kind) => done.content.filter(({ type }) => type === kind);
    const calls = blocks('tool_use').map(({ id, name, input }) => call(id, name, input));
    turns.push({
      message: done,
      text: blocks('text').map(({ text }) => text).join(''),
      reasoning: blocks('thinking').map(({ thinking }) => thinking).join(''),
      calls,
      reason: done.stop_reason,
      usage: [done.usage.input_tokens, done.usage.output_tokens],
    });
    messages.push({ role: 'assistant', content: done.content });
    const answers = calls.map(({ id }) => ({ type: 'tool_result', tool_use_id: id, content: result }));
    messages.push({ role: 'user', content: answers });
  }
  return turns;
}

await loops(play);
