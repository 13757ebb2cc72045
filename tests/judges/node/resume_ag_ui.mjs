// The AG-UI client runs an agent until its run is finished: the events and messages of each try.
import { HttpAgent } from '@ag-ui/client';

// Where a connection is reset, the client's reader fails once more where nobody can catch it.
process.on('unhandledRejection', () => {});
process.on('uncaughtException', (error) => { if (error.message !== 'terminated') throw error; });
console.warn = () => {};
console.error = () => {};
const tries = [];
for (;;) {
  const agent = new HttpAgent({ url: `${process.argv[2]}/ag-ui`, threadId: 'c' });
  const one = { events: [], messages: [], error: null };
  tries.push(one);
  const subscriber = {
    onEvent: ({ event }) => { one.events.push(event.type); },
    onRunFailed: ({ error }) => { one.error = `${error.name}: ${error.message}`; },
  };
  try {
    one.messages = (await agent.runAgent({ runId: process.argv[3] }, subscriber)).newMessages;
  } catch (error) {
    one.error = `${error.name}: ${error.message}`;
  }
  if (one.events.at(-1) === 'RUN_FINISHED' || tries.length > 9) break;
}
console.log(JSON.stringify(tries));
