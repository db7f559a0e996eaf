import { sayNotChecked } from '../support/not-checked';
import { endQuarantine } from '../support/clients/server-calls';
import type { ServerProcess } from '../support/processes/server-process';
import { Stage, TTL_MS } from './stage';
import type { Launcher, WorkerProcess } from './worker-process';

/** What scheduling and printing may take on a busy machine, beyond what is promised. */
const SLACK_MS = 1000;
/** Long enough for a Python worker to come up on a busy machine. */
const START_MS = 15_000;
/** A worker that goes on for so long has been renewed: without any server it would have had to stop. */
const BEYOND_TTL_MS = TTL_MS * 1.25;
/** As the README of the examples has it. */
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

/** 5 of "step 5"; other notes have none. */
function stepOf(note: string): number {
  return Number(/^step (\d+)$/.exec(note)?.[1]);
}

function spanMs(number: string | undefined, unit: string | undefined): number {
  return Number(number) * (unit === 's' ? 1000 : 1);
}

/**
 * What the example workers promise, seen from outside as somebody at a terminal would.
 *
 * @param findWorker the worker under test, or in words why it cannot be run here
 * @param other works and waits beside it; another language shows that the two can take turns
 */
export function workerSuite(
  what: string,
  findWorker: () => Promise<Launcher | string>,
  other: Launcher,
): void {
  let stage: Stage | undefined;
  let launcher: Launcher | undefined;

  beforeAll(async () => {
    const found = await findWorker();
    if (typeof found === 'string') return sayNotChecked(what, found);
    launcher = found;
    stage = await Stage.open();
  }, 240_000);

  afterAll(() => stage?.close());
  beforeEach(() => stage?.reset());
  afterEach(() => stage?.clear());

  const check = (name: string, body: (stage: Stage, launcher: Launcher) => Promise<void>): void =>
    test(name, async () => {
      if (stage && launcher) await body(stage, launcher);
    });

  check('is granted in the order of asking, and at once when the holder is ended by Ctrl-C', inOrder);
  check('is granted when the ttl of a killed holder is over, under a greater token', afterKill);
  check('stopped past its deadline it stops before its next step, and its late write is refused', suspended);
  check('stopped past its deadline gives back what the server still keeps for it', suspendedUnnoticed);
  check('goes on under the same token at another server when its own is killed', serverKilled);
  check('goes on under the same token when its server drains, and when its stream is too old', serverDrained);
  check('goes on under the same token at another server when its own says nothing any more', serverStuck);
  check('stops when the store has forgotten its lease, and never goes on under a new token', flushed);
  check('gives its place in the queue up on Ctrl-C', gaveUp);
  check('says what is wrong with its arguments, and ends when the server refuses them', refused);

  async function inOrder(stage: Stage, launcher: Launcher): Promise<void> {
    const alice = await stage.worker(launcher, 'alice');
    const first = await granted(alice);
    expect(first.before).toBeUndefined();
    const bob = await stage.worker(other, 'bob');
    await bob.line(/^queued: place 1 of 1, behind alice$/, START_MS);
    const carol = await stage.worker(launcher, 'carol');
    await carol.line(/^queued: place 2 of 2, behind alice$/, START_MS);
    await stage.entry('some steps of alice', ({ note }) => stepOf(note) >= 5);

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

  async function afterKill(stage: Stage, launcher: Launcher): Promise<void> {
    const alice = await stage.worker(launcher, 'alice');
    const first = await granted(alice);
    const bob = await stage.worker(other, 'bob');
    await bob.line(/queued: place 1 of 1/, START_MS);

    const killedAt = performance.now();
    alice.signal('SIGKILL');
    const second = await granted(bob);
    expect(second.token).toBeGreaterThan(first.token);
    expect(second.before).toBe(first.token);
    // Not before the lease's end: it was renewed a third of the ttl ago at most.
    expect(second.at - killedAt).toBeGreaterThan(TTL_MS / 3);
    expect(second.at - killedAt).toBeLessThan(TTL_MS + 250 + SLACK_MS);
  }

  async function suspended(stage: Stage, launcher: Launcher): Promise<void> {
    const alice = await stage.worker(launcher, 'alice');
    const first = await granted(alice);
    const bob = await stage.worker(other, 'bob');
    await bob.line(/queued: place 1 of 1/, START_MS);

    const stoppedAt = performance.now();
    alice.signal('SIGSTOP');
    const second = await granted(bob);
    await stage.entry('of bob', ({ worker }) => worker === 'bob');
    const linesBefore = alice.lines.length;
    const continuedAt = performance.now();
    alice.signal('SIGCONT');

    const { match } = await alice.line(/^deadline passed ([\d.]+) (m?s) ago, stopping$/);
    // Its last deadline before the stop was no later than a ttl after it, and what lay in the socket when it went
    // on, renewals among it, has not moved that. (The text has one digit after the point.)
    const passedMs = spanMs(match[1], match[2]);
    expect(passedMs).toBeGreaterThan(continuedAt - stoppedAt - TTL_MS - 100);
    expect(passedMs).toBeLessThan(continuedAt - stoppedAt + SLACK_MS);
    await alice.line(
      new RegExp(`^ledger refused token ${first.token}: token ${second.token} has written since$`),
    );
    expect(await alice.exit()).toEqual({ code: EXIT.lost, signal: null });
    expect(alice.lines[linesBefore]?.text).toMatch(/^deadline passed/);
    const entry = await stage.entry('more of bob', ({ time }) => time > Date.now() - 500);
    expect(entry).toMatchObject({ worker: 'bob', token: second.token });
  }

  async function suspendedUnnoticed(stage: Stage, launcher: Launcher): Promise<void> {
    // A server that is slow to notice goes on renewing for a client that has stopped.
    const slow = await stage.extraServer({ HOLDFAST_KEEPALIVE_TIME: '1m' });
    const alice = await stage.worker(launcher, 'alice', [slow]);
    const { token } = await granted(alice);
    const bob = await stage.worker(other, 'bob');
    await bob.line(/queued: place 1 of 1/, START_MS);
    alice.signal('SIGSTOP');
    await stage.entry('older than the ttl', ({ time }) => Date.now() > time + BEYOND_TTL_MS);
    expect(bob.has(/granted/)).toBe(false);

    alice.signal('SIGCONT');
    await alice.line(/^deadline passed [\d.]+ (m?s) ago, stopping$/);
    await alice.line(new RegExp(`^ledger took the late write of token ${token}:`));
    expect(await alice.exit()).toEqual({ code: EXIT.lost, signal: null });
    expect(alice.lines.at(-1)?.text).toBe('released');
    expect((await granted(bob)).token).toBeGreaterThan(token);
  }

  /** Alice works and bob waits at a first server which then goes; both must go on at a second one. */
  async function serverGoes(
    stage: Stage,
    launcher: Launcher,
    go: (first: ServerProcess) => Promise<unknown>,
    goesOnMs: number,
  ): Promise<void> {
    const first = await stage.extraServer();
    const servers = [first, ...stage.servers];
    const alice = await stage.worker(launcher, 'alice', servers);
    const { token } = await granted(alice);
    const bob = await stage.worker(other, 'bob', servers);
    await bob.line(/queued: place 1 of 1/, START_MS);

    await go(first);
    const { match } = await alice.line(/^attached at (\S+), same token (\d+); [\d.]+ m?s left$/);
    expect(match[1]).toBe(stage.servers[0]?.listen);
    expect(Number(match[2])).toBe(token);
    await bob.line(/^stream failed \(.*\); waiting on by request_id$/);
    const attachedAt = Date.now();
    const later = await stage.entry('of alice, later', ({ time }) => time > attachedAt + goesOnMs);
    expect(later).toMatchObject({ worker: 'alice', token });
    expect(bob.has(/granted/)).toBe(false);

    alice.signal('SIGINT');
    const second = await granted(bob);
    expect(await alice.exit()).toEqual({ code: EXIT.released, signal: null });
    expect(second.token).toBeGreaterThan(token);
    expect(alice.lines.filter(({ text }) => /granted after/.test(text))).toHaveLength(1);
  }

  async function serverKilled(stage: Stage, launcher: Launcher): Promise<void> {
    await serverGoes(stage, launcher, (server) => server.kill(), BEYOND_TTL_MS);
  }

  async function serverDrained(stage: Stage, launcher: Launcher): Promise<void> {
    await serverGoes(stage, launcher, (server) => server.term(), 0);
    // On a server where streams live for a second, attaching again is an everyday thing.
    stage.reset();
    const hasty = await stage.extraServer({ HOLDFAST_STREAM_MAX_AGE: '1s' });
    const carol = await stage.worker(launcher, 'carol', [hasty]);
    const { token } = await granted(carol);
    await carol.line(/^stream failed \(.*\[REATTACH\]\); attaching by lease_id/);
    const { match } = await carol.line(/^attached at \S+, same token (\d+)/);
    expect(Number(match[1])).toBe(token);
  }

  async function serverStuck(stage: Stage, launcher: Launcher): Promise<void> {
    const first = await stage.extraServer();
    const alice = await stage.worker(launcher, 'alice', [first, ...stage.servers]);
    const { token } = await granted(alice);
    first.stop();
    const { match } = await alice.line(/^attached at (\S+), same token (\d+)/);
    expect(match[1]).toBe(stage.servers[0]?.listen);
    expect(Number(match[2])).toBe(token);
    // What the first one does when it goes on takes nothing back.
    first.cont();
    const attachedAt = Date.now();
    await stage.entry('of alice, later', ({ time }) => time > attachedAt + BEYOND_TTL_MS);
    alice.signal('SIGINT');
    expect(await alice.exit()).toEqual({ code: EXIT.released, signal: null });
  }

  async function flushed(stage: Stage, launcher: Launcher): Promise<void> {
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
    // Nobody believes in a lease any more, so an operator may say so; by itself it would take two minutes.
    await endQuarantine((stage.servers[0] as ServerProcess).listen, 'alice has stopped');
    expect((await granted(bob)).token).toBeGreaterThan(token);
  }

  async function gaveUp(stage: Stage, launcher: Launcher): Promise<void> {
    const alice = await stage.worker(other, 'alice');
    await granted(alice);
    const bob = await stage.worker(launcher, 'bob');
    await bob.line(/queued: place 1 of 1/, START_MS);
    bob.signal('SIGINT');
    expect(await bob.exit()).toEqual({ code: EXIT.released, signal: null });
    expect(bob.has(/granted/)).toBe(false);
    expect(stage.lastEntry()?.worker).toBe('alice');
  }

  async function refused(stage: Stage, launcher: Launcher): Promise<void> {
    const vague = await stage.worker(launcher, 'alice', stage.servers, ['--ttl', 'soon']);
    await vague.line(/--ttl.*soon.*a span is wanted/, START_MS);
    expect(await vague.exit()).toEqual({ code: EXIT.usage, signal: null });
    const long = await stage.worker(launcher, 'alice', stage.servers, ['--ttl', '600m']);
    await long.line(/^alice failed: .*ttl.*\[INVALID_FIELD\]/, START_MS);
    expect(await long.exit()).toEqual({ code: EXIT.failed, signal: null });
  }
}
