// The AI SDK sends a message to a site, then comes back to its chat at a gateway until there is nothing more: what each
// visit showed, and the message at the end. The transport is that of the page on standard input.
import { readFileSync } from 'node:fs';
import { DefaultChatTransport, readUIMessageStream } from 'ai';

const [gateway, site, ticket] = process.argv.slice(2);
// Node has no page that addresses could be relative to.
function Transport(options) {
  return new DefaultChatTransport({ ...options, fetch: (url, request) => fetch(new URL(url, site), request) });
}
const page = new Function('DefaultChatTransport', 'gateway', 'ticket', `${readFileSync(0, 'utf8')}; return transport;`);
const transport = page(Transport, gateway, async () => ticket);

async function visited(stream) {
  const visit = { message: null, error: null };
  try {
    const onError = (error) => { visit.error = `${error.name}: ${error.message}`; };
    for await (const message of readUIMessageStream({ stream, terminateOnError: true, onError })) {
      visit.message = message;
    }
  } catch (error) {
    visit.error = `${error.name}: ${error.message}`;
  }
  return visit;
}

const messages = [{ id: 'u', role: 'user', parts: [{ type: 'text', text: 'Hi' }] }];
const sent = await visited(await transport.sendMessages({ chatId: 'c', messages, trigger: 'submit-message' }));
const visits = [];
for (let stream; (stream = await transport.reconnectToStream({ chatId: 'c' })) !== null;) visits.push(await visited(stream));
console.log(JSON.stringify({ sent, visits }));
