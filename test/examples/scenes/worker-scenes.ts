import { endQuarantine } from '../../support/clients/calls';
import { eventually } from '../../support/eventually';
import { freePort } from '../../support/processes/child-program';
import type { ExampleProcess } from '../example-process';
import { EXIT, LONG_TTL_MS, SHORT_TTL_MS, SLACK_MS, type Scene, type SceneContext } from './scene';

/** The pause of a worker that is to write only its first step. */
const ENDLESS_MS = 600_000;

interface WorkerOptions {
  readonly ttlMs?: number;
  readonly stepMs?: number;
  readonly servers?: string;
  readonly ledger?: string;
}

function worker({ stage, program }: SceneContext, holder: string, options: WorkerOptions = {}) {
  const { ttlMs = LONG_TTL_MS, stepMs = 50, servers = stage.addresses, ledger = stage.ledger.url } = options;
  return stage.start(program('worker'), [
    stage.name,
    ...['--holder', holder, '--servers', servers, '--ledger', ledger],
    ...['--ttl-ms', String(ttlMs), '--step-ms', String(stepMs)],
  ]);
}

async function granted(process: ExampleProcess): Promise<{ token: number; at: number }> {
  const { match, at } = await process.line(/^granted: token (\d+)$/);
  return { token: Number(match[1]), at };
}

async function queued(process: ExampleProcess, place: number): Promise<void> {
  await process.line(new RegExp(`^queued: place ${place} of ${place}$`));
}

function stepsOf({ lines }: ExampleProcess): { step: number; token: number }[] {
  return lines.flatMap(({ text }) => {
    const [, step, token] = /^step (\d+) under token (\d+)$/.exec(text) ?? [];
    return step === undefined ? [] : [{ step: Number(step), token: Number(token) }];
  });
}

async function handsOver(context: SceneContext): Promise<void> {
  const { stage } = context;
  const alice = await worker(context, 'alice');
  const first = await granted(alice);
  const bob = await worker(context, 'bob');
  await queued(bob, 1);
  const carol = await worker(context, 'carol');
  await queued(carol, 2);
  await alice.line(/^step 5 /);

  const signalledAt = performance.now();
  alice.signal('SIGINT');
  const second = await granted(bob);
  // Long before the ttl.
  expect(second.at - signalledAt).toBeLessThan(SLACK_MS);
  expect(second.token).toBeGreaterThan(first.token);
  expect(await alice.exit()).toEqual(EXIT.done);
  expect(alice.has(/^released$/)).toBe(true);
  expect(carol.has(/^granted/)).toBe(false);

  const steps = stepsOf(alice);
  expect(steps).toEqual(steps.map((_, i) => ({ step: i + 1, token: first.token })));
  await bob.line(/^step 1 /);
  const writes = await stage.ledger.writes(stage.name);
  expect(writes.filter(({ token }) => token === first.token).map(({ text }) => text)).toEqual(
    steps.map(({ step }) => `alice: step ${step}`),
  );

  bob.signal('SIGTERM');
  expect((await granted(carol)).token).toBeGreaterThan(second.token);
  expect(await bob.exit()).toEqual(EXIT.done);
}

async function leavesQueue(context: SceneContext): Promise<void> {
  const alice = await worker(context, 'alice');
  await granted(alice);
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    const bob = await worker(context, 'bob');
    await queued(bob, 1);
    bob.signal(signal);
    expect(await bob.exit()).toEqual(EXIT.done);
    expect(bob.has(/^(granted|released)/)).toBe(false);
  }
}

async function wrongArguments(context: SceneContext): Promise<void> {
  const { stage, program } = context;
  const nameless = await stage.start(program('worker'), []);
  expect(await nameless.exit()).toEqual(EXIT.usage);
  const unknown = await stage.start(program('worker'), [stage.name, '--colour', 'red']);
  expect(await unknown.exit()).toEqual(EXIT.usage);
  const refused = await worker(context, 'alice', { ttlMs: 600_000 });
  expect(await refused.exit()).toEqual(EXIT.failed);
  await refused.line(/^failed: .*ttl/i);
  const ledger = `http://127.0.0.1:${await freePort()}`;
  const unanswered = await worker(context, 'bob', { ledger });
  expect(await unanswered.exit()).toEqual(EXIT.failed);
  await unanswered.line(/^failed: /);
  expect(stepsOf(unanswered)).toEqual([]);
}

async function holderKilled(context: SceneContext): Promise<void> {
  const alice = await worker(context, 'alice', { ttlMs: SHORT_TTL_MS });
  const first = await granted(alice);
  const bob = await worker(context, 'bob');
  await queued(bob, 1);
  const killedAt = performance.now();
  alice.signal('SIGKILL');
  const second = await granted(bob);
  expect(second.token).toBeGreaterThan(first.token);
  // The last renewal was at most a third of the ttl before the kill.
  expect(second.at - killedAt).toBeGreaterThan(SHORT_TTL_MS / 3);
  expect(second.at - killedAt).toBeLessThan(2 * SHORT_TTL_MS + SLACK_MS);
}

async function holderStopped(context: SceneContext): Promise<void> {
  const alice = await worker(context, 'alice', { ttlMs: SHORT_TTL_MS, stepMs: ENDLESS_MS });
  const first = await granted(alice);
  await alice.line(/^step 1 /);
  const bob = await worker(context, 'bob');
  await queued(bob, 1);
  alice.signal('SIGSTOP');
  const second = await granted(bob);
  expect(second.token).toBeGreaterThan(first.token);
  await bob.line(/^step 1 /);
  alice.signal('SIGCONT');
  await alice.line(/^lease lost: DEADLINE, stopping$/);
  expect(await alice.exit()).toEqual(EXIT.lost);
  expect(stepsOf(alice)).toEqual([{ step: 1, token: first.token }]);
}

async function lateWrite(context: SceneContext): Promise<void> {
  const { stage } = context;
  const slow = await stage.slowLedger();
  const alice = await worker(context, 'alice', { ttlMs: SHORT_TTL_MS, ledger: slow.url });
  await alice.line(/^step 2 /);
  const bob = await worker(context, 'bob');
  await queued(bob, 1);
  await slow.hold();
  alice.signal('SIGSTOP');
  const { token } = await granted(bob);
  await bob.line(/^step 1 /);
  const steps = stepsOf(alice);
  slow.release();
  await eventually('the answer to the late write', () => slow.statuses.some((status) => status !== 200));
  alice.signal('SIGCONT');
  expect(await alice.exit()).toEqual(EXIT.lost);
  await alice.line(new RegExp(`^lease lost: DEADLINE, stopping$|: token ${token} has written$`));
  expect(slow.statuses.filter((status) => status !== 200)).toEqual([409]);
  expect(stepsOf(alice)).toEqual(steps);
}

async function serverKilled(context: SceneContext): Promise<void> {
  const { stage } = context;
  const first = await stage.extraServer();
  const servers = `${first.listen},${stage.addresses}`;
  const alice = await worker(context, 'alice', { ttlMs: SHORT_TTL_MS, servers });
  const { token } = await granted(alice);
  const bob = await worker(context, 'bob', { ttlMs: SHORT_TTL_MS, servers });
  await queued(bob, 1);

  await first.kill();
  // The lease of a worker that has not moved is over by then.
  await alice.line(/^step /, { after: performance.now() + 1.5 * SHORT_TTL_MS });
  expect(stepsOf(alice).filter((step) => step.token !== token)).toEqual([]);
  expect(alice.lines.filter(({ text }) => /^granted/.test(text))).toHaveLength(1);
  expect(bob.has(/^granted/)).toBe(false);

  alice.signal('SIGINT');
  expect((await granted(bob)).token).toBeGreaterThan(token);
  expect(await alice.exit()).toEqual(EXIT.done);
}

async function storeReset(context: SceneContext): Promise<void> {
  const { stage } = context;
  const alice = await worker(context, 'alice', { ttlMs: SHORT_TTL_MS });
  const { token } = await granted(alice);
  const bob = await worker(context, 'bob', { ttlMs: SHORT_TTL_MS });
  await queued(bob, 1);
  await stage.redis.command('FLUSHALL');
  await alice.line(/^lease lost: STORE_RESET, stopping$/);
  expect(await alice.exit()).toEqual(EXIT.lost);
  // No client believes in a lease any more, so an operator may end the quarantine of two minutes.
  await endQuarantine(stage.servers[0]?.listen ?? '', 'alice has stopped');
  expect((await granted(bob)).token).toBeGreaterThan(token);
}

/** The ledger holds the last write, so only the second signal can end the program now. */
async function secondSignal(context: SceneContext): Promise<void> {
  const slow = await context.stage.slowLedger();
  const alice = await worker(context, 'alice', { ledger: slow.url });
  await alice.line(/^step 1 /);
  await slow.hold();
  alice.signal('SIGINT');
  // Repeated, because the system merges a signal with an equal one that is pending.
  const repetition = setInterval(() => {
    try {
      alice.signal('SIGINT');
    } catch {
      // It has ended.
    }
  }, 200);
  try {
    const ends = [
      { code: null, signal: 'SIGINT' },
      { code: 130, signal: null },
    ];
    expect(ends).toContainEqual(await alice.exit());
  } finally {
    clearInterval(repetition);
  }
}

export const WORKER_SCENES: readonly Scene[] = [
  { title: 'worker: hands over at once on SIGINT and SIGTERM, after its last step', run: handsOver },
  { title: 'worker: leaves the queue on SIGINT and SIGTERM', run: leavesQueue },
  {
    title: 'worker: ends with an error for wrong arguments, a refused ttl, and a ledger that is down',
    run: wrongArguments,
  },
  { title: 'worker: gets the lock when the ttl of a killed holder has passed', run: holderKilled },
  { title: 'worker: stops after a suspension past its deadline', run: holderStopped },
  {
    title: 'worker: the ledger refuses a write that arrives after the next holder has written',
    run: lateWrite,
  },
  {
    title: 'worker: goes on under the same token when its server is killed, and so does the queue',
    run: serverKilled,
  },
  { title: 'worker: stops when the store has lost its lease', run: storeReset },
];

/** For languages whose launchers pass on each signal once. npm passes on a second one by itself. */
export const SECOND_SIGNAL_SCENES: readonly Scene[] = [
  { title: 'worker: ends at once on a second signal, although its last write hangs', run: secondSignal },
];
