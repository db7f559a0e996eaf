import type { Redis } from 'ioredis';
import { type CommandLink, type Commands, LOW, script, type Turn } from '../../src/redis/commands';
import { CommandRunner } from '../../src/redis/runner';
import { RedisLeaseStore } from '../../src/leases/redis/redis-lease-store';
import type { ScriptCommand } from '../../src/redis/writer';
import { ManualClock, settled } from '../support/manual-clock';

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
