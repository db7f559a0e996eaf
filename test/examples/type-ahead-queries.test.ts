import { setTimeout as sleep } from 'node:timers/promises';
import { Server, ServerCredentials, status, type ServerDuplexStream } from '@grpc/grpc-js';
import { autocompleteServers, type AutocompleteServers } from '../../examples/type-ahead/calls';
import { Queries, type Answer } from '../../examples/type-ahead/queries';
import { troubleText } from '../../examples/type-ahead/trouble';
import {
  AutocompleteServiceService,
  SuggestResponse,
  type SuggestStreamRequest,
  type SuggestStreamResponse,
} from '../../generated/typescript/holdfast/v1/autocomplete_service';
import { eventually } from '../support/eventually';

type Call = ServerDuplexStream<SuggestStreamRequest, SuggestStreamResponse>;

/** A server that answers when the test says so, in whatever order. */
let server: Server;
let servers: AutocompleteServers;
let address: string;
let queries: Queries | undefined;
let calls: Call[];
let asked: SuggestStreamRequest[];
let answers: Answer[];
let broken: string[];
let failures: unknown[];

beforeEach(async () => {
  [calls, asked, answers, broken, failures] = [[], [], [], [], []];
  server = new Server();
  const suggestStream = (call: Call): void => {
    calls.push(call);
    call.on('data', (request: SuggestStreamRequest) => asked.push(request));
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
      onBroken: (why) => broken.push(why),
      onFailed: (error) => failures.push(error),
    },
  );
});
afterEach(() => {
  queries?.close();
  servers.close();
  server.forceShutdown();
});

const came = (count: number) => eventually(`${count} queries to come`, () => asked.length >= count);
const suggestions = { $case: 'suggestions', value: SuggestResponse.create() } as const;
const answer = (index: number, call = calls.at(-1)) =>
  call?.write({ queryId: asked[index]?.queryId ?? 0n, result: suggestions });

test('an answer to a query that was superseded is never shown', async () => {
  queries?.ask('a');
  queries?.ask('ab');
  await came(2);
  expect(asked[1]!.queryId).toBeGreaterThan(asked[0]!.queryId);
  answer(0);
  answer(1);
  answer(0);
  answer(1);
  queries?.ask('abc');
  await came(3);
  answer(2);
  await eventually('the last answer', () => answers.some(({ query }) => query === 'abc'));
  // The one to "ab" may have come before the last query or after; never twice, and never the one to "a".
  expect(
    answers
      .map(({ query }) => query)
      .filter((query) => query !== 'abc')
      .join(),
  ).toMatch(/^(ab)?$/);
});

test('a broken stream is opened again, and the present query sent, under a new id, with its time going on', async () => {
  queries?.ask('a');
  await came(1);
  // What the person waited before the break counts too.
  await sleep(300);
  calls[0]?.emit('error', { code: status.UNAVAILABLE, details: 'going away' });
  await came(2);
  expect(asked[1]?.suggest).toEqual(asked[0]?.suggest);
  expect(asked[1]!.queryId).toBeGreaterThan(asked[0]!.queryId);
  expect(broken).toEqual(['going away']);
  answer(1);
  await eventually('its answer', () => answers.length > 0);
  expect(answers[0]!.latencyMs).toBeGreaterThanOrEqual(300);
});

test('the stream is not opened again where that is no use, and the person hears why', async () => {
  await eventually('the stream to be open', () => calls.length > 0);
  calls[0]?.emit('error', { code: status.UNIMPLEMENTED, details: 'no such method' });
  await eventually('the failure', () => failures.length > 0);
  const options = { servers: [address], dictionary: 'words', recents: 'alice', load: undefined };
  expect(troubleText(failures[0], options)).toBe(
    `the server at ${address} has no AutocompleteService: a newer Holdfast is wanted`,
  );
  expect(calls).toHaveLength(1);
  expect(broken).toEqual([]);
});

test('while the server does not read, only the newest query is kept for it', async () => {
  await eventually('the stream to be open', () => calls.length > 0);
  calls[0]?.pause();
  const long = 'x'.repeat(500);
  for (let index = 0; index < 20_000; index++) queries?.ask(`${long}${index}`);
  calls[0]?.resume();
  await eventually('the newest one', () => asked.at(-1)?.suggest?.query === `${long}19999`);
  expect(asked.length).toBeLessThan(10_000);
});
