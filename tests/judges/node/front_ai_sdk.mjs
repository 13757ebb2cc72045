// The AI SDK runs its own loop over tools, by chat completions, Responses, and as a client of Open Responses.
import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { createOpenResponses } from '@ai-sdk/open-responses';
import { generateText, jsonSchema, stepCountIs, streamText, tool } from 'ai';
import { call, functions, loops, results } from './front_loop.mjs';

globalThis.AI_SDK_LOG_WARNINGS = false; // they would stand in front of what is printed

const providers = {
  chat: (url) => createOpenAICompatible({ name: 'front', baseURL: `${url}/v1`, apiKey: 'x', includeUsage: true }),
  responses: (url) => createOpenAI({ baseURL: `${url}/v1`, apiKey: 'x' }).responses,
  'open-responses': (url) => createOpenResponses({ name: 'front', url: `${url}/v1/responses`, apiKey: 'x' }),
};

async function play({ url, api, way }, model, prompt) {
  const tools = Object.fromEntries(functions.map(({ name, description, parameters }, number) => [
    name, tool({ description, inputSchema: jsonSchema(parameters), execute: async () => results[number] }),
  ]));
  const providerOptions = { openai: { store: false } }; // or it refers to items that it takes to be kept
  const further = { tools, stopWhen: stepCountIs(5), maxRetries: 0, providerOptions };
  const asked = { model: providers[api](url)(model), prompt, ...further };
  let failure = null;
  const done = way === 'streamed'
    ? streamText({ ...asked, onError: ({ error }) => { failure = error; } })
    : await generateText(asked);
  const steps = await done.steps;
  if (failure !== null) throw failure;
  return steps.map((step) => ({
    message: step.content.map(({ providerMetadata: _, ...part }) => part),
    text: step.text,
    reasoning: api === 'responses' ? null : step.reasoningText ?? '', // of OpenAI it reads summaries alone
    calls: step.toolCalls.map((each) => call(each.toolCallId, each.toolName, each.input)),
    reason: step.finishReason,
    usage: [step.usage.inputTokens, step.usage.outputTokens],
  }));
}

await loops(play);
