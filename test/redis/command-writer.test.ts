import type { Redis } from 'ioredis';
import { BulkWrites } from '../../src/autocomplete/redis/writes';
import { RedisLeaseStore } from '../../src/leases/redis/redis-lease-store';
import { type CommandLink, type Commands, LOW, type Turn } from '../../src/redis/commands';
import { script } from '../../src/redis/script';
import type { NodeReport } from '../../src/redis/node/report';
import { CommandRunner } from '../../src/redis/runner';
import { CommandDeadlines } from '../../src/redis/deadlines';
import { CommandWriter, ScriptCommand } from '../../src/redis/writer';
import { ManualClock, settled } from '../support/manual-clock';

describe('the command writer', () => {
  /** A connection that notes which commands leave in one write. */
  class FakeConnection {
    corkCount = 0;
    readonly writes: string[][] = [];
    private pending: string[] = [];

    readonly stream = {
      cork: () => (this.corkCount += 1),
      uncork: () => {
        this.corkCount -= 1;
        if (this.corkCount > 0) return;
        this.writes.push(this.pending);
        this.pending = [];
      },
    };

    sendCommand({ name }: { name: string }): Promise<void> {
      this.pending.push(name);
      return Promise.resolve();
    }
  }

  const clock = new ManualClock();
  const deadlines = new CommandDeadlines(clock);
  let connection: FakeConnection;
  let writer: CommandWriter;
  beforeEach(() => {
    connection = new FakeConnection();
    writer = new CommandWriter(() => connection as unknown as Redis, clock, deadlines, { byBucket: false });
  });

  function write(name: string, asking = false) {
    const command = new ScriptCommand(name, name, clock.now() + 1000, () => undefined, false);
    return writer.write(command, asking);
  }

  it('sends the commands of one turn of the event loop in one write', async () => {
    const flushes = [write('first'), write('second')];
    expect(connection.writes).toEqual([]);
    expect(flushes[0]?.at).toBeUndefined();
    await settled();
    expect(connection.writes).toEqual([['first', 'second']]);
    expect(flushes.map(({ at }) => at)).toEqual([clock.now(), clock.now()]);
    expect(connection.corkCount).toBe(0);
  });

  it('sends the earlier commands of a long turn before a command that comes more than 1 ms later', async () => {
    const first = write('first');
    clock.pass(2);
    const second = write('second');
    expect(connection.writes).toEqual([['first']]);
    expect([first.at, second.at]).toEqual([clock.now(), undefined]);
    await settled();
    expect(connection.writes).toEqual([['first'], ['second']]);
    expect(connection.corkCount).toBe(0);
  });

  it('sends ASKING directly before its command, in the same write', async () => {
    write('first');
    write('second', true);
    await settled();
    expect(connection.writes).toEqual([['first', 'asking', 'second']]);
  });

  it('uncorks the old connection when the next command goes to a new connection', async () => {
    const old = connection;
    write('first');
    connection = new FakeConnection();
    write('second');
    await settled();
    expect([old.writes, connection.writes]).toEqual([[['first']], [['second']]]);
    expect([old.corkCount, connection.corkCount]).toEqual([0, 0]);
  });
});

describe('patience', () => {
  /** The time of an operation with patience begins anew when the operation is sent. */

  const TIMEOUT_MS = 2000;
  /** The window sends this number of commands at once. */
  const AT_ONCE = 64;
  const SCRIPT = script('return 1');

  /** A Redis that answers only when the test says so. */
  class SlowRedis {
    readonly clock = new ManualClock();
    readonly inFlight: ScriptCommand[] = [];
    /** `answered` or the kind of the failure, by the number of the operation. */
    readonly outcomes: (string | undefined)[] = [];
    private readonly runner: CommandRunner;

    constructor() {
      const client = {
        stream: { cork: () => undefined, uncork: () => undefined },
        sendCommand: (command: ScriptCommand) => Promise.resolve(this.inFlight.push(command)),
      };
      const link = { client: client as unknown as Redis, isReady: true, answering: {} } as CommandLink;
      this.runner = new CommandRunner(link, {
        commandTimeoutMs: TIMEOUT_MS,
        clock: this.clock,
        isRedirectable: false,
      });
    }

    run(count: number, turn: Turn): void {
      for (let at = 0; at < count; at += 1) {
        const number = this.outcomes.push(undefined) - 1;
        const running = this.runner.send({
          run: SCRIPT,
          keys: ['key'],
          args: [],
          read: () => 'answered',
          turn,
        });
        running
          .catch((error: { kind: string }) => error.kind)
          .then((outcome) => (this.outcomes[number] = outcome))
          .catch(() => undefined);
      }
    }

    /** Answers the oldest command, and lets time pass. */
    async answerEach(ms: number, count: number): Promise<void> {
      for (let at = 0; at < count; at += 1) {
        await this.clock.advance(ms);
        while (this.inFlight[0]?.settled === true) this.inFlight.shift();
        this.inFlight.shift()?.resolve([]);
        await settled();
      }
    }
  }

  /** What becomes of the last of 264 operations. Redis answers one in 100 ms until 2 s, and afterwards one in 20 ms. */
  async function lastOutcome(turn: Turn): Promise<string | undefined> {
    const redis = new SlowRedis();
    redis.run(AT_ONCE + 200, turn);
    await redis.answerEach(100, TIMEOUT_MS / 100);
    await redis.answerEach(20, 240);
    expect(redis.outcomes.slice(0, 19)).toEqual(Array(19).fill('answered'));
    return redis.outcomes.at(-1);
  }

  const RENEWAL = { requestId: '', secret: '', identity: '', ttlMs: undefined, stream: undefined };

  it('answers an operation with patience that was sent after its first deadline', async () => {
    expect(await lastOutcome({ priority: 'high', patientUntil: 10_000 })).toBe('answered');
  });

  it('fails an operation without patience at its first deadline', async () => {
    expect(await lastOutcome({ priority: 'high' })).toBe('unavailable');
  });

  it('passes the patience of withdrawals and renewals on, and gives no patience to a release', () => {
    const turns: Turn[] = [];
    const send: Commands['send'] = ({ turn = LOW }) => {
      turns.push(turn);
      return new Promise<never>(() => undefined);
    };
    const commands = { send } as Commands;
    const options = {
      guard: 'of-node',
      prefix: 'p',
      serverId: 's',
      retentionMs: 1,
      commandTimeoutMs: 1,
    } as const;
    const store = new RedisLeaseStore({ commands, ...options });
    const resource = { service: 'lock', name: 'hello' } as const;
    void store.withdraw(resource, { requestId: '', attach: '', giveBack: false, patientUntil: 7 });
    void store.renewMany([{ resource, requestId: '', secret: '', attach: '', identity: '' }], {
      patientUntil: 8,
    });
    void store.renew(resource, { ...RENEWAL, patientUntil: 9 });
    void store.release(resource, { requestId: '', secret: '', identity: '', afterLoss: undefined });
    expect(turns.map(({ patientUntil }) => patientUntil)).toEqual([7, 8, 9, undefined]);
  });
});

describe('bulk writes', () => {
  const MIB = 2 ** 20;
  const KEY = 'holdfast:{d1}:d:meta:people';

  function setUp(facts: Partial<NodeReport> | undefined) {
    const node = { facts };
    const clock = new ManualClock();
    const commands = { reportOf: (key: string) => (key === KEY ? (node.facts as NodeReport) : undefined) };
    return { node, clock, writes: new BulkWrites(commands, clock) };
  }

  test('admits a write while memory is free and no replica is far behind, and if there is no report', async () => {
    await setUp({ memoryShare: 0.79, replicaLagBytes: 8 * MIB })
      .writes.newCall()
      .admit(KEY);
    await setUp(undefined).writes.newCall().admit(KEY);
  });

  test('refuses a write when Redis uses 80 % of its memory', async () => {
    const { writes } = setUp({ memoryShare: 0.8, replicaLagBytes: 0 });
    await expect(writes.newCall().admit(KEY)).rejects.toMatchObject({ carriedOut: 'no', kind: 'full' });
  });

  test('lets a write wait until the replicas lack at most 8 MiB', async () => {
    const { node, clock, writes } = setUp({ memoryShare: 0, replicaLagBytes: 8 * MIB + 1 });
    let isAdmitted = false;
    const admitted = writes
      .newCall()
      .admit(KEY)
      .then(() => (isAdmitted = true));
    for (let n = 0; n < 20; n += 1) {
      await clock.advance(250);
    }
    expect(isAdmitted).toBe(false);
    node.facts = { memoryShare: 0, replicaLagBytes: 8 * MIB };
    await clock.advance(250);
    await admitted;
  });

  test('refuses a write if its call has waited 30 s for the replicas, with all chunks', async () => {
    const { node, clock, writes } = setUp({ memoryShare: 0, replicaLagBytes: 9 * MIB });
    const wait = async (count: number) => {
      for (let n = 0; n < count; n += 1) await clock.advance(250);
    };
    const call = writes.newCall();
    const first = call.admit(KEY);
    await wait(60);
    node.facts = undefined;
    await wait(1);
    await first;
    node.facts = { memoryShare: 0, replicaLagBytes: 9 * MIB };
    let isRefused = false;
    const refused = expect(call.admit(KEY)).rejects.toMatchObject({ carriedOut: 'no', kind: 'overloaded' });
    const settled = refused.then(() => (isRefused = true));
    await wait(58);
    expect(isRefused).toBe(false);
    await wait(1);
    await settled;
  });
});
