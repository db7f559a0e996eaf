import { systemClock } from '../../src/base/clock';
import type { AnsweringNode } from '../../src/redis/node/confirmations';
import { RedisConnection } from '../../src/redis/connection';
import type { Store } from '../../src/server/open-store';
import { eventually } from '../support/eventually';
import { MasterAndReplica } from '../support/test-store';
import { RedisProcess, serverUrl } from '../support/processes/redis-process';
import type { RedisCommand } from '../support/proxy/tcp-proxy';
import { failureOf, is } from '../support/reply-kinds';

const UNCONFIRMED = { carriedOut: 'unknown', kind: 'unconfirmed' };
/** Longer than the time limit of a test: a call that should end earlier makes its test fail. */
const LONG_TIMEOUT_MS = 600_000;
const WAIT = { timeoutMs: 60_000 };

const isWait = ({ name }: RedisCommand) => name === 'WAIT';
const isMark = ({ name, args }: RedisCommand) => name === 'EVAL' && String(args.at(-2)).endsWith(':mark');

function setLimit({ permits }: Store, name: string, limit: number) {
  return permits.setLimit({ service: 'semaphore', name }, { limit, expectedLimit: undefined });
}

describe('the confirmation of a change by a replica', () => {
  let pair: MasterAndReplica;
  let store: Store;
  const connections: RedisConnection[] = [];
  const others: RedisProcess[] = [];
  beforeEach(async () => {
    pair = await MasterAndReplica.start();
    store = await pair.connect({ commandTimeoutMs: LONG_TIMEOUT_MS });
  });
  afterEach(async () => {
    for (const connection of connections.splice(0)) connection.close();
    await pair.close();
    await Promise.all(others.splice(0).map((redis) => redis.close()));
  });

  /** The Redis that answers a command now, as the server knows it. */
  async function answering(commandTimeoutMs = LONG_TIMEOUT_MS): Promise<AnsweringNode> {
    const connection = new RedisConnection({
      endpoint: serverUrl(pair.front.address),
      commandTimeoutMs,
      clock: systemClock,
      onError: () => undefined,
    });
    connections.push(connection);
    await connection.ready(60_000);
    const keys = ['test:{1}:change'];
    const read = (_: unknown, _sentAt: number, by: AnsweringNode) => by;
    return connection.commands.send({ run: 'SET', keys, args: ['made'], read, isRaw: true });
  }

  const confirmed = (by: AnsweringNode) => by.confirm('test:{1}:change', systemClock.now());

  /** Lets a new replica follow a Redis. */
  async function addReplica(of: RedisProcess): Promise<void> {
    const replica = await RedisProcess.start({ appendfsync: 'no' });
    others.push(replica);
    await replica.command('REPLICAOF', '127.0.0.1', of.port);
    await eventually(
      'the new replica to be in sync',
      async () => {
        await of.command('PING');
        return Number(await of.command('WAIT', 1, 1000)) === 1;
      },
      WAIT,
    );
  }

  it.each([
    ['the reply of the mark', 'dropNextReply', isMark],
    ['the mark', 'dropNextRequest', isMark],
    ['the reply of WAIT', 'dropNextReply', isWait],
    ['WAIT', 'dropNextRequest', isWait],
  ] as const)('succeeds although the connection is lost with %s', async (_, drop, matches) => {
    const lost = pair.front[drop](matches);
    is('set', await setLimit(store, 'gpu', 2));
    await lost;
  });

  it('succeeds although the connection is lost while WAIT waits', async () => {
    await pair.freezeLink();
    const setting = setLimit(store, 'gpu', 2);
    await eventually('a WAIT', () => pair.front.commandCount('WAIT') === 1, WAIT);
    await pair.master.command('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
    await eventually('another WAIT', () => pair.front.commandCount('WAIT') === 2, WAIT);
    pair.thawLink();
    is('set', await setting);
  });

  it('goes on if WAIT ends before enough replicas have the change', async () => {
    await pair.freezeLink();
    const setting = setLimit(store, 'gpu', 2);
    await eventually('a WAIT', () => pair.front.commandCount('WAIT') === 1, WAIT);
    await eventually(
      'the end of the WAIT',
      async () => {
        const clients = String(await pair.master.command('CLIENT', 'LIST'));
        const [, id = ''] = /^id=(\d+) .* cmd=wait /m.exec(clients) ?? [];
        return id !== '' && (await pair.master.command('CLIENT', 'UNBLOCK', id)) === '1';
      },
      WAIT,
    );
    await eventually('another WAIT', () => pair.front.commandCount('WAIT') === 2, WAIT);
    pair.thawLink();
    is('set', await setting);
  });

  it('serves many changes with a few commands', async () => {
    await pair.freezeLink();
    const names = Array.from({ length: 100 }, (_, i) => `gpu ${i}`);
    const settings = Promise.all(names.map((name) => setLimit(store, name, 2)));
    await eventually(
      'all limits to be set',
      async () => {
        const limits = await Promise.all(
          names.map((name) => store.permits.inspect({ service: 'semaphore', name })),
        );
        return limits.every(({ limit }) => limit === 2);
      },
      WAIT,
    );
    pair.thawLink();
    for (const reply of await settings) is('set', reply);
    expect(pair.front.commandCount('WAIT')).toBeLessThan(6);
  });

  it('does not succeed at another master, which may lack the change', async () => {
    await pair.freezeLink();
    const setting = failureOf(setLimit(store, 'gpu', 2));
    await eventually('a WAIT', () => pair.front.commandCount('WAIT') === 1, WAIT);
    await pair.failOver();
    await addReplica(pair.replica);
    expect(await setting).toMatchObject(UNCONFIRMED);
  });

  it('does not succeed at a master that was a replica in between, and has lost the change', async () => {
    await pair.freezeLink();
    const by = await answering();
    await pair.failOver();
    await pair.master.command('REPLICAOF', '127.0.0.1', pair.replica.port);
    await eventually(
      'the old master to have the data of the new master',
      async () => (await pair.master.command('EXISTS', 'test:{1}:change')) === '0',
      WAIT,
    );
    await pair.master.command('REPLICAOF', 'NO', 'ONE');
    await pair.master.command('CONFIG', 'SET', 'min-replicas-to-write', 0);
    await addReplica(pair.master);
    pair.front.leadTo(pair.master.port);
    pair.front.cutAll();
    expect(await failureOf(confirmed(by))).toMatchObject(UNCONFIRMED);
  });

  it('fails if the master becomes a replica while WAIT waits', async () => {
    await pair.freezeLink();
    const setting = failureOf(setLimit(store, 'gpu', 2));
    await eventually('a WAIT', () => pair.front.commandCount('WAIT') === 1, WAIT);
    await pair.replica.command('REPLICAOF', 'NO', 'ONE');
    await pair.master.command('REPLICAOF', '127.0.0.1', pair.replica.port);
    expect(await setting).toMatchObject(UNCONFIRMED);
  });

  it('fails at the command timeout if Redis does not answer', async () => {
    const by = await answering(500);
    await eventually('the first confirmation', () => confirmed(by).then(() => true), WAIT);
    await pair.master.stop();
    try {
      expect(await failureOf(confirmed(by))).toMatchObject(UNCONFIRMED);
    } finally {
      await pair.master.cont();
    }
    // The connection that was given up is replaced.
    await eventually('another confirmation', () => confirmed(by).then(() => true), WAIT);
  });

  it('fails when the store is closed', async () => {
    await pair.freezeLink();
    const setting = failureOf(setLimit(store, 'gpu', 2));
    await eventually('a WAIT', () => pair.front.commandCount('WAIT') === 1, WAIT);
    store.close();
    expect(await setting).toMatchObject(UNCONFIRMED);
  });
});
