import { setTimeout as sleep } from 'node:timers/promises';
import { makeGenericClientConstructor, Metadata, status, type ServiceError } from '@grpc/grpc-js';
import { LockServiceService, type GetLockRequest } from '../../generated/typescript/holdfast/v1/lock_service';
import { holdfastError } from '../../clients/typescript';
import type { Call } from '../../src/base/call';
import { HoldfastError } from '../../src/base/errors';
import { MAX_HEADER_BYTES } from '../../src/rpc/handlers';
import type { ConversationRow, Rows, UploadRow } from '../../src/rpc/service';
import type { RequestReader } from '../../src/rpc/streams';
import { eventually } from '../support/eventually';
import { failureOf, Harness } from './harness';

/** Checks the wrappers around client-streaming and bidirectional handlers. */

type Text = GetLockRequest;
const { requestSerialize: write, requestDeserialize: read } = LockServiceService.getLock;
const texts = {
  requestSerialize: write,
  requestDeserialize: read,
  responseSerialize: write,
  responseDeserialize: read,
};
const SERVICE = {
  up: { path: '/test.Streams/Up', requestStream: true, responseStream: false, ...texts },
  both: { path: '/test.Streams/Both', requestStream: true, responseStream: true, ...texts },
} as const;
const Client = makeGenericClientConstructor(SERVICE, 'Streams');

const handlers = {
  up: undefined as unknown as UploadRow<Text, Text>['handle'],
  both: undefined as unknown as ConversationRow<Text, Text>['handle'],
};

const rows: Rows<typeof SERVICE> = {
  up: { names: () => undefined, load: 'low', handle: (requests, call) => handlers.up(requests, call) },
  both: { names: () => undefined, load: 'low', handle: (stream, call) => handlers.both(stream, call) },
};

let harness: Harness;
let client: InstanceType<typeof Client>;
beforeAll(async () => {
  harness = await Harness.start({ services: [{ definition: SERVICE, rows }] });
  client = harness.client(Client);
});
beforeEach(() => harness.logged.splice(0));
afterAll(() => harness.close());

interface ClientSide {
  write(text: Text): boolean;
  end(): void;
  cancel(): void;
  on(event: 'data', listener: (text: Text) => void): void;
  on(event: 'error', listener: (error: ServiceError) => void): void;
  on(event: 'end', listener: () => void): void;
}

/** Opens a client-streaming (`up`) or bidirectional (`both`) call. `ended` resolves to all answers. */
function open(kind: 'up' | 'both', metadata = new Metadata(), options: object = {}) {
  const answers: string[] = [];
  let stream!: ClientSide;
  const ended = new Promise<string[]>((resolve, reject) => {
    if (kind === 'up') {
      stream = client.up!(metadata, options, (error: ServiceError | null, answer: Text) =>
        error === null ? resolve([answer.name]) : reject(error),
      );
    } else {
      stream = client.both!(metadata, options);
      stream.on('data', ({ name }) => answers.push(name));
      stream.on('error', reject);
      stream.on('end', () => resolve(answers));
    }
  });
  ended.catch(() => undefined);
  return { stream, ended };
}

async function readAll(requests: RequestReader<Text>): Promise<string[]> {
  const names: string[] = [];
  for (;;) {
    const text = await requests.next();
    if (text === undefined) return names;
    names.push(text.name);
  }
}

/** Sets the same handler for both kinds of calls. */
function handle(does: (call: Call) => Promise<void>): void {
  handlers.up = async (_requests, call) => {
    await does(call);
    return { name: 'done' };
  };
  handlers.both = async (_stream, call) => does(call);
}

test('a client-streaming handler reads all messages in order, and answers once', async () => {
  handlers.up = async (requests) => ({ name: (await readAll(requests)).join('+') });
  const { stream, ended } = open('up');
  for (let index = 0; index < 40; index++) stream.write({ name: String(index) });
  stream.end();
  expect(await ended).toEqual([Array.from({ length: 40 }, (_, index) => index).join('+')]);
});

test("a client-streaming handler may answer before the client's last message", async () => {
  handlers.up = async (requests) => ({ name: `first: ${(await requests.next())?.name}` });
  const { stream, ended } = open('up');
  stream.write({ name: 'a' });
  stream.write({ name: 'b' });
  expect(await ended).toEqual(['first: a']);
});

test('interrupt() rejects the pending read and every later read of a client stream', async () => {
  const interruption = new HoldfastError('DRAINING', 'stopping');
  let requests: RequestReader<Text> | undefined;
  let again: unknown;
  handlers.up = async (given) => {
    requests = given;
    await given.next().catch(async () => (again = await given.next().catch((error: unknown) => error)));
    throw interruption;
  };
  const { stream, ended } = open('up');
  await eventually('the call to arrive', () => requests);
  requests!.interrupt(interruption);
  expect(holdfastError(await failureOf(ended))?.reason).toBe('DRAINING');
  expect(again).toBe(interruption);
  stream.end();
});

describe.each([
  ['client-streaming', 'up'],
  ['bidirectional', 'both'],
] as const)('a %s handler', (_title, kind) => {
  test('that rejects with a HoldfastError ends the call with that error', async () => {
    handle(() => Promise.reject(new HoldfastError('NO_SUCH_DICTIONARY', 'a\u{D800}b')));
    const error = await failureOf(open(kind).ended);
    expect(error.code).toBe(status.NOT_FOUND);
    expect(error.details).toBe('a\u{FFFD}b [NO_SUCH_DICTIONARY]');
    expect(harness.logged).toEqual([]);
  });

  test('that rejects with another error ends the call with INTERNAL, and the error text is only in the log', async () => {
    handle(() => Promise.reject(new Error('secret')));
    const error = await failureOf(open(kind).ended);
    expect(error.code).toBe(status.INTERNAL);
    expect(error.details).not.toContain('secret');
    expect(harness.logged).toMatchObject([{ level: 'error', fields: { err: { message: 'secret' } } }]);
  });

  test('that throws synchronously ends the call with the error', async () => {
    handlers.up = handlers.both = () => {
      throw new HoldfastError('CONTENDED', 'at once');
    };
    expect((await failureOf(open(kind).ended)).code).toBe(status.ABORTED);
  });

  test('is not called when the headers are too large', async () => {
    let asked = 0;
    handle(() => Promise.resolve(void (asked += 1)));
    const metadata = new Metadata();
    metadata.set('x-large', 'x'.repeat(MAX_HEADER_BYTES));
    const error = await failureOf(open(kind, metadata).ended);
    expect(error.code).toBe(status.RESOURCE_EXHAUSTED);
    expect(holdfastError(error)?.reason).toBe('QUOTA_EXCEEDED');
    expect(asked).toBe(0);
  });

  test.each(['resolves', 'rejects'])('that %s after a cancellation causes no log line', async (how) => {
    let cancelled = 0;
    let finish: () => void = () => undefined;
    handle((call) => {
      call.onCancelled(() => (cancelled += 1));
      return new Promise((resolve, reject) => {
        finish = () => (how === 'resolves' ? resolve() : reject(new HoldfastError('CONTENDED', 'late')));
      });
    });
    const { stream, ended } = open(kind);
    const arrived = finish;
    await eventually('the call to arrive', () => finish !== arrived);
    stream.cancel();
    expect((await failureOf(ended)).code).toBe(status.CANCELLED);
    await eventually('the cancellation to arrive', () => cancelled === 1);
    finish();
    await sleep(20);
    expect(cancelled).toBe(1);
    expect(harness.logged).toEqual([]);
  });

  test('is notified when the deadline expires', async () => {
    let call: Call | undefined;
    let cancelled = 0;
    handle((given) => {
      call = given;
      given.onCancelled(() => (cancelled += 1));
      return new Promise(() => undefined);
    });
    const { ended } = open(kind, new Metadata(), { deadline: Date.now() + 150 });
    expect((await failureOf(ended)).code).toBe(status.DEADLINE_EXCEEDED);
    await eventually('the notification', () => cancelled === 1);
    expect(call?.timeoutMs).toBeLessThanOrEqual(150);
  });

  test('that has answered is not notified of a cancellation', async () => {
    let cancelled = 0;
    handle((call) => {
      call.onCancelled(() => (cancelled += 1));
      return Promise.resolve();
    });
    const { stream, ended } = open(kind);
    await ended;
    stream.end();
    // grpc-js emits 'cancelled' one tick after every call.
    await sleep(50);
    expect(cancelled).toBe(0);
  });
});

test('a bidirectional stream sends all written messages before its error', async () => {
  handlers.both = (stream) => {
    for (const name of ['a', 'b', 'c']) stream.write({ name });
    return Promise.reject(new HoldfastError('DRAINING', 'stopping'));
  };
  const names: string[] = [];
  const { stream, ended } = open('both');
  stream.on('data', ({ name }) => names.push(name));
  expect(holdfastError(await failureOf(ended))?.reason).toBe('DRAINING');
  expect(names).toEqual(['a', 'b', 'c']);
});
