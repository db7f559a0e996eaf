import { setTimeout as sleep } from 'node:timers/promises';
import { status } from '@grpc/grpc-js';
import { holdfastError } from '../../../clients/typescript';
import { ListOrder } from '../../../generated/typescript/holdfast/v1/lease';
import {
  ListLocksRequest,
  type WatchLockResponse,
} from '../../../generated/typescript/holdfast/v1/lock_service';
import {
  ListSemaphoresRequest,
  SemaphoreServiceClient,
} from '../../../generated/typescript/holdfast/v1/semaphore_service';
import type { Call } from '../../../src/base/call';
import { HoldfastError } from '../../../src/base/errors';
import type { ResourceView, Service } from '../../../src/leases/lease';
import type { WatchSink } from '../../../src/leases/lease-requests';
import { call, drainStream, failureOf, Harness } from '../../contract/harness';
import { alice } from '../../contract/lease-messages';
import { SERVICES } from '../../contract/services';
import { eventually } from '../../support/eventually';

let harness: Harness;
let locks: ReturnType<Harness['locks']>;
let semaphores: SemaphoreServiceClient;
beforeAll(async () => {
  harness = await Harness.start();
  locks = harness.locks();
  semaphores = harness.client(SemaphoreServiceClient);
});
afterEach(() => harness.permits.reset());
afterAll(() => harness.close());

describe('watches', () => {
  const view: ResourceView = {
    name: 'hello',
    limit: 10,
    keptLimit: undefined,
    usedCount: 12,
    lastFencingToken: alice.fencingToken,
    holderCount: 1,
    waiterCount: 0,
    holders: [alice],
    waiters: [],
  };

  const watch = (service: Service, name: string) =>
    service === 'lock'
      ? drainStream<object>(locks.watchLock({ name }))
      : drainStream<object>(semaphores.watchSemaphore({ name }));

  /** The engine sends these views to each watch, and then ends the watch with the error. */
  function answerWith(views: readonly ResourceView[], error?: Error): void {
    harness.permits.answers.watch = (_call, _service, _name, sink) => {
      for (const one of views) sink.send(one);
      return error ? Promise.reject(error) : Promise.resolve();
    };
  }

  describe.each(['lock', 'semaphore'] as const)('a watch of a %s', (service) => {
    it.each([
      ['no name', '', 'is required'],
      ['a name with a control character', 'a\x00b', 'control'],
      ['a name of 513 bytes', 'x'.repeat(513), '513 bytes'],
    ])('with %s ends with INVALID_FIELD, and does not reach the engine', async (_, name, text) => {
      const { messages, error } = await watch(service, name);
      expect(messages).toEqual([]);
      expect(error?.code).toBe(status.INVALID_ARGUMENT);
      expect(holdfastError(error)).toMatchObject({ reason: 'INVALID_FIELD' });
      expect(error?.details).toContain(text);
      expect(harness.permits.calls).toEqual([]);
    });

    it('sends each view in the form of the Get call', async () => {
      answerWith([view]);
      harness.permits.answers.inspect = () => Promise.resolve(view);
      const { messages, error } = await watch(service, 'hello');
      expect(error).toBeUndefined();
      const got =
        service === 'lock'
          ? await call(locks, locks.getLock, { name: 'hello' })
          : await call(semaphores, semaphores.getSemaphore, { name: 'hello' });
      expect(messages).toEqual([got]);
      expect(harness.permits.calls[0]?.slice(0, 3)).toEqual(['watch', service, 'hello']);
    });

    it('throws to the engine if a view has no message, also while an earlier view is written', async () => {
      const thrown: unknown[] = [];
      harness.permits.answers.watch = (_call, _service, _name, sink) => {
        sink.send(view);
        for (let i = 0; i < 2; i += 1) {
          try {
            sink.send({ ...view, holders: [{ ...alice, acquireTimeMs: NaN }] });
          } catch (error) {
            thrown.push(error);
          }
        }
        sink.send({ ...view, waiterCount: 1 });
        return Promise.resolve();
      };
      const { messages, error } = await watch(service, 'hello');
      expect(error).toBeUndefined();
      expect(messages).toHaveLength(2);
      expect(thrown).toEqual([expect.any(RangeError), expect.any(RangeError)]);
    });

    it.each(['REATTACH', 'DRAINING', 'NO_SUCH_SEMAPHORE', 'QUOTA_EXCEEDED'] as const)(
      'ends with the status of %s after the views before',
      async (reason) => {
        answerWith([view], new HoldfastError(reason, 'the text'));
        const { messages, error } = await watch(service, 'hello');
        expect(messages.length).toBeLessThanOrEqual(1); // grpc-js may drop unread messages when a stream ends with an error
        expect(holdfastError(error)?.reason).toBe(reason);
        expect(error?.details).toBe(`the text [${reason}]`);
      },
    );
  });

  describe('a client that reads its watch slowly', () => {
    interface Opened {
      readonly call: Call;
      readonly sink: WatchSink;
      readonly end: () => void;
    }

    async function open() {
      let opened: Opened | undefined;
      harness.permits.answers.watch = (engineCall, _service, _name, sink) =>
        new Promise((resolve) => (opened = { call: engineCall, sink, end: resolve }));
      const stream = locks.watchLock({ name: 'hello' });
      return { stream, engine: await eventually('the watch to open', () => opened) };
    }

    /** More messages than the HTTP/2 windows and all buffers can hold. */
    const FLOOD = 30_000;
    async function flood({ sink }: Opened): Promise<void> {
      for (let sent = 1; sent <= FLOOD; sent += 1) {
        sink.send({ ...view, lastFencingToken: BigInt(sent) });
        if (sent % 1000 === 0) await sleep(1); // the sockets get time to write
      }
    }
    const tokens = (messages: readonly WatchLockResponse[]) =>
      messages.map(({ lock }) => Number(lock?.lastFencingToken));

    it('gets the newest state, and not each state in between, in order', async () => {
      const { stream, engine } = await open();
      const reading = drainStream(stream.pause());
      stream.pause();
      await flood(engine);
      engine.end();
      stream.resume();
      const { messages, error } = await reading;
      expect(error).toBeUndefined();
      const seen = tokens(messages);
      expect(seen.at(-1)).toBe(FLOOD);
      expect(seen.length).toBeLessThan(FLOOD / 2);
      expect(seen).toEqual([...seen].sort((a, b) => a - b));
    });

    it('gets new states after it reads again', async () => {
      const { stream, engine } = await open();
      const seen: number[] = [];
      stream.on('data', (message: WatchLockResponse) => seen.push(...tokens([message])));
      stream.on('error', () => undefined);
      stream.pause();
      await flood(engine);
      stream.resume();
      await eventually('the newest state', () => seen.at(-1) === FLOOD);
      engine.sink.send({ ...view, lastFencingToken: BigInt(FLOOD + 1) });
      await eventually('the next state', () => seen.at(-1) === FLOOD + 1);
      engine.end();
    });

    it('causes no error on the server when it disconnects', async () => {
      const { stream, engine } = await open();
      let cancelled = 0;
      engine.call.onCancelled(() => (cancelled += 1));
      stream.pause();
      stream.on('error', () => undefined);
      await flood(engine);
      stream.cancel();
      await eventually('the cancel to arrive', () => cancelled === 1);
      engine.sink.send(view);
      engine.end();
      await sleep(20);
      engine.sink.send(view);
      expect(harness.logged).toEqual([]);
    });
  });
});

describe('lists', () => {
  type Fields = Partial<ListLocksRequest>;

  const view: ResourceView = {
    name: 'hello',
    limit: 10,
    keptLimit: undefined,
    usedCount: 12,
    lastFencingToken: alice.fencingToken,
    holderCount: 1,
    waiterCount: 0,
    holders: [alice],
    waiters: [],
  };

  const unknownOrder = (value: number): ListOrder => value;

  const listLocks = (fields: Fields = {}) => call(locks, locks.listLocks, ListLocksRequest.create(fields));
  const listSemaphores = (fields: Fields = {}) =>
    call(semaphores, semaphores.listSemaphores, ListSemaphoresRequest.create(fields));
  const list = (service: Service, fields?: Fields): Promise<object> =>
    service === 'lock' ? listLocks(fields) : listSemaphores(fields);

  async function violationsOf(pending: Promise<unknown>): Promise<string[] | undefined> {
    const error = holdfastError(await failureOf(pending));
    expect(error?.reason).toBe('INVALID_FIELD');
    return error?.violations.map(({ field }) => field);
  }

  describe.each(SERVICES)('a list of %ss', (service) => {
    const page = { namePrefix: '', holderId: '', identity: '', pageSize: 50, pageToken: '', order: 'fixed' };

    it.each<[string, Fields, object]>([
      ['no field', {}, page],
      [
        'all fields',
        { namePrefix: 'orders/{*}', holderId: 'alice', identity: 'token:a', pageSize: 7, pageToken: 'abc' },
        {
          ...{ namePrefix: 'orders/{*}', holderId: 'alice', identity: 'token:a' },
          ...{ pageSize: 7, pageToken: 'abc', order: 'fixed' },
        },
      ],
      ['the largest page_size', { pageSize: 500 }, { ...page, pageSize: 500 }],
      ['a larger page_size', { pageSize: 2 ** 31 - 1 }, { ...page, pageSize: 500 }],
      [
        'the order by waiters',
        { orderBy: ListOrder.LIST_ORDER_WAITER_COUNT },
        { ...page, order: 'waiter-count' },
      ],
      [
        'a name_prefix of 512 bytes',
        { namePrefix: '€'.repeat(170) + 'xx' },
        { ...page, namePrefix: '€'.repeat(170) + 'xx' },
      ],
    ])('with %s reaches the engine', async (_, fields, request) => {
      await list(service, fields);
      expect(harness.permits.calls).toEqual([['list', service, request]]);
    });

    it.each<[string, Fields, string[]]>([
      ['a name_prefix of 513 bytes', { namePrefix: 'x'.repeat(513) }, ['name_prefix']],
      ['a name_prefix with a control character', { namePrefix: 'a\nb' }, ['name_prefix']],
      ['a name_prefix with U+FFFD', { namePrefix: '\u{FFFD}' }, ['name_prefix']],
      ['a holder_id of 257 bytes', { holderId: 'x'.repeat(257) }, ['holder_id']],
      ['an identity of 257 bytes', { identity: 'x'.repeat(257) }, ['identity']],
      ['an identity with a control character', { identity: 'token:a\n' }, ['identity']],
      ['a negative page_size', { pageSize: -1 }, ['page_size']],
      ['an unknown order_by', { orderBy: unknownOrder(9) }, ['order_by']],
      [
        'a page_token and the order by waiters',
        { pageToken: 'x', orderBy: ListOrder.LIST_ORDER_WAITER_COUNT },
        ['page_token'],
      ],
      [
        'several bad fields',
        { namePrefix: '\0', holderId: '\0', pageSize: -5, orderBy: unknownOrder(-1) },
        ['name_prefix', 'holder_id', 'page_size', 'order_by'],
      ],
    ])('with %s gets INVALID_FIELD, and does not reach the engine', async (_, fields, names) => {
      expect(await violationsOf(list(service, fields))).toEqual(names);
      expect(harness.permits.calls).toEqual([]);
    });

    it('ends with the error of the engine', async () => {
      harness.permits.failWith(new HoldfastError('OVERLOADED', 'the text'));
      expect(holdfastError(await failureOf(list(service)))).toMatchObject({ reason: 'OVERLOADED' });
    });
  });

  it('ListLocks answers with locks in the form of GetLock', async () => {
    harness.permits.answers.list = () =>
      Promise.resolve({
        resources: [view, { ...view, name: 'other' }],
        nextPageToken: 'next',
        sampled: true,
      });
    harness.permits.answers.inspect = () => Promise.resolve(view);
    const { lock } = await call(locks, locks.getLock, { name: 'hello' });
    const { locks: shown, ...rest } = await listLocks();
    expect(shown).toEqual([lock, { ...lock, name: 'other' }]);
    expect(rest).toEqual({ nextPageToken: 'next', sampled: true });
  });

  it('ListSemaphores answers with semaphores in the form of GetSemaphore', async () => {
    harness.permits.answers.list = () =>
      Promise.resolve({ resources: [view], nextPageToken: '', sampled: false });
    harness.permits.answers.inspect = () => Promise.resolve(view);
    const { semaphore } = await call(semaphores, semaphores.getSemaphore, { name: 'hello' });
    expect(semaphore?.overcommittedCount).toBe(2);
    expect(await listSemaphores()).toEqual({ semaphores: [semaphore], nextPageToken: '', sampled: false });
  });
});
