// The AI SDK reads UI message streams: for each URL the message that a page would show, or why it could not be read.
import { DefaultChatTransport, readUIMessageStream } from 'ai';

async function read(api) {
  const transport = new DefaultChatTransport({ api });
  const answer = { message: null, error: null };
  try {
    const stream = await transport.sendMessages({ chatId: 'c', messages: [], trigger: 'submit-message' });
    const onError = (error) => { answer.error = `${error.name}: ${error.message}`; };
    for await (const message of readUIMessageStream({ stream, terminateOnError: true, onError })) {
      answer.message = message;
    }
  } catch (error) {
    answer.error = `${error.name}: ${error.message}`;
  }
  return answer;
}

console.log(JSON.stringify(await Promise.all(process.argv.slice(2).map(read))));
