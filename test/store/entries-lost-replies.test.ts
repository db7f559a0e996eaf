import { StoreFailure } from '../../src/base/errors';
import type { RedisConnection } from '../../src/redis/connection';
import { connect, EntriesFixture, PROFILE, stored, storeOf } from '../support/autocomplete/entries-fixture';
import { eventually } from '../support/eventually';
import { TcpProxy, type RedisCommand } from '../support/proxy/tcp-proxy';
import { failureOf } from '../support/reply-kinds';
import { serverUrl } from '../support/processes/redis-process';

const COMMAND_TIMEOUT_MS = 600;
/** Longer than a deletion and a creation on a busy machine. */
const PATIENT_TIMEOUT_MS = 20_000;
const isScript = ({ name }: RedisCommand) => name === 'EVALSHA' || name === 'EVAL';

describe('a write of entries over a bad connection', () => {
  let fixture: EntriesFixture;
  let proxy: TcpProxy;
  let connection: RedisConnection;
  beforeEach(async () => {
    fixture = await EntriesFixture.open();
    proxy = await TcpProxy.open({ targetPort: fixture.redis.port, protocol: 'redis' });
    connection = await connect(serverUrl(proxy.address), COMMAND_TIMEOUT_MS);
  });
  afterEach(async () => {
    connection.close();
    await proxy.close();
    await fixture.close();
  });

  it('is done once, and gets its answer, if the reply is lost with the connection', async () => {
    const name = await fixture.dictionary([stored('a')]);
    const store = storeOf(connection.commands);
    for (const [round, lose] of [proxy.dropNextReply, proxy.dropNextRequest].entries()) {
      const lost = lose.call(proxy, isScript);
      expect(await store.select(name, 'a', 1)).toEqual({ kind: 'ok', count: round + 1 });
      await lost;
    }
    const lost = proxy.dropNextReply(isScript);
    expect(await store.delete(name, ['a'])).toEqual({ kind: 'ok', deleted: 1 });
    await lost;
    expect((await fixture.head(name)).version).toBe(5);
  });

  it('has an unknown outcome, and is not done again, if the dictionary was deleted and created meanwhile', async () => {
    const name = await fixture.dictionary([stored('a')]);
    const patient = await connect(serverUrl(proxy.address), PATIENT_TIMEOUT_MS);
    try {
      const lost = proxy.dropNextReply(isScript);
      proxy.refuseNew();
      const failure = failureOf(storeOf(patient.commands).select(name, 'a', 1));
      await lost;
      expect(await fixture.store.drop(name)).toBe(true);
      await fixture.store.create(name, PROFILE);
      await fixture.store.put(name, [stored('a')]);
      proxy.passEverything();
      expect(await failure).toMatchObject({ carriedOut: 'unknown' });
      expect(await fixture.content(name)).toEqual({ a: ['record of a', 0] });
    } finally {
      patient.close();
    }
  });

  it('is never done after its time, even if the command arrives later', async () => {
    const name = await fixture.dictionary([stored('a')]);
    const before = await fixture.head(name);
    const store = storeOf(connection.commands);
    proxy.blackHole('toTarget');
    const failure: unknown = await store.select(name, 'a', 1).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(StoreFailure);
    expect(failure).toMatchObject({ carriedOut: 'unknown' });
    proxy.passEverything();
    await eventually('the late command to run', async () => {
      const stats = String(await fixture.redis.command('INFO', 'commandstats'));
      // Creation, put, and the late selection.
      const calls = [...stats.matchAll(/cmdstat_eval(?:sha)?:calls=(\d+)/g)];
      return calls.reduce((sum, [, count]) => sum + Number(count), 0) >= 3;
    });
    expect(await fixture.head(name)).toEqual(before);
    expect(await fixture.content(name)).toEqual({ a: ['record of a', 0] });
  });
});
