// The client of Durable Streams reads a stream to its close, live in each of its modes, and in two goes without.
import { stream } from '@durable-streams/client';

const url = process.argv[2];
const answer = {};
for (const live of ['sse', 'long-poll']) {
  const response = await stream({ url: `${url}?until=finish`, offset: '-1', live });
  const items = [];
  for await (const item of response.jsonStream()) items.push(item);
  answer[live] = { items, offset: response.offset, closed: response.streamClosed };
}
const first = await stream({ url, offset: '-1', live: false });
answer.first = await first.json();
const rest = await stream({ url, offset: first.offset, live: false });
answer.rest = await rest.json();
console.log(JSON.stringify(answer));
