// What AsyncAPI's own parser has to say about a document: nothing, if it is one.
import { readFileSync } from 'node:fs';
import { Parser } from '@asyncapi/parser';

const { document, diagnostics } = await new Parser().parse(readFileSync(process.argv[2], 'utf8'));
const channels = (document?.channels().all() ?? []).map((channel) => channel.address());
console.log(JSON.stringify({ channels, problems: diagnostics.map(({ code, message }) => `${code}: ${message}`) }));
