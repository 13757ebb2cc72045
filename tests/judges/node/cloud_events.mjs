// Kafka records as the SDK of CloudEvents reads them: JSON lines with headers, key and value in, attributes and data out.
import { readFileSync } from 'node:fs';
import { Kafka } from 'cloudevents';

const records = readFileSync(0, 'utf8').trim().split('\n').map((line) => JSON.parse(line));
const read = records.map(({ headers, key, value }) => Kafka.toEvent({ headers, key, value, body: value }).toJSON());
console.log(JSON.stringify(read));
