// The AG-UI client runs agents: for each URL its events and new messages, or why the run failed.
import { HttpAgent } from '@ag-ui/client';

async function read(url) {
  const agent = new HttpAgent({ url, threadId: 'conversation' });
  const answer = { events: [], messages: [], error: null };
  const subscriber = {
    onEvent: ({ event }) => { answer.events.push(event); },
    onRunFailed: ({ error }) => { answer.error = `${error.name}: ${error.message}`; },
  };
  try {
    const result = await agent.runAgent({ runId: 'run' }, subscriber);
    answer.messages = result.newMessages;
  } catch (error) {
    answer.error = `${error.name}: ${error.message}`;
  }
  return answer;
}

const quiet = () => {};
console.warn = quiet;
console.error = quiet;
console.log(JSON.stringify(await Promise.all(process.argv.slice(2).map(read))));
