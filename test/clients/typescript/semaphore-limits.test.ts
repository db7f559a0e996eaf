import { status } from '@grpc/grpc-js';
import type { CallChannel } from '../../../clients/typescript/calls/call-channel';
import { HoldfastError, NotAllowedError, NoSuchSemaphoreError } from '../../../clients/typescript/errors';
import { SemaphoreLimits } from '../../../clients/typescript/leases/semaphore-limits';
import type { Acquire } from '../../../clients/typescript/sessions/acquire-intent';
import type { Lease } from '../../../clients/typescript/sessions/lease';

// The warning of another limit. The semaphores have the limit 4, unless a look-up fails.

const settled = () => new Promise((resolve) => setImmediate(resolve));
const facts = { reason: '', code: status.UNKNOWN };

let told: string[];
let lookUps: string[];
/** The next look-ups fail with these. */
let failures: Error[];
/** The answers wait for this. */
let gate: Promise<void>;
let open: () => void;
let limits: SemaphoreLimits;

beforeEach(() => {
  [told, lookUps, failures, gate] = [[], [], [], Promise.resolve()];
  const unary = async (_method: unknown, { name }: { name: string }) => {
    lookUps.push(name);
    await gate;
    const failure = failures.shift();
    if (failure) throw failure;
    return { semaphore: { limit: 4 } };
  };
  limits = new SemaphoreLimits({ unary } as unknown as CallChannel, (news) => {
    if (news.kind === 'otherLimit') told.push(`${news.name} ${news.limit}, not ${news.expectedLimit}`);
  });
});

function closeGate(): void {
  gate = new Promise((resolve) => (open = resolve));
}

async function grant(name: string, initialLimit: number): Promise<void> {
  await limits.acquire({ name, initialLimit } as Acquire, () => Promise.resolve({} as Lease));
}

test('each other limit of a name is told once', async () => {
  for (const limit of [9, 9, 4, 8, 4, 9, 8]) {
    await grant('gpu', limit);
    await settled();
  }
  await grant('cpu', 9);
  await settled();
  expect(told).toEqual(['gpu 4, not 9', 'gpu 4, not 8', 'cpu 4, not 9']);
  expect(lookUps).toEqual(['gpu', 'gpu', 'gpu', 'cpu']);
});

test('one look-up at a time serves all limits of a name', async () => {
  closeGate();
  for (const limit of [9, 8, 4, 9]) await grant('gpu', limit);
  open();
  await settled();
  expect(told).toEqual(['gpu 4, not 9', 'gpu 4, not 8']);
  expect(lookUps).toEqual(['gpu']);
});

test.each([new HoldfastError('silence', facts), new NoSuchSemaphoreError('none', facts)])(
  'a limit is compared by the next grant if the look-up has failed: %s',
  async (failure) => {
    failures = [failure];
    for (let turn = 0; turn < 3; turn++) {
      await grant('gpu', 9);
      await settled();
    }
    expect(told).toEqual(['gpu 4, not 9']);
    expect(lookUps).toHaveLength(2);
  },
);

test('a limit that the caller may not read is asked for once', async () => {
  failures = [new NotAllowedError('no', facts)];
  for (const limit of [9, 8, 9]) {
    await grant('gpu', limit);
    await settled();
  }
  expect([told, lookUps]).toEqual([[], ['gpu']]);
});

test('10,000 limits are remembered, and no further one is looked up', async () => {
  closeGate();
  for (let limit = 0; limit < 10_000; limit++) await grant('gpu', limit);
  open();
  await settled();
  expect(told).toHaveLength(9_999);
  await grant('gpu', 10_000);
  await grant('cpu', 1);
  await settled();
  expect(told).toHaveLength(9_999);
  expect(lookUps).toEqual(['gpu']);
});
