// What the scripts of tool loops share: one run after the other, its models side by side; what they print is JSON.
import { readFileSync } from 'node:fs';

const { runs, functions, results } = JSON.parse(readFileSync(0, 'utf8'));

export { functions, results };

export const call = (id, name, input) => ({ id, name, arguments: input });

async function told(turns) {
  try {
    return await turns;
  } catch (error) {
    return { error: `${error.name}: ${error.message}` };
  }
}

// Every run has a server's address, an API, a way to ask, and a question for each model; `play` answers the turns.
export async function loops(play) {
  const played = [];
  for (const run of runs) {
    const entries = Object.entries(run.questions).map(async ([model, question]) =>
      [model, await told(play(run, model, question))]);
    played.push(Object.fromEntries(await Promise.all(entries)));
  }
  console.log(JSON.stringify(played));
}
