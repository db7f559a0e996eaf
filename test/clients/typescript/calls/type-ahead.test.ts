import { setTimeout as sleep } from 'node:timers/promises';
import type { handleBidiStreamingCall } from '@grpc/grpc-js';
import { ClosedError, UnavailableError } from '../../../../clients/typescript';
import { DictionaryClient } from '../../../../clients/typescript/autocomplete/dictionary';
import { CallChannel } from '../../../../clients/typescript/calls/call-channel';
import { Servers } from '../../../../clients/typescript/connection/servers';
import type { TokenSource } from '../../../../clients/typescript/connection/token';
import type {
  SuggestStreamRequest,
  SuggestStreamResponse,
} from '../../../../generated/typescript/holdfast/v1/autocomplete_service';
import { eventually } from '../../../support/eventually';
import { StubServer } from './stub-server';

type Handler = handleBidiStreamingCall<SuggestStreamRequest, SuggestStreamResponse>;

/** The streams that a server has had. */
interface Seen {
  opened: number;
  open: number;
  queries: string[];
}

let seen: Seen;
let isSilent = false;
let server: StubServer;
let channel: CallChannel;

const suggestStream: Handler = (call) => {
  const ofTest = seen;
  seen.opened += 1;
  seen.open += 1;
  call.on('close', () => (ofTest.open -= 1));
  call.on('cancelled', () => call.destroy());
  call.on('error', () => undefined);
  call.on('end', () => call.end());
  call.on('data', ({ queryId, suggest }: SuggestStreamRequest) => {
    seen.queries.push(suggest?.query ?? '');
    const value = { suggestions: [], nextPageToken: '', partial: false };
    if (!isSilent) call.write({ queryId, result: { $case: 'suggestions', value } });
  });
};

beforeEach(async () => {
  seen = { opened: 0, open: 0, queries: [] };
  isSilent = false;
  server = await StubServer.start({ suggestStream });
});
afterEach(() => {
  channel.close();
  server.close();
});

function towns(token?: TokenSource): DictionaryClient {
  channel = new CallChannel({ servers: new Servers([server.address]), token });
  return new DictionaryClient(channel, 'towns');
}

/** A token that comes when the test says so. */
function lateToken() {
  let give!: () => void;
  let isWanted = false;
  const given = new Promise<void>((resolve) => (give = resolve));
  const source = async () => {
    isWanted = true;
    await given;
    return { token: 'late' };
  };
  return { source, give, wanted: () => isWanted };
}

test('two keystrokes during the fetch of the token open one stream, which gets the latest query', async () => {
  const token = lateToken();
  const input = towns(token.source).typeAhead({ debounce: 0 });
  const first = input.type('b');
  await eventually('the fetch', token.wanted);
  const second = input.type('be');
  token.give();
  expect(await Promise.all([first, second])).toEqual([undefined, []]);
  expect(await input.type('ber')).toEqual([]);
  expect(seen).toEqual({ opened: 1, open: 1, queries: ['be', 'ber'] });
});

test('a close during the fetch of the token leaves no stream open', async () => {
  const token = lateToken();
  const input = towns(token.source).typeAhead({ debounce: 0 });
  const typed = input.type('b');
  await eventually('the fetch', token.wanted);
  input.close();
  await expect(typed).rejects.toThrow(ClosedError);
  token.give();
  // The other type-ahead needs the same token, so the first one has had its turn.
  const other = new DictionaryClient(channel, 'towns').typeAhead({ debounce: 0 });
  expect(await other.type('x')).toEqual([]);
  expect(seen).toEqual({ opened: 1, open: 1, queries: ['x'] });
});

test('an aborted signal closes the type-ahead with the reason of the caller', async () => {
  isSilent = true;
  const abort = new AbortController();
  const input = towns().typeAhead({ debounce: 0, signal: abort.signal });
  const typed = input.type('b');
  await eventually('the query', () => seen.queries.length === 1);
  abort.abort(new Error('the field is gone'));
  await expect(typed).rejects.toThrow('the field is gone');
  await expect(input.type('be')).rejects.toThrow('the field is gone');
  await eventually('the end of the stream', () => seen.open === 0);
});

test('a query without an answer rejects after `timeout`, and the next query has an answer', async () => {
  isSilent = true;
  const input = towns().typeAhead({ debounce: 0, timeout: '1.2s' });
  await expect(input.type('b')).rejects.toThrow(UnavailableError);
  isSilent = false;
  expect(await input.type('be')).toEqual([]);
});

test('a `timeout` that is longer than any timer sends a query once', async () => {
  const input = towns().typeAhead({ debounce: 0, timeout: '1000h' });
  expect(await input.type('b')).toEqual([]);
  expect(seen).toEqual({ opened: 1, open: 1, queries: ['b'] });
  isSilent = true;
  const typed = expect(input.type('be')).rejects.toThrow(ClosedError);
  await eventually('the query', () => seen.queries.length > 1);
  // A timer of 1 ms would send the query again and again.
  await sleep(300);
  input.close();
  await typed;
  expect(seen.queries).toEqual(['b', 'be']);
});

test('a closed type-ahead, and a type-ahead of a closed client, reject with a ClosedError', async () => {
  const input = towns().typeAhead();
  channel.close();
  await expect(input.type('b')).rejects.toThrow(ClosedError);
  await expect(
    towns()
      .typeAhead({ signal: AbortSignal.abort(new Error('gone')) })
      .type('b'),
  ).rejects.toThrow('gone');
});
