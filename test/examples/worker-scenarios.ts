import { endQuarantine } from '../support/clients/server-calls';
import type { ServerProcess } from '../support/processes/server-process';
import { TTL_MS, type Stage } from './stage';
import type { Launcher, WorkerProcess } from './worker-process';

/** What takes part in a scenario. */
interface Cast {
  readonly stage: Stage;
  /** The worker under test. */
  readonly launcher: Launcher;
  /** A second worker, which may be written in another language. */
  readonly other: Launcher;
}

export interface Scenario {
  readonly title: string;
  readonly run: (cast: Cast) => Promise<void>;
}

/** Tolerance for scheduling and printing on a busy machine. */
const SLACK_MS = 1000;
/** Time for a Python worker to start on a busy machine. */
const START_MS = 15_000;
/** A worker that still works after this time had its lease renewed: an unrenewed lease would have expired. */
const BEYOND_TTL_MS = TTL_MS * 1.25;
/** A step that does not end during a test, so the worker writes nothing after "begins". */
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

/** The number of a note such as "step 5"; NaN for other notes. */
function stepOf(note: string): number {
  return Number(/^step (\d+)$/.exec(note)?.[1]);
}

function spanMs(number: string | undefined, unit: string | undefined): number {
  return Number(number) * (unit === 's' ? 1000 : 1);
}

async function inOrder({ stage, launcher, other }: Cast): Promise<void> {
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

async function afterKill({ stage, launcher, other }: Cast): Promise<void> {
  const alice = await stage.worker(launcher, 'alice');
  const first = await granted(alice);
  const bob = await stage.worker(other, 'bob');
  await bob.line(/queued: place 1 of 1/, START_MS);

  const killedAt = performance.now();
  alice.signal('SIGKILL');
  const second = await granted(bob);
  expect(second.token).toBeGreaterThan(first.token);
  expect(second.before).toBe(first.token);
  // The last renewal before the kill was at most a third of the ttl ago, so the lease lasts longer than this.
  expect(second.at - killedAt).toBeGreaterThan(TTL_MS / 3);
  expect(second.at - killedAt).toBeLessThan(TTL_MS + 250 + SLACK_MS);
}

async function stoppedInAStep({ stage, launcher, other }: Cast): Promise<void> {
  // Alice is stopped inside a step. Between a check of the lease and a write she could be stopped as well, and the
  // ledger would then refuse that write before she noticed her deadline. That is correct too, but a different case.
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
  // The deadline before the stop was at most a ttl after the stop. Renewals that waited in the socket must not have
  // moved the deadline. The tolerance of 100 ms is for the rounding in the printed text.
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

async function stoppedWithoutNotice({ stage, launcher, other }: Cast): Promise<void> {
  // With a long keep-alive time the server does not notice a stopped client and keeps renewing its lease.
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

/** Alice works and bob waits at one server. When that server ends, both must continue at another server. */
async function losesServer(
  { stage, launcher, other }: Cast,
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
  await bob.line(/^stream failed \(.*\); still waiting by request_id$/);
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

async function serverKilled(cast: Cast): Promise<void> {
  await losesServer(cast, (server) => server.kill(), BEYOND_TTL_MS);
}

async function serverDrained(cast: Cast): Promise<void> {
  await losesServer(cast, (server) => server.term(), 0);
}

async function streamTooOld({ stage, launcher }: Cast): Promise<void> {
  const server = await stage.extraServer({ HOLDFAST_STREAM_MAX_AGE: '1s' });
  const carol = await stage.worker(launcher, 'carol', [server]);
  const { token } = await granted(carol);
  await carol.line(/^stream failed \(.*\[REATTACH\]\); attaching by lease_id/);
  const { match } = await carol.line(/^attached at \S+, same token (\d+)/);
  expect(Number(match[1])).toBe(token);
}

async function serverStopped({ stage, launcher }: Cast): Promise<void> {
  const first = await stage.extraServer();
  const alice = await stage.worker(launcher, 'alice', [first, ...stage.servers]);
  const { token } = await granted(alice);
  first.stop();
  const { match } = await alice.line(/^attached at (\S+), same token (\d+)/);
  expect(match[1]).toBe(stage.servers[0]?.listen);
  expect(Number(match[2])).toBe(token);
  // The first server continues. It must not end alice's lease.
  first.cont();
  const attachedAt = Date.now();
  await stage.entry('a later entry', ({ time }) => time > attachedAt + BEYOND_TTL_MS);
  alice.signal('SIGINT');
  expect(await alice.exit()).toEqual({ code: EXIT.released, signal: null });
}

async function storeReset({ stage, launcher, other }: Cast): Promise<void> {
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
  // No client believes in a lease any more, so an operator may end the quarantine. It would last two minutes.
  await endQuarantine((stage.servers[0] as ServerProcess).listen, 'alice has stopped');
  expect((await granted(bob)).token).toBeGreaterThan(token);
}

async function leavesQueue({ stage, launcher, other }: Cast): Promise<void> {
  const alice = await stage.worker(other, 'alice');
  await granted(alice);
  const bob = await stage.worker(launcher, 'bob');
  await bob.line(/queued: place 1 of 1/, START_MS);
  bob.signal('SIGINT');
  expect(await bob.exit()).toEqual({ code: EXIT.released, signal: null });
  expect(bob.has(/granted/)).toBe(false);
  expect(stage.lastEntry()?.worker).toBe('alice');
}

async function wrongArguments({ stage, launcher }: Cast): Promise<void> {
  const unreadable = await stage.worker(launcher, 'alice', stage.servers, ['--ttl', 'soon']);
  await unreadable.line(/--ttl.*soon.*expected a duration/, START_MS);
  expect(await unreadable.exit()).toEqual({ code: EXIT.usage, signal: null });
  const tooLong = await stage.worker(launcher, 'alice', stage.servers, ['--ttl', '600m']);
  await tooLong.line(/^alice failed: .*ttl.*\[INVALID_FIELD\]/, START_MS);
  expect(await tooLong.exit()).toEqual({ code: EXIT.failed, signal: null });
}

/** Together these take less than 8 s. */
export const QUICK_SCENARIOS: readonly Scenario[] = [
  { title: 'is granted in the order of the queue, and at once after Ctrl-C of the holder', run: inOrder },
  { title: 'leaves the queue on Ctrl-C', run: leavesQueue },
  {
    title: 'refuses an unreadable argument, and ends when the server refuses an argument',
    run: wrongArguments,
  },
];

export const SLOW_SCENARIOS: readonly Scenario[] = [
  { title: 'is granted with a greater token when the ttl of a killed holder has passed', run: afterKill },
  {
    title: 'stops before its next step when it was stopped past its deadline, and its late write is refused',
    run: stoppedInAStep,
  },
  {
    title: 'releases the lease that the server still renews when it was stopped past its deadline',
    run: stoppedWithoutNotice,
  },
  { title: 'continues with the same token at another server when its server is killed', run: serverKilled },
  { title: 'continues with the same token at another server when its server drains', run: serverDrained },
  { title: 'continues with the same token when its stream reaches the maximum age', run: streamTooOld },
  { title: 'continues with the same token at another server when its server is stopped', run: serverStopped },
  { title: 'stops when the store has lost its lease, and never works under a new token', run: storeReset },
];
