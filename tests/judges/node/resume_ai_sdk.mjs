// The AI SDK comes back to a chat until there is nothing more: what each visit showed, and the message at the end.
import { DefaultChatTransport, readUIMessageStream } from 'ai';

const transport = new DefaultChatTransport({ api: `${process.argv[2]}/api/chat` });
const visits = [];
for (;;) {
  const stream = await transport.reconnectToStream({ chatId: 'c' });
  if (stream === null) break;
  const visit = { message: null, error: null };
  visits.push(visit);
  try {
    const onError = (error) => { visit.error = `${error.name}: ${error.message}`; };
    for await (const message of readUIMessageStream({ stream, terminateOnError: true, onError })) {
      visit.message = message;
    }
  } catch (error) {
    visit.error = `${error.name}: ${error.message}`;
  }
}
console.log(JSON.stringify(visits));
