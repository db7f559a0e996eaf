import { setTimeout as sleep } from 'node:timers/promises';
import { Server, ServerCredentials, status, type ServerDuplexStream } from '@grpc/grpc-js';
import { autocompleteServers, type AutocompleteServers } from '../../examples/type-ahead/calls';
import { Queries, type Answer } from '../../examples/type-ahead/queries';
import { errorText } from '../../examples/type-ahead/error-text';
import {
  AutocompleteServiceService,
  SuggestResponse,
  type SuggestStreamRequest,
  type SuggestStreamResponse,
} from '../../generated/typescript/holdfast/v1/autocomplete_service';
import { eventually } from '../support/eventually';

type Call = ServerDuplexStream<SuggestStreamRequest, SuggestStreamResponse>;

/** This server sends an answer only when a test calls `answer`. */
let server: Server;
let servers: AutocompleteServers;
let address: string;
let queries: Queries | undefined;
let calls: Call[];
let received: SuggestStreamRequest[];
let answers: Answer[];
let breaks: string[];
let failures: unknown[];

beforeEach(async () => {
  [calls, received, answers, breaks, failures] = [[], [], [], [], []];
  server = new Server();
  const suggestStream = (call: Call): void => {
    calls.push(call);
    call.on('data', (request: SuggestStreamRequest) => received.push(request));
  };
  server.addService({ suggestStream: AutocompleteServiceService.suggestStream }, { suggestStream });
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
      error ? reject(error) : resolve(bound),
    );
  });
  address = `127.0.0.1:${port}`;
  servers = autocompleteServers([address]);
  queries = new Queries(
    servers,
    { dictionary: 'words', recents: 'alice' },
    {
      onAnswer: (answer) => answers.push(answer),
      onBroken: (why) => breaks.push(why),
      onFailed: (error) => failures.push(error),
    },
  );
});
afterEach(() => {
  queries?.close();
  servers.close();
  server.forceShutdown();
});

const receives = (count: number) =>
  eventually(`${count} queries at the server`, () => received.length >= count);
const suggestions = { $case: 'suggestions', value: SuggestResponse.create() } as const;
const answer = (index: number, call = calls.at(-1)) =>
  call?.write({ queryId: received[index]?.queryId ?? 0n, result: suggestions });

test('Queries of type-ahead drops the answer to a superseded query', async () => {
  queries?.ask('a');
  queries?.ask('ab');
  await receives(2);
  expect(received[1]!.queryId).toBeGreaterThan(received[0]!.queryId);
  answer(0);
  answer(1);
  answer(0);
  answer(1);
  queries?.ask('abc');
  await receives(3);
  answer(2);
  await eventually('the last answer', () => answers.some(({ query }) => query === 'abc'));
  // The answer to "ab" may come before or after the last query, but is never reported twice.
  expect(
    answers
      .map(({ query }) => query)
      .filter((query) => query !== 'abc')
      .join(),
  ).toMatch(/^(ab)?$/);
});

test('Queries of type-ahead accepts entries that are 1 s old, with every query', async () => {
  queries?.ask('a');
  queries?.ask('ab');
  await receives(2);
  for (const { suggest } of received) expect(suggest?.maxStaleness).toEqual({ seconds: 1n, nanos: 0 });
});

test('Queries of type-ahead opens a broken stream again, and sends the current query under a new id', async () => {
  queries?.ask('a');
  await receives(1);
  // The latency of the answer includes the time before the stream broke.
  await sleep(300);
  calls[0]?.emit('error', { code: status.UNAVAILABLE, details: 'going away' });
  await receives(2);
  expect(received[1]?.suggest).toEqual(received[0]?.suggest);
  expect(received[1]!.queryId).toBeGreaterThan(received[0]!.queryId);
  expect(breaks).toEqual(['going away']);
  answer(1);
  await eventually('the answer after the break', () => answers.length > 0);
  expect(answers[0]!.latencyMs).toBeGreaterThanOrEqual(300);
});

test('Queries of type-ahead does not open the stream again if a retry cannot help, and reports the reason', async () => {
  await eventually('the stream to be open', () => calls.length > 0);
  calls[0]?.emit('error', { code: status.UNIMPLEMENTED, details: 'no such method' });
  await eventually('the failure', () => failures.length > 0);
  const options = { servers: [address], dictionary: 'words', recents: 'alice', load: undefined };
  expect(errorText(failures[0], options)).toBe(
    `the server at ${address} has no AutocompleteService: use a newer Holdfast`,
  );
  expect(calls).toHaveLength(1);
  expect(breaks).toEqual([]);
});

test('Queries of type-ahead keeps only the newest query while the server does not read', async () => {
  await eventually('the stream to be open', () => calls.length > 0);
  calls[0]?.pause();
  const long = 'x'.repeat(500);
  for (let index = 0; index < 20_000; index++) queries?.ask(`${long}${index}`);
  calls[0]?.resume();
  await eventually(
    'the newest query at the server',
    () => received.at(-1)?.suggest?.query === `${long}19999`,
  );
  expect(received.length).toBeLessThan(10_000);
});
