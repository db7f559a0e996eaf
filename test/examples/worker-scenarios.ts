import { endQuarantine } from '../support/clients/server-calls';
import type { ServerProcess } from '../support/processes/server-process';
import { TTL_MS, type Stage } from './stage';
import type { Launcher, WorkerProcess } from './worker-process';

/** The servers and workers of a scenario. */
interface ScenarioContext {
  readonly stage: Stage;
  /** The worker under test. */
  readonly launcher: Launcher;
  /** The second worker, which may be written in another language. */
  readonly other: Launcher;
}

export interface Scenario {
  readonly title: string;
  readonly run: (context: ScenarioContext) => Promise<void>;
}

/** Tolerance for scheduling and printing on a busy machine. */
const SLACK_MS = 1000;
/** Time for a Python worker to start on a busy machine. */
const START_MS = 15_000;
/** A lease without a renewal has expired after this time. */
const BEYOND_TTL_MS = TTL_MS * 1.25;
/** With these arguments a step does not end during a test, so the worker writes nothing after "begins". */
const ENDLESS_STEP = ['--step', '10m'];
/** The exit codes that examples/README.md documents. */
const EXIT = { released: 0, failed: 1, usage: 2, lost: 3 };

interface Grant {
  readonly at: number;
  readonly token: number;
  readonly before: number | undefined;
}

async function granted(worker: WorkerProcess): Promise<Grant> {
  const pattern = /granted after [\d.]+ m?s\b.*; token (?:(\d+) → )?(\d+)/;
  const { match, at } = await worker.line(pattern, START_MS);
  return { at, token: Number(match[2]), before: match[1] === undefined ? undefined : Number(match[1]) };
}

/** The number of a note such as "step 5". NaN for other notes. */
function stepOf(note: string): number {
  return Number(/^step (\d+)$/.exec(note)?.[1]);
}

function spanMs(number: string | undefined, unit: string | undefined): number {
  return Number(number) * (unit === 's' ? 1000 : 1);
}

async function inOrder({ stage, launcher, other }: ScenarioContext): Promise<void> {
  const alice = await stage.worker(launcher, 'alice');
  const first = await granted(alice);
  expect(first.before).toBeUndefined();
  const bob = await stage.worker(other, 'bob');
  await bob.line(/^queued: place 1 of 1, behind alice$/, START_MS);
  const carol = await stage.worker(launcher, 'carol');
  await carol.line(/^queued: place 2 of 2, behind alice$/, START_MS);
  await stage.entry('step 5 of alice', ({ note }) => stepOf(note) >= 5);

  alice.signal('SIGINT');
  const second = await granted(bob);
  expect(await alice.exit()).toEqual({ code: EXIT.released, signal: null });
  expect(alice.lines.at(-1)?.text).toBe('released');
  expect(second.before).toBe(first.token);
  expect(second.token).toBeGreaterThan(first.token);
  const { match } = await bob.line(
    /granted after ([\d.]+) (m?s) \(since alice's last write; in the queue for/,
  );
  expect(spanMs(match[1], match[2])).toBeLessThan(SLACK_MS);
  expect(carol.has(/granted/)).toBe(false);

  bob.signal('SIGTERM');
  const third = await granted(carol);
  expect(await bob.exit()).toEqual({ code: EXIT.released, signal: null });
  expect(third.before).toBe(second.token);
  expect(third.token).toBeGreaterThan(second.token);
}

async function afterKill({ stage, launcher, other }: ScenarioContext): Promise<void> {
  const alice = await stage.worker(launcher, 'alice');
  const first = await granted(alice);
  const bob = await stage.worker(other, 'bob');
  await bob.line(/queued: place 1 of 1/, START_MS);

  const killedAt = performance.now();
  alice.signal('SIGKILL');
  const second = await granted(bob);
  expect(second.token).toBeGreaterThan(first.token);
  expect(second.before).toBe(first.token);
  // The last renewal was at most a third of the ttl before the kill, so the lease lasts at least two thirds of the ttl.
  expect(second.at - killedAt).toBeGreaterThan(TTL_MS / 3);
  expect(second.at - killedAt).toBeLessThan(TTL_MS + 250 + SLACK_MS);
}

async function stoppedInAStep({ stage, launcher, other }: ScenarioContext): Promise<void> {
  // Alice is paused inside a step. After a pause just before a write, the ledger would refuse the write before alice
  // notices her deadline, and this scenario would fail.
  const alice = await stage.worker(launcher, 'alice', stage.servers, ENDLESS_STEP);
  const first = await granted(alice);
  await stage.entry('"begins" of alice', ({ worker, note }) => worker === 'alice' && note === 'begins');
  const bob = await stage.worker(other, 'bob');
  await bob.line(/queued: place 1 of 1/, START_MS);

  const stoppedAt = performance.now();
  alice.signal('SIGSTOP');
  const second = await granted(bob);
  await stage.entry('an entry of bob', ({ worker }) => worker === 'bob');
  const linesBefore = alice.lines.length;
  const continuedAt = performance.now();
  alice.signal('SIGCONT');

  const { match } = await alice.line(/^deadline passed ([\d.]+) (m?s) ago, stopping$/);
  // The deadline was at most a ttl after the stop. Renewals that waited in the socket do not move the deadline. The
  // printed time is rounded, so the test allows 100 ms.
  const passedMs = spanMs(match[1], match[2]);
  expect(passedMs).toBeGreaterThan(continuedAt - stoppedAt - TTL_MS - 100);
  expect(passedMs).toBeLessThan(continuedAt - stoppedAt + SLACK_MS);
  await alice.line(
    new RegExp(`^ledger refused token ${first.token}: token ${second.token} has written since$`),
  );
  expect(await alice.exit()).toEqual({ code: EXIT.lost, signal: null });
  expect(alice.lines[linesBefore]?.text).toMatch(/^deadline passed/);
  const entry = await stage.entry('a new entry of bob', ({ time }) => time > Date.now() - 500);
  expect(entry).toMatchObject({ worker: 'bob', token: second.token });
}

async function stoppedWithoutNotice({ stage, launcher, other }: ScenarioContext): Promise<void> {
  // With this long keep-alive time the server does not notice the paused client, and renews its lease again and again.
  const slow = await stage.extraServer({ HOLDFAST_KEEPALIVE_TIME: '1m' });
  const alice = await stage.worker(launcher, 'alice', [slow]);
  const { token } = await granted(alice);
  const bob = await stage.worker(other, 'bob');
  await bob.line(/queued: place 1 of 1/, START_MS);
  alice.signal('SIGSTOP');
  await stage.entry('a last entry older than the ttl', ({ time }) => Date.now() > time + BEYOND_TTL_MS);
  expect(bob.has(/granted/)).toBe(false);

  alice.signal('SIGCONT');
  await alice.line(/^deadline passed [\d.]+ (m?s) ago, stopping$/);
  await alice.line(new RegExp(`^ledger took the late write of token ${token}:`));
  expect(await alice.exit()).toEqual({ code: EXIT.lost, signal: null });
  expect(alice.lines.at(-1)?.text).toBe('released');
  expect((await granted(bob)).token).toBeGreaterThan(token);
}

async function freedWithoutNotice({ stage, launcher, other }: ScenarioContext): Promise<void> {
  // With this long keep-alive time the server does not notice the paused client by its connection.
  const slow = await stage.extraServer({ HOLDFAST_KEEPALIVE_TIME: '1m' });
  const alice = await stage.worker(launcher, 'alice', [slow], ENDLESS_STEP);
  const first = await granted(alice);
  await stage.entry('"begins" of alice', ({ note }) => note === 'begins');
  const bob = await stage.worker(other, 'bob');
  await bob.line(/queued: place 1 of 1/, START_MS);
  const stoppedAt = performance.now();
  alice.signal('SIGSTOP');
  // The last renewal comes at most a ttl after the last heartbeat.
  const second = await granted(bob);
  expect(second.at - stoppedAt).toBeLessThan(2 * TTL_MS + SLACK_MS);
  await stage.entry('an entry of bob', ({ worker }) => worker === 'bob');
  alice.signal('SIGCONT');
  await alice.line(
    new RegExp(`^ledger refused token ${first.token}: token ${second.token} has written since$`),
  );
  expect(await alice.exit()).toEqual({ code: EXIT.lost, signal: null });
}

/** Alice works and bob waits at the same server. When this server ends, both continue at another server. */
async function losesServer(
  { stage, launcher, other }: ScenarioContext,
  endServer: (first: ServerProcess) => Promise<unknown>,
  worksOnForMs: number,
): Promise<void> {
  const first = await stage.extraServer();
  const servers = [first, ...stage.servers];
  const alice = await stage.worker(launcher, 'alice', servers);
  const { token } = await granted(alice);
  const bob = await stage.worker(other, 'bob', servers);
  await bob.line(/queued: place 1 of 1/, START_MS);

  await endServer(first);
  const { match } = await alice.line(/^attached at (\S+), same token (\d+); [\d.]+ m?s left$/);
  expect(match[1]).toBe(stage.servers[0]?.listen);
  expect(Number(match[2])).toBe(token);
  await bob.line(/^(stream failed \(.*\)|the server asks to leave); still waiting by request_id$/);
  const attachedAt = Date.now();
  const later = await stage.entry('a later entry', ({ time }) => time > attachedAt + worksOnForMs);
  expect(later).toMatchObject({ worker: 'alice', token });
  expect(bob.has(/granted/)).toBe(false);

  alice.signal('SIGINT');
  const second = await granted(bob);
  expect(await alice.exit()).toEqual({ code: EXIT.released, signal: null });
  expect(second.token).toBeGreaterThan(token);
  expect(alice.lines.filter(({ text }) => /granted after/.test(text))).toHaveLength(1);
}

async function serverKilled(context: ScenarioContext): Promise<void> {
  await losesServer(context, (server) => server.kill(), BEYOND_TTL_MS);
}

async function serverDrained(context: ScenarioContext): Promise<void> {
  await losesServer(context, (server) => server.term(), 0);
}

async function streamTooOld({ stage, launcher }: ScenarioContext): Promise<void> {
  const server = await stage.extraServer({ HOLDFAST_STREAM_MAX_AGE: '1s' });
  const carol = await stage.worker(launcher, 'carol', [server]);
  const { token } = await granted(carol);
  await carol.line(/^stream failed \(.*\[REATTACH\]\); attaching by lease_id/);
  const { match } = await carol.line(/^attached at \S+, same token (\d+)/);
  expect(Number(match[1])).toBe(token);
}

async function serverStopped({ stage, launcher }: ScenarioContext): Promise<void> {
  const first = await stage.extraServer();
  const alice = await stage.worker(launcher, 'alice', [first, ...stage.servers]);
  const { token } = await granted(alice);
  first.stop();
  const { match } = await alice.line(/^attached at (\S+), same token (\d+)/);
  expect(match[1]).toBe(stage.servers[0]?.listen);
  expect(Number(match[2])).toBe(token);
  // The first server runs again, and must not end alice's lease.
  first.cont();
  const attachedAt = Date.now();
  await stage.entry('a later entry', ({ time }) => time > attachedAt + BEYOND_TTL_MS);
  alice.signal('SIGINT');
  expect(await alice.exit()).toEqual({ code: EXIT.released, signal: null });
}

async function storeReset({ stage, launcher, other }: ScenarioContext): Promise<void> {
  const alice = await stage.worker(launcher, 'alice');
  const { token } = await granted(alice);
  const bob = await stage.worker(other, 'bob');
  await bob.line(/queued: place 1 of 1/, START_MS);

  const flushedAt = performance.now();
  await stage.redis.command('FLUSHALL');
  await alice.line(/^lease lost: STORE_RESET, stopping$/);
  expect(performance.now() - flushedAt).toBeLessThan(TTL_MS / 3 + SLACK_MS);
  expect(await alice.exit()).toEqual({ code: EXIT.lost, signal: null });
  expect(alice.lines.at(-1)?.text).toBe('lease lost: STORE_RESET, stopping');
  expect(alice.lines.filter(({ text }) => /granted|attached/.test(text))).toHaveLength(1);
  // No client believes in a lease any more, so an operator may end the quarantine of two minutes.
  await endQuarantine((stage.servers[0] as ServerProcess).listen, 'alice has stopped');
  expect((await granted(bob)).token).toBeGreaterThan(token);
}

async function leavesQueue({ stage, launcher, other }: ScenarioContext): Promise<void> {
  const alice = await stage.worker(other, 'alice');
  await granted(alice);
  const bob = await stage.worker(launcher, 'bob');
  await bob.line(/queued: place 1 of 1/, START_MS);
  bob.signal('SIGINT');
  expect(await bob.exit()).toEqual({ code: EXIT.released, signal: null });
  expect(bob.has(/granted/)).toBe(false);
  expect(stage.lastEntry()?.worker).toBe('alice');
}

async function wrongArguments({ stage, launcher }: ScenarioContext): Promise<void> {
  const unreadable = await stage.worker(launcher, 'alice', stage.servers, ['--ttl', 'soon']);
  await unreadable.line(/--ttl.*soon.*expected a duration/, START_MS);
  expect(await unreadable.exit()).toEqual({ code: EXIT.usage, signal: null });
  const tooLong = await stage.worker(launcher, 'alice', stage.servers, ['--ttl', '600m']);
  await tooLong.line(/^alice failed: .*ttl.*\[INVALID_FIELD\]/, START_MS);
  expect(await tooLong.exit()).toEqual({ code: EXIT.failed, signal: null });
}

/** Together these take less than 8 s. */
export const QUICK_SCENARIOS: readonly Scenario[] = [
  {
    title: 'gets the lock in the order of the queue, and immediately after Ctrl-C of the holder',
    run: inOrder,
  },
  { title: 'leaves the queue on Ctrl-C', run: leavesQueue },
  {
    title: 'ends with an error for an unreadable argument, and for an argument that the server refuses',
    run: wrongArguments,
  },
];

export const SLOW_SCENARIOS: readonly Scenario[] = [
  { title: 'gets the lock with a greater token when the ttl of a killed holder has passed', run: afterKill },
  {
    title: 'begins no step after a suspension past its deadline, and the ledger refuses its late write',
    run: stoppedInAStep,
  },
  { title: 'continues with the same token at another server when its server is killed', run: serverKilled },
  { title: 'continues with the same token at another server when its server drains', run: serverDrained },
  {
    title: 'continues with the same token at another server when its server is suspended',
    run: serverStopped,
  },
  {
    title: 'stops when the store has lost its lease, and does not continue with a new token',
    run: storeReset,
  },
];

/** For workers that hold a lock on a stream of its own. */
export const STREAM_SCENARIOS: readonly Scenario[] = [
  { title: 'continues with the same token when its stream reaches the maximum age', run: streamTooOld },
  {
    title:
      'releases its lease after a suspension past its deadline, although the server still renews the lease',
    run: stoppedWithoutNotice,
  },
];

/** For workers that hold a lock in a session. */
export const SESSION_SCENARIOS: readonly Scenario[] = [
  {
    title: 'frees its lease by its suspension, although its connection stays open',
    run: freedWithoutNotice,
  },
];
