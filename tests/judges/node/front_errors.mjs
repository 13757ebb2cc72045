// How clients for Node tell of errors: one question each, and what came of it: the text, or what was thrown.
import Anthropic from '@anthropic-ai/sdk';
import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { ChatOpenAI } from '@langchain/openai';
import { generateText, streamText } from 'ai';
import { readFileSync } from 'node:fs';
import OpenAI from 'openai';

globalThis.AI_SDK_LOG_WARNINGS = false; // they would stand in front of what is printed

const user = (content) => [{ role: 'user', content }];

async function joined(stream, piece) {
  let text = '';
  for await (const each of stream) text += piece(each) ?? '';
  return text;
}

const openai = ({ url, retries }) => new OpenAI({ baseURL: `${url}/v1`, apiKey: 'x', maxRetries: retries });

const clients = {
  async 'openai, chat'({ model, words, stream, fields, ...where }) {
    const done = await openai(where).chat.completions.create({ model, messages: user(words), stream, ...fields });
    return stream ? joined(done, ({ choices }) => choices[0]?.delta.content) : done.choices[0].message.content;
  },
  async 'openai, responses'({ model, words, stream, fields, ...where }) {
    const done = await openai(where).responses.create({ model, input: words, stream, ...fields });
    if (!stream) return done.output_text;
    return joined(done, (event) => {
      if (event.type === 'response.failed') throw new Error(`response.failed: ${event.response.error.message}`);
      return event.type === 'response.output_text.delta' ? event.delta : '';
    });
  },
  async 'anthropic, messages'({ url, model, words, stream, fields, retries }) {
    const client = new Anthropic({ baseURL: url, apiKey: 'x', maxRetries: retries });
    const done = await client.messages.create({ model, max_tokens: 99, messages: user(words), stream, ...fields });
    return stream ? joined(done, ({ delta }) => delta?.text) : done.content[0].text;
  },
  'ai_sdk, chat': ({ url, ...asked }) =>
    generated(createOpenAICompatible({ name: 'front', baseURL: `${url}/v1`, apiKey: 'x' }), asked),
  'ai_sdk, responses': ({ url, ...asked }) =>
    generated(createOpenAI({ baseURL: `${url}/v1`, apiKey: 'x' }).responses, asked),
  async 'langchain, chat'({ url, model, words, stream, fields, retries }) {
    const configuration = { baseURL: `${url}/v1` };
    const client = new ChatOpenAI({ model, apiKey: 'x', maxRetries: retries, configuration, modelKwargs: fields });
    return stream ? joined(await client.stream(words), ({ text }) => text) : (await client.invoke(words)).text;
  },
};

async function generated(provider, { model, words, stream, retries }) {
  const asked = { model: provider(model), prompt: words, maxRetries: retries };
  if (!stream) return (await generateText(asked)).text;
  let failure = null;
  const { textStream } = streamText({ ...asked, onError: ({ error }) => { failure = error; } });
  const text = await joined(textStream, (each) => each);
  if (failure !== null) throw failure;
  return text;
}

async function told({ client, ...asked }) {
  try {
    return { text: await clients[client](asked) };
  } catch (error) {
    const status = error.status ?? error.statusCode ?? null;
    return { name: error.constructor.name, status, message: error.message };
  }
}

const answers = [];
for (const asked of JSON.parse(readFileSync(0, 'utf8'))) answers.push(await told(asked));
console.log(JSON.stringify(answers));
