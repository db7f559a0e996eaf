import { holdfastError } from '../../clients/typescript';
import { ListOrder } from '../../generated/typescript/holdfast/v1/lease';
import { ListLocksRequest } from '../../generated/typescript/holdfast/v1/lock_service';
import {
  ListSemaphoresRequest,
  SemaphoreServiceClient,
} from '../../generated/typescript/holdfast/v1/semaphore_service';
import { HoldfastError } from '../../src/base/errors';
import type { ResourceView, Service } from '../../src/leases/lease';
import { call, failureOf, Harness } from './harness';
import { alice } from './lease-messages';
import { SERVICES } from './services';

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
    Promise.resolve({ resources: [view, { ...view, name: 'other' }], nextPageToken: 'next', sampled: true });
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
