// Two clients for Node follow a conversation to its end over any number of cuts: `eventsource`, and plain `fetch`.
import { EventSource } from 'eventsource';

const url = process.argv[2];

function source() {
  return new Promise((resolve) => {
    const answer = { data: [], opens: 0 };
    const events = new EventSource(url);
    events.onopen = () => { answer.opens += 1; };
    events.onmessage = (event) => { answer.data.push(event.data); };
    events.onerror = () => { if (events.readyState === 2) resolve(answer); };
  });
}

async function fetched() {
  const answer = { data: [], opens: 0 };
  let id = '';
  for (;;) {
    let rest = '';
    try {
      const headers = { accept: 'application/x-ndjson', ...(id ? { 'last-event-id': id } : {}) };
      const response = await fetch(url, { headers });
      if (response.status === 204) return answer;
      answer.opens += 1;
      const decoder = new TextDecoder();
      for await (const bytes of response.body) {
        const lines = (rest + decoder.decode(bytes, { stream: true })).split('\n');
        rest = lines.pop();
        for (const frame of lines.filter(Boolean).map((line) => JSON.parse(line))) {
          if (frame.id) id = frame.id;
          if (frame.id && 'data' in frame) answer.data.push(typeof frame.data === 'string' ? frame.data : JSON.stringify(frame.data));
        }
      }
    } catch (error) {
      if (!(error instanceof TypeError)) throw error;
      await new Promise((resolve) => { setTimeout(resolve, 50); });
    }
  }
}

console.log(JSON.stringify(await Promise.all([source(), fetched()])));
