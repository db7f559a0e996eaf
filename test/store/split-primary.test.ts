import { eventually } from '../support/eventually';
import { TestServer } from '../support/leases/lease-server';
import { Requester } from '../support/leases/lease-requester';
import { TcpProxy } from '../support/proxy/tcp-proxy';
import { RedisProcess } from '../support/processes/redis-process';
import { failureOf, is } from '../support/reply-kinds';

/** Below `min-replicas-max-lag`, and long enough for the replica to take over on a busy machine. */
const SHORT_MS = 6000;
const LAG_ARGS = [
  '--min-replicas-to-write',
  '1',
  '--min-replicas-max-lag',
  '10',
  '--repl-diskless-sync-delay',
  '0',
];

/** Two Redis act as master at the same time, and each has a server. */
describe('a master that was cut off, and the replica that took over', () => {
  let before: RedisProcess;
  let after: RedisProcess;
  let link: TcpProxy;
  let stayed: TestServer;
  let moved: TestServer;
  beforeEach(async () => {
    [before, after] = await Promise.all([
      RedisProcess.start({ args: LAG_ARGS }),
      RedisProcess.start({ args: LAG_ARGS }),
    ]);
    link = await TcpProxy.open({ targetPort: before.port, protocol: 'tcp' });
    await after.command('REPLICAOF', '127.0.0.1', link.port);
    await eventually(
      'the replica to be online',
      async () => /slave0:.*state=online/.test(String(await before.command('INFO', 'replication'))),
      { timeoutMs: 15_000 },
    );
    stayed = await connect('stayed', before, true);
  }, 60_000);
  afterEach(async () => {
    stayed?.close();
    moved?.close();
    await link?.close();
    await Promise.all([before?.close(), after?.close()]);
  });

  async function connect(name: string, { url }: RedisProcess, storeIsNew = false): Promise<TestServer> {
    const options = { url, commandTimeoutMs: 1000, retentionMs: 3_600_000, quarantineMs: 60_000, storeIsNew };
    const server = new TestServer(name, options);
    await server.node.ready(10_000);
    return server;
  }

  async function splitNetwork(): Promise<void> {
    await before.command('SET', 'mark', 'everything before this key is replicated');
    await eventually(
      'the replica to have everything',
      async () => (await after.command('GET', 'mark')) !== null,
    );
    link.blackHole('both');
    await after.command('REPLICAOF', 'NO', 'ONE');
    await after.command('CONFIG', 'SET', 'min-replicas-to-write', 0);
    moved = await connect('moved', after);
  }

  const quarantined = { carriedOut: 'no', kind: 'quarantined' };

  it('never have two holders, because the new master renews no lease that may end while the old master still grants', async () => {
    const [short, long, bob] = [
      new Requester(stayed, { service: 'lock', name: 'short' }, { ttlMs: SHORT_MS }),
      new Requester(stayed, { service: 'lock', name: 'long' }, { ttlMs: 60_000 }),
      new Requester(stayed, { service: 'lock', name: 'short' }, { ttlMs: 60_000 }),
    ];
    is('granted', await short.try());
    is('granted', await long.try());
    await splitNetwork();
    expect(moved.node.quarantine?.cause).toBe('restarted');
    const there = (by: Requester) => new Requester(moved, by.resource, { requestId: by.requestId });
    expect(await failureOf(there(short).renew(short.secret, 60_000))).toMatchObject(quarantined);
    is('granted', await there(long).renew(long.secret, 60_000));
    // The old master grants the expired lock to bob while it still counts its replica as connected.
    await eventually(
      'the next grant',
      async () => (await bob.try().catch(() => undefined))?.kind === 'granted',
      { timeoutMs: 3 * SHORT_MS },
    );
    expect(await failureOf(there(bob).try())).toMatchObject(quarantined);
  }, 60_000);
});
