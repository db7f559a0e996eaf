import type { Redis } from 'ioredis';
import { leaseLibrary } from '../../generated/redis/scripts';
import { BatchedOperation, MOST_TOGETHER, type SharedArguments } from '../../src/redis/batch';
import { CommandDeadlines } from '../../src/redis/deadlines';
import type { Entry, OnOutcome } from '../../src/redis/script';
import type { ScriptCommand } from '../../src/redis/writer';
import { CommandWriter } from '../../src/redis/writer';
import { eventually } from '../support/eventually';
import { LeaseFixture } from '../support/leases/lease-fixture';
import type { StoreFailure } from '../../src/base/errors';
import type { Requester } from '../support/leases/lease-requester';
import { ManualClock, settled } from '../support/manual-clock';
import { argumentCounts, functionCalls, operationsOf } from '../support/redis-operations';
import { is } from '../support/reply-kinds';

const MINE: SharedArguments = ['s1', 60_000, 'an epoch', 5000];

/** A connection that keeps the commands for answers of the test. */
class Answering {
  readonly sent: ScriptCommand[] = [];
  readonly clock = new ManualClock();
  stream = { cork: () => undefined, uncork: () => undefined };
  /** The outcome of each operation, by its request id. */
  readonly outcomes: Record<string, unknown> = {};
  sharedCount = 0;
  private readonly writer: CommandWriter;

  constructor(byBucket = false) {
    const deadlines = new CommandDeadlines(this.clock);
    this.writer = new CommandWriter(() => this as unknown as Redis, this.clock, deadlines, {
      byBucket,
      onShared: (count) => (this.sharedCount += count),
    });
  }

  sendCommand(command: ScriptCommand): Promise<void> {
    this.sent.push(command);
    return Promise.resolve();
  }

  operation(name: string, entry: Entry, resource: string, more: Partial<BatchedOperation['options']> = {}) {
    const id = `${name} ${resource}`;
    return new BatchedOperation({
      functionName: entry,
      operation: { name, entry, library: '' },
      keys: [resource, `epoch of ${resource}`],
      shared: MINE,
      args: Array.from({ length: ARGUMENT_COUNTS.get(name) ?? 0 }, () => 'x'),
      deadline: this.clock.now() + 1000,
      isLate: false,
      onOutcome: (error, reply) => (this.outcomes[id] = error?.message ?? reply),
      ...more,
    });
  }

  ask(...args: Parameters<Answering['operation']>): void {
    this.writer.writeTogether(this.operation(...args));
  }

  askAlone(...args: Parameters<Answering['operation']>): void {
    this.writer.writeAlone(this.operation(...args), true);
  }

  /** The entry and the operations of each command. */
  async commands(): Promise<string[][]> {
    await settled();
    return this.sent.map((command) => {
      if (command.name !== 'fcall') return [command.name];
      const words = wordsOf(command);
      const operations = operationsOf({ name: 'FCALL', args: words.slice(1) });
      return [words[1] ?? '', ...operations.map(({ name, key }) => `${name} ${key}`)];
    });
  }
}

const ARGUMENT_COUNTS = argumentCounts(leaseLibrary);

/** The words of a command in Redis's protocol. */
function wordsOf(command: ScriptCommand): string[] {
  return String(command.toWritable())
    .split('\r\n')
    .filter((_, at) => at > 0 && at % 2 === 0);
}

describe('the operations of a turn', () => {
  let redis: Answering;
  beforeEach(() => (redis = new Answering()));

  it('leave in one command for each entry: what keeps leases, what takes memory, what only reads', async () => {
    redis.ask('inspect', 'read', 'a');
    redis.ask('acquire', 'grow', 'b');
    redis.ask('renew', 'keep', 'c');
    redis.ask('acquire', 'grow', 'd');
    redis.ask('release', 'keep', 'e');
    expect(redis.sent).toEqual([]);
    expect(await redis.commands()).toEqual([
      ['keep', 'renew c', 'release e'],
      ['grow', 'acquire b', 'acquire d'],
      ['read', 'inspect a'],
    ]);
  });

  it('happen in the order of asking if they are about one resource', async () => {
    redis.ask('acquire', 'grow', 'a');
    redis.ask('renew', 'keep', 'b');
    redis.ask('withdraw', 'keep', 'a');
    redis.ask('acquire', 'grow', 'a');
    redis.ask('acquire', 'grow', 'c');
    redis.ask('release', 'keep', 'c');
    expect(await redis.commands()).toEqual([
      ['keep', 'renew b'],
      ['grow', 'acquire a'],
      ['keep', 'withdraw a'],
      ['grow', 'acquire a', 'acquire c'],
      ['keep', 'release c'],
    ]);
  });

  it(`are at most ${MOST_TOGETHER} in a command`, async () => {
    for (let at = 0; at < 2 * MOST_TOGETHER + 1; at += 1) redis.ask('renew', 'keep', `name ${at}`);
    const counts = (await redis.commands()).map(([, ...operations]) => operations.length);
    expect(counts).toEqual([MOST_TOGETHER, MOST_TOGETHER, 1]);
    expect(redis.sharedCount).toBe(2 * MOST_TOGETHER);
  });

  it.each<[string, SharedArguments]>([
    ['another epoch', ['s1', 60_000, 'another', 5000]],
    ['no right to grant', ['s1', 60_000, 'an epoch', 0]],
    ['another server', ['s2', 60_000, 'an epoch', 5000]],
    ['another retention', ['s1', 60_001, 'an epoch', 5000]],
  ])('share a command only with their equals: %s', async (_, shared) => {
    redis.ask('renew', 'keep', 'a');
    redis.ask('renew', 'keep', 'b', { shared });
    expect(await redis.commands()).toEqual([
      ['keep', 'renew a'],
      ['keep', 'renew b'],
    ]);
  });

  it('share no command with those that have little time left', async () => {
    redis.ask('renew', 'keep', 'a', { isLate: true });
    redis.ask('renew', 'keep', 'b', { isLate: true });
    redis.ask('renew', 'keep', 'c');
    expect(await redis.commands()).toEqual([
      ['keep', 'renew a', 'renew b'],
      ['keep', 'renew c'],
    ]);
  });

  it('without a guard go with any, and do not make them late', async () => {
    const shared = ['s1', 60_000, '', 0] as const;
    redis.ask('watch', 'keep', 'a', { shared });
    redis.ask('renew', 'keep', 'b');
    redis.ask('inspect', 'read', 'c', { shared });
    redis.ask('watch', 'keep', 'd', { shared });
    expect(await redis.commands()).toEqual([
      ['keep', 'watch a', 'renew b', 'watch d'],
      ['read', 'inspect c'],
    ]);
    expect(wordsOf(redis.sent[0]!)).toEqual(expect.arrayContaining(['an epoch', '5000']));
    expect(wordsOf(redis.sent[0]!)).not.toContain('0');
  });

  it('leave all when one command is full, so that none overtakes another of its resource', async () => {
    redis.ask('renew', 'keep', 'name 0');
    for (let at = 0; at < MOST_TOGETHER; at += 1) redis.ask('acquire', 'grow', `name ${at}`);
    redis.ask('release', 'keep', 'name 0');
    const commands = await redis.commands();
    expect(commands.map(([entry, first]) => [entry, first])).toEqual([
      ['keep', 'renew name 0'],
      ['grow', 'acquire name 0'],
      ['keep', 'release name 0'],
    ]);
  });

  it('of another write are in another command', async () => {
    redis.ask('renew', 'keep', 'a');
    redis.clock.pass(2);
    redis.ask('renew', 'keep', 'b');
    expect(await redis.commands()).toEqual([
      ['keep', 'renew a'],
      ['keep', 'renew b'],
    ]);
  });

  it('are late when the first of them is late, and name each epoch once', async () => {
    redis.ask('renew', 'keep', 'a', { shared: ['s1', 60_000, 'an epoch', 5000], keys: ['a', 'epoch 1'] });
    redis.ask('renew', 'keep', 'b', { shared: ['s1', 60_000, 'an epoch', 4000], keys: ['b', 'epoch 2'] });
    redis.ask('renew', 'keep', 'c', { shared: ['s1', 60_000, 'an epoch', 6000], keys: ['c', 'epoch 1'] });
    await settled();
    const [command] = redis.sent as [ScriptCommand];
    const [, , keyCount, ...words] = wordsOf(command);
    expect(keyCount).toBe('5');
    expect(words.slice(0, 10)).toEqual(
      ['a', 'b', 'c', 'epoch 1', 'epoch 2', 's1', '60000', 'an epoch', '4000', '3'], //
    );
    const places = words.flatMap((word, at) => (word === 'renew' ? [words[at + 1]] : []));
    expect(places).toEqual(['1', '2', '1']);
  });

  it('have a command of their own for each bucket of a Cluster', async () => {
    redis = new Answering(true);
    redis.ask('acquire', 'grow', 'a', { keys: ['a', 'epoch 1'] });
    redis.ask('renew', 'keep', 'b', { keys: ['b', 'epoch 2'] });
    redis.ask('renew', 'keep', 'c', { keys: ['c', 'epoch 1'] });
    redis.ask('renew', 'keep', 'd', { keys: ['d', 'epoch 2'] });
    expect(await redis.commands()).toEqual([
      ['keep', 'renew b', 'renew d'],
      ['keep', 'renew c'],
      ['grow', 'acquire a'],
    ]);
  });

  it('name the key that never exists, without which a moving slot would run them on half of their keys', async () => {
    redis = new Answering(true);
    for (const name of ['a', 'b']) redis.ask('renew', 'keep', name, { keys: [name, 'epoch', 'absent'] });
    redis.askAlone('renew', 'keep', 'c', { keys: ['c', 'epoch', 'absent'] });
    await settled();
    const [together, , alone] = redis.sent.map(wordsOf);
    expect(together?.slice(2, 7)).toEqual(['4', 'a', 'b', 'epoch', 'absent']);
    expect(alone?.slice(2, 6)).toEqual(['3', 'c', 'epoch', 'absent']);
  });

  it('that leave alone follow those that were asked for before, with ASKING directly before them', async () => {
    redis.ask('renew', 'keep', 'a');
    redis.askAlone('renew', 'keep', 'b');
    redis.ask('renew', 'keep', 'c');
    expect(await redis.commands()).toEqual([
      ['keep', 'renew a'],
      ['asking'],
      ['keep', 'renew b'],
      ['keep', 'renew c'],
    ]);
  });

  it('that are asked for while a command fails at once are not lost', async () => {
    const failing = jest.spyOn(redis, 'sendCommand').mockImplementationOnce((command) => {
      command.reject(new Error("Stream isn't writeable"));
      return Promise.resolve();
    });
    const again = () => redis.ask('renew', 'keep', 'again');
    for (let at = 0; at < MOST_TOGETHER; at += 1)
      redis.ask('renew', 'keep', `name ${at}`, { onOutcome: again });
    expect(failing).toHaveBeenCalledTimes(2);
    const [[, ...operations] = []] = await redis.commands();
    expect(operations).toEqual(Array(MOST_TOGETHER).fill('renew again'));
  });

  it('have each an outcome when the outcome of one is a defect', async () => {
    const onOutcome = () => {
      throw new Error('a defect');
    };
    redis.ask('renew', 'keep', 'a', { onOutcome });
    redis.ask('renew', 'keep', 'b');
    await settled();
    expect(() => redis.sent[0]?.resolve([['one'], ['two']])).toThrow('a defect');
    expect(redis.outcomes).toEqual({ 'renew b': ['two'] });
  });

  it('have each its own reply and its own error', async () => {
    for (const name of ['a', 'b', 'c']) redis.ask('renew', 'keep', name);
    await settled();
    redis.sent[0]?.resolve([['one'], new Error('ERR two'), 'LATER']);
    expect(redis.outcomes).toEqual({ 'renew a': ['one'], 'renew b': 'ERR two', 'renew c': 'LATER' });
  });

  it('fail together when their command fails', async () => {
    redis.ask('renew', 'keep', 'a');
    redis.ask('renew', 'keep', 'b');
    await settled();
    redis.sent[0]?.reject(new Error('Connection is closed.'));
    expect(redis.outcomes).toEqual({
      'renew a': 'Connection is closed.',
      'renew b': 'Connection is closed.',
    });
  });

  it('fail each at its own deadline, and a later reply counts for those that wait', async () => {
    redis.ask('renew', 'keep', 'a');
    redis.ask('renew', 'keep', 'b', { deadline: 3000 });
    await redis.clock.advance(1500);
    await settled();
    expect(redis.outcomes).toEqual({ 'renew a': 'Command timed out' });
    redis.sent[0]?.resolve([['one'], ['two']]);
    expect(redis.outcomes).toEqual({ 'renew a': 'Command timed out', 'renew b': ['two'] });
  });

  it('are not sent over another connection than the one for which they were asked', async () => {
    redis.ask('renew', 'keep', 'a');
    redis.stream = { ...redis.stream };
    expect(await redis.commands()).toEqual([]);
    expect(redis.outcomes).toEqual({
      'renew a': expect.stringContaining("Stream isn't writeable") as unknown,
    });
  });
});

describe('in Redis', () => {
  let fixture: LeaseFixture;
  beforeAll(async () => {
    fixture = await LeaseFixture.open();
  });
  afterAll(() => fixture?.close());

  const calls = async (): Promise<number> =>
    functionCalls(String(await fixture.redis.command('INFO', 'commandstats')));

  it('operations of one turn share commands, and each caller gets its own answer', async () => {
    const taken = fixture.resource();
    const [first, second] = await fixture.requests(2, 's1', taken);
    const others = await Promise.all(
      Array.from({ length: 20 }, () => fixture.request('s1', fixture.resource())),
    );
    const before = await calls();
    const answers = await Promise.all([first!, second!, ...others].map((one) => one.try()));
    expect(answers.map(({ kind }) => kind)).toEqual(['granted', 'refused', ...others.map(() => 'granted')]);
    const renewed = await Promise.all([first!, ...others].map((one) => one.renew(one.secret)));
    expect(new Set(renewed.map(({ kind }) => kind))).toEqual(new Set(['granted']));
    // A turn of more than 1 ms sends several commands.
    expect(await calls()).toBeLessThan(before + 43 / 2);
  });

  it('memory that is full fails what would take memory, and nothing else of the turn', async () => {
    const holders = await Promise.all(
      Array.from({ length: 3 }, () => fixture.request('s1', fixture.resource())),
    );
    for (const one of holders) is('granted', await one.try());
    const others = await Promise.all(
      Array.from({ length: 3 }, () => fixture.request('s1', fixture.resource())),
    );
    await fixture.redis.command('CONFIG', 'SET', 'maxmemory', '1mb');
    try {
      const answers = await Promise.allSettled([
        ...others.map((one) => one.try()),
        ...holders.map((one) => one.renew(one.secret)),
        ...holders.map((one) => one.release(one.secret)),
      ]);
      const shown = answers.map((one) =>
        one.status === 'fulfilled' ? one.value.kind : (one.reason as StoreFailure).kind,
      );
      expect(shown).toEqual([
        ...others.map(() => 'full'),
        ...holders.map(() => 'granted'),
        ...holders.map(() => 'released'),
      ]);
    } finally {
      await fixture.redis.command('CONFIG', 'SET', 'maxmemory', '0');
    }
  });

  it('a foreign epoch concerns the operations of its bucket alone', async () => {
    const requests = await Promise.all(
      Array.from({ length: 4 }, () => fixture.request('s1', fixture.resource())),
    );
    const [foreign] = requests as [Requester];
    await fixture.redis.command('DEL', fixture.epochKey(foreign.resource));
    const answers = await Promise.allSettled(requests.map((one) => one.try()));
    // The server adopts the bucket again. Grants pause, because leases may have been lost.
    expect(answers[0]).toMatchObject({
      status: 'rejected',
      reason: { kind: 'quarantined', carriedOut: 'no' },
    });
    for (const one of answers.slice(1))
      expect(one).toMatchObject({ status: 'fulfilled', value: { kind: 'granted' } });
  });

  it('a lost library is answered by scripts, for each operation of a turn', async () => {
    const requests = await Promise.all(
      Array.from({ length: MOST_TOGETHER }, () => fixture.request('s1', fixture.resource())),
    );
    await fixture.redis.command('FUNCTION', 'FLUSH');
    const answers = await Promise.all(requests.map((one) => one.try()));
    expect(new Set(answers.map(({ kind }) => kind))).toEqual(new Set(['granted']));
    await eventually('the library', async () => (await fixture.server('s1')).node.hasLibrary);
  });

  it('an operation that fails fails alone', async () => {
    const [good, bad] = [fixture.resource(), fixture.resource()];
    await fixture.redis.command('SET', fixture.key(bad, 'state'), 'not a hash');
    const requests = [await fixture.request('s1', bad), await fixture.request('s1', good)];
    const [failed, granted] = await Promise.allSettled(requests.map((one) => one.try()));
    expect(failed).toMatchObject({ status: 'rejected' });
    expect(granted).toMatchObject({ status: 'fulfilled', value: { kind: 'granted' } });
  });

  /** A request for a semaphore whose leases have all expired. */
  async function expiredHolders(count: number): Promise<Requester> {
    const semaphore = fixture.resource('semaphore');
    await fixture.setLimit(semaphore, count);
    const holders = await fixture.requests(count, 's1', semaphore, { ttlMs: 1000 });
    for (const one of holders) is('granted', await one.try());
    await fixture.pass(semaphore, 2000);
    return fixture.request('s1', semaphore);
  }

  it('an operation behind much work is told LATER, and is done by another command', async () => {
    const later: string[] = [];
    const { writeTogether } = CommandWriter.prototype;
    const spy = jest.spyOn(CommandWriter.prototype, 'writeTogether').mockImplementation(function (
      this: CommandWriter,
      { options },
    ) {
      const onOutcome: OnOutcome = (error, reply) => {
        if ((reply as unknown) === 'LATER') later.push(options.operation.name);
        options.onOutcome(error, reply);
      };
      return writeTogether.call(this, new BatchedOperation({ ...options, onOutcome }));
    });
    try {
      await eventually('a turn with all operations in one command', async () => {
        later.length = 0; // a turn that failed proves nothing
        const crowded = await Promise.all(Array.from({ length: 4 }, () => expiredHolders(70)));
        const others = await fixture.requests(3, 's1', fixture.resource());
        const answers = await Promise.all([...crowded, ...others].map((one) => one.try()));
        expect(answers.map(({ kind }) => kind)).toEqual([
          ...crowded.map(() => 'granted'),
          ...['granted', 'refused', 'refused'],
        ]);
        return later.length > 0;
      });
    } finally {
      spy.mockRestore();
    }
    expect(new Set(later)).toEqual(new Set(['acquire']));
  });
});
