// LangChain's client runs a loop over tools, by chat completions and by Responses.
import { HumanMessage, ToolMessage } from '@langchain/core/messages';
import { ChatOpenAI } from '@langchain/openai';
import { call, functions, loops, results } from './front_loop.mjs';

async function answered(client, messages, way) {
  if (way !== 'streamed') return client.invoke(messages);
  let whole;
  for await (const chunk of await client.stream(messages)) whole = whole === undefined ? chunk : whole.concat(chunk);
  return whole;
}

async function play({ url, api, way }, model, question) {
  const tools = functions.map((each) => ({ type: 'function', function: each }));
  const useResponsesApi = api === 'responses';
  const settings = { model, apiKey: 'x', maxRetries: 0, useResponsesApi, configuration: { baseURL: `${url}/v1` } };
  const client = new ChatOpenAI(settings).bindTools(tools);
  const messages = [new HumanMessage(question)];
  const turns = [];
  for (const result of [...results, '']) {
    const done = await answered(client, messages, way);
    turns.push({
      message: { content: done.content, tool_calls: done.tool_calls, type: done.getType() },
      text: done.text,
      reasoning: null, // of chat completions it shows none
      calls: done.tool_calls.map(({ id, name, args }) => call(id, name, args)),
      reason: done.response_metadata.finish_reason ?? done.response_metadata.status,
      usage: [done.usage_metadata.input_tokens, done.usage_metadata.output_tokens],
    });
    messages.push(done);
    messages.push(...done.tool_calls.map(({ id }) => new ToolMessage({ content: result, tool_call_id: id })));
  }
  return turns;
}

await loops(play);
