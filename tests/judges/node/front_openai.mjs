// OpenAI's SDK for Node: chat completions and Responses, streamed and whole.
import OpenAI from 'openai';
import { call, functions, loops, results } from './front_loop.mjs';

// The SDK adds up what it knows; of the reasoning, which it does not, it shows the last piece.
async function streamed(client, body) {
  const stream = client.chat.completions.stream({ ...body, stream_options: { include_usage: true } });
  let thought = '';
  stream.on('chunk', ({ choices }) => { thought += choices[0]?.delta.reasoning_content ?? ''; });
  const done = await stream.finalChatCompletion();
  if (thought) done.choices[0].message.reasoning_content = thought;
  return done;
}

async function chat(client, model, question, stream) {
  const messages = [{ role: 'user', content: question }];
  const tools = functions.map((each) => ({ type: 'function', function: each }));
  const turns = [];
  for (const result of [...results, '']) {
    const body = { model, messages, tools };
    const done = stream ? await streamed(client, body) : await client.chat.completions.create(body);
    const { message, finish_reason: reason } = done.choices[0];
    const calls = (message.tool_calls ?? []).map((each) =>
      call(each.id, each.function.name, JSON.parse(each.function.arguments)));
    turns.push({
      message: done,
      text: message.content ?? '',
      reasoning: message.reasoning_content ?? '',
      calls,
      reason,
      usage: [done.usage.prompt_tokens, done.usage.completion_tokens],
    });
    messages.push(message);
    messages.push(...calls.map(({ id }) => ({ role: 'tool', tool_call_id: id, content: result })));
  }
  return turns;
}

async function responses(client, model, question, stream) {
  const input = [{ role: 'user', content: question }];
  const tools = functions.map((each) => ({ type: 'function', strict: false, ...each }));
  const turns = [];
  for (const result of [...results, '']) {
    const body = { model, input, tools };
    const done = stream
      ? await client.responses.stream(body).finalResponse()
      : await client.responses.create(body);
    const calls = done.output.filter(({ type }) => type === 'function_call').map((each) =>
      call(each.call_id, each.name, JSON.parse(each.arguments)));
    const thoughts = done.output.filter(({ type }) => type === 'reasoning').flatMap(({ content }) => content);
    turns.push({
      message: done,
      text: done.output_text,
      reasoning: thoughts.map(({ text }) => text).join(''),
      calls,
      reason: done.status,
      usage: [done.usage.input_tokens, done.usage.output_tokens],
    });
    input.push(...done.output.map(({ parsed_arguments: _, ...item }) => item));
    input.push(...calls.map(({ id }) => ({ type: 'function_call_output', call_id: id, output: result })));
  }
  return turns;
}

const apis = { chat, responses };

await loops(({ url, api, way }, model, question) => {
  const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: 'x', maxRetries: 0 });
  return apis[api](client, model, question, way === 'streamed');
});
