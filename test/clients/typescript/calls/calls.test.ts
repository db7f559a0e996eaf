import { setTimeout as sleep } from 'node:timers/promises';
import {
  type handleBidiStreamingCall,
  type handleClientStreamingCall,
  Metadata,
  type ServerReadableStream,
  status,
} from '@grpc/grpc-js';
import {
  ClosedError,
  type Entry,
  InvalidRequestError,
  type MatchKind,
  UnavailableError,
} from '../../../../clients/typescript';
import { DictionaryClient } from '../../../../clients/typescript/autocomplete/dictionary';
import { RecentsClient } from '../../../../clients/typescript/autocomplete/recents';
import { CallChannel } from '../../../../clients/typescript/calls/call-channel';
import { Servers } from '../../../../clients/typescript/connection/servers';
import type { TokenSource } from '../../../../clients/typescript/connection/token';
import { ElectionClient } from '../../../../clients/typescript/election';
import {
  Dictionary,
  type ImportDictionaryRequest,
  type ImportDictionaryResponse,
  type SuggestStreamRequest,
  type SuggestStreamResponse,
} from '../../../../generated/typescript/holdfast/v1/autocomplete_service';
import { eventually } from '../../../support/eventually';
import { StubServer } from './stub-server';

describe('an import', () => {
  const BATCHES = 40;
  /** The entries of a batch: 1 MiB. */
  const BATCH = 1000;

  let isReading = false;
  let waiting: ServerReadableStream<ImportDictionaryRequest, ImportDictionaryResponse> | undefined;
  let server: StubServer;
  let channel: CallChannel;

  const importDictionary: handleClientStreamingCall<ImportDictionaryRequest, ImportDictionaryResponse> = (
    call,
    reply,
  ) => {
    call.on('error', () => undefined);
    call.on('end', () => reply(null, { dictionary: Dictionary.create({ name: 'towns' }) }));
    waiting = call;
    if (isReading) call.resume();
  };

  beforeEach(async () => {
    isReading = false;
    waiting = undefined;
    server = await StubServer.start({ importDictionary });
    channel = new CallChannel({ servers: new Servers([server.address]) });
  });
  afterEach(() => {
    channel.close();
    server.close();
  });

  test('an import reads its source only as fast as the server reads', async () => {
    let read = 0;
    async function* source(): AsyncGenerator<Entry> {
      const payload = Buffer.alloc(1024);
      for (; read < BATCHES * BATCH; read++) yield { id: `id ${read}`, text: 'town', payload };
    }
    const importing = new DictionaryClient(channel, 'towns').import(source());
    await eventually('the stream', () => waiting);
    let last = -1;
    // The source stands still while the server reads nothing.
    await eventually('the source to stand still', () => last === (last = read) && read > 0, {
      everyMs: 1000,
    });
    expect(read).toBeLessThan(6 * BATCH);
    waiting?.resume();
    expect((await importing).name).toBe('towns');
    expect(read).toBe(BATCHES * BATCH);
  });

  test('an import ends with the reason of an aborted signal, and after its timeout', async () => {
    const towns = new DictionaryClient(channel, 'towns');
    async function* endless(): AsyncGenerator<Entry> {
      for (let n = 0; ; n++) yield { id: `id ${n}`, text: 'town', payload: Buffer.alloc(1024) };
    }
    await expect(towns.import(endless(), { timeout: 300 })).rejects.toThrow(UnavailableError);
    const abort = new AbortController();
    const importing = towns.import(endless(), { signal: abort.signal });
    abort.abort(new Error('enough'));
    await expect(importing).rejects.toThrow('enough');
  });

  test('an import ends with the very error of its source, although another gRPC service has failed', async () => {
    isReading = true;
    const facts = {
      code: status.UNAVAILABLE,
      details: 'the other service is down',
      metadata: new Metadata(),
    };
    const failure = Object.assign(new Error(facts.details), facts);
    async function* failing(): AsyncGenerator<Entry> {
      await eventually('the stream', () => waiting);
      throw failure;
    }
    const importing = new DictionaryClient(channel, 'towns').import(failing());
    expect(await importing.catch((error: unknown) => error)).toBe(failure);
  });
});

describe('a type-ahead', () => {
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
});

describe('options of calls', () => {
  // No server has this address, so a call that is sent is an UnavailableError.
  const channel = new CallChannel({ servers: new Servers(['127.0.0.1:1']) });
  afterAll(() => channel.close());

  const towns = new DictionaryClient(channel, 'towns');
  const recents = new RecentsClient(channel, 'user-7');
  const short = { timeout: 500 };

  test.each<[string, () => Promise<unknown>]>([
    ['limit', () => towns.suggest('b', { ...short, limit: 1.5 })],
    ['limit', () => towns.suggest('b', { ...short, limit: null as unknown as number })],
    ['matchKinds', () => towns.suggest('b', { ...short, matchKinds: ['SOUNDS_LIKE' as MatchKind] })],
    ['matchKinds', () => towns.suggest('b', { ...short, matchKinds: 'TYPO' as unknown as MatchKind[] })],
    ['recents', () => towns.suggest('b', { ...short, recents: 7 as unknown as string })],
    ['maxStaleness', () => towns.suggest('b', { ...short, maxStaleness: NaN })],
    ['count', () => towns.recordSelection('b', { ...short, count: 1.5 })],
    ['accents', () => towns.create({ ...short, profile: { accents: 'removed' as 'dropped' } })],
    ['typos', () => towns.create({ ...short, profile: { typos: 'no' as unknown as boolean } })],
    ['weight of "b"', () => towns.put([{ id: 'b', text: 'Bonn', weight: 1.5 }], short)],
    ['weight of "b"', () => towns.put([{ id: 'b', text: 'Bonn', weight: 2n ** 63n }], short)],
    ['timeout', () => towns.info({ timeout: 0 })],
    ['timeout', () => towns.import([], { timeout: '0s' })],
    ['limit', () => recents.suggest('b', { ...short, limit: -1 })],
    ['capacity', () => recents.add('b', { ...short, capacity: 2 ** 31 })],
  ])('a wrong %s is an InvalidRequestError, and nothing is sent', async (option, call) => {
    const calling = call();
    await expect(calling).rejects.toThrow(InvalidRequestError);
    await expect(calling).rejects.toThrow(`${option} must be`);
  });

  test.each<[string, (name: string) => unknown]>([
    ['a dictionary', (name) => new DictionaryClient(channel, name)],
    ['a list of recents', (name) => new RecentsClient(channel, name)],
    [
      'an election',
      (name) =>
        new ElectionClient(
          name,
          { lock: () => Promise.reject(new Error()), handle: (lease) => lease },
          channel,
        ),
    ],
  ])('%s needs a text as its name', (_, make) => {
    expect(() => make(undefined as unknown as string)).toThrow(InvalidRequestError);
    expect(() => make('caf\ud83d')).toThrow(InvalidRequestError);
  });

  test('`lead` needs a function as its last argument, and otherwise acquires nothing', async () => {
    const lock = jest.fn(() => Promise.reject(new Error('acquired')));
    const election = new ElectionClient('scheduler', { lock, handle: (lease) => lease }, channel);
    const lead = election.lead.bind(election) as (...given: unknown[]) => Promise<unknown>;
    const work = () => undefined;
    for (const given of [[], [{}], [{}, 5], [work, { wait: 5 }]]) {
      await expect(lead('a:1', ...given)).rejects.toThrow('the last argument must be a function');
    }
    expect(lock).not.toHaveBeenCalled();
  });
});
