// The conformance suite of Durable Streams, against the server that the environment names.
import { runConformanceTests } from '@durable-streams/server-conformance-tests';

runConformanceTests({ baseUrl: process.env.CONFORMANCE_TEST_URL });
