import type { Resource } from '../../src/engine/leases/lease';
import { PermitsFixture } from '../support/permits-fixture';
import type { TestServer } from '../support/permits-server';
import type { Stored } from '../support/permits-stored';
import { brokenInvariants } from '../support/permits-invariants';
import { Requester, type RequesterOptions } from '../support/permits-requester';
import { TcpProxy, type RedisCommand } from '../support/proxy/tcp-proxy';
import { is } from '../support/reply-kinds';

const isScript = ({ name }: RedisCommand) => name === 'EVALSHA' || name === 'EVAL';

interface Scene {
  readonly resource: Resource;
  readonly holder: Requester;
  readonly waiter: Requester;
  readonly second: Requester;
}

/** What is done, and in which scene: a holder, and who waits behind it. */
const operations: readonly [string, (scene: Scene) => Promise<object>][] = [
  ['an acquire that is granted', ({ second }) => second.try()],
  ['an acquire that waits', ({ second }) => second.queue()],
  ['an acquire that is refused', ({ second }) => second.try()],
  ['an acquire that repeats', ({ holder }) => holder.try()],
  ['a claim of an offer', ({ waiter }) => waiter.claim()],
  ['a claim of a place', ({ waiter }) => waiter.claim()],
  ['a withdrawal of a wait', ({ waiter }) => waiter.withdraw()],
  ['a withdrawal of an offer', ({ waiter }) => waiter.withdraw()],
  ['a give-back of a grant', ({ holder }) => holder.giveBack()],
  ['a give-back of an offer', ({ waiter }) => waiter.giveBack()],
  ['a touch', ({ waiter }) => waiter.touch()],
  ['a renewal', ({ holder }) => holder.renew(holder.secret)],
  ['a renewal by a stream', ({ holder }) => holder.keepAlive(holder.secret)],
  ['an attach', ({ holder, second }) => second.takeOver(holder.secret)],
  ['a release', ({ holder }) => holder.release(holder.secret)],
  ['an inspection', ({ holder }) => holder.server.store.inspect(holder.resource)],
];

/** A lost reply must not be noticed by anybody: the command is sent again, and says what it said. */
describe('a reply that is lost with its connection', () => {
  let on: PermitsFixture;
  let proxy: TcpProxy;
  let plain: TestServer;
  let proxied: TestServer;
  beforeAll(async () => {
    on = await PermitsFixture.open();
    proxy = await TcpProxy.open({ targetPort: on.redis.port, protocol: 'redis' });
    plain = await on.server('s1');
    proxied = await on.server('s2', `redis://${proxy.address}`);
    await Promise.all(operations.map(async ([what, operate]) => operate(await setTheScene(what, plain))));
  });
  afterAll(async () => {
    await on.close();
    await proxy.close();
  });

  async function setTheScene(what: string, server: TestServer): Promise<Scene> {
    const resource = on.resource();
    const request = (options?: RequesterOptions) =>
      new Requester(server, resource, { ttlMs: 20_000, ...options });
    const holder = request({ stream: true });
    const waiter = request();
    const attaching = what === 'an attach' ? { requestId: holder.requestId, stream: true } : {};
    const second = request(attaching);
    if (what !== 'an acquire that is granted') {
      is('granted', await holder.queue());
      if (what !== 'an acquire that is refused') is('waiting', await waiter.queue());
    }
    if (what.endsWith('an offer')) await holder.release(holder.secret);
    return { resource, holder, waiter, second };
  }

  /** States and places, without what differs between any two runs. */
  const outline = ({ records, sets, numbers }: Stored) => ({
    used: numbers.used,
    states: Object.values(records)
      .map(({ state }) => state)
      .sort(),
    sizes: Object.values(sets).map((members) => members.length),
  });

  /** `released` and "it was released" are one to the caller. */
  const told = (reply: object & { kind?: string; cause?: string }) =>
    reply.kind === 'finished' && reply.cause === 'released' ? 'released' : (reply.kind ?? 'shown');

  it.each(operations)('%s: the same answer, and carried out once', async (what, operate) => {
    const without = await setTheScene(what, plain);
    const expected = told(await operate(without));
    const scene = await setTheScene(what, proxied);
    const lost = proxy.dropNextReply(isScript);
    const answer = await operate(scene);
    await lost;
    expect(told(answer)).toBe(expected);
    const stored = await on.stored(scene.resource);
    expect(outline(stored)).toEqual(outline(await on.stored(without.resource)));
    expect(brokenInvariants(stored)).toEqual([]);
  });

  it.each(operations)(
    '%s that never reached Redis: the same answer, and carried out once',
    async (what, operate) => {
      const without = await setTheScene(what, plain);
      const expected = told(await operate(without));
      const scene = await setTheScene(what, proxied);
      const lost = proxy.dropNextRequest(isScript);
      expect(told(await operate(scene))).toBe(expected);
      await lost;
      expect(outline(await on.stored(scene.resource))).toEqual(outline(await on.stored(without.resource)));
    },
  );

  it('gives the grant that was made, not another one, counted from the send that was answered', async () => {
    const lock = on.resource();
    const alice = new Requester(proxied, lock, { ttlMs: 20_000 });
    const sends: number[] = [];
    const note = (command: RedisCommand) => void (isScript(command) && sends.push(performance.now()));
    proxy.on('command', note);
    const lost = proxy.dropNextReply(isScript);
    const before = performance.now();
    const lease = is('granted', await alice.try());
    proxy.off('command', note);
    await lost;
    expect(sends).toHaveLength(2);
    expect((await on.stored(lock)).records[alice.requestId]?.fencingToken).toBe(String(lease.fencingToken));
    // Some of the ttl was gone when the second send was answered, and that send is the base of what remains.
    expect(lease.sentAt).toBeGreaterThan(sends[0] as number);
    expect(lease.sentAt).toBeLessThanOrEqual(sends[1] as number);
    expect(lease.sentAt).toBeGreaterThan(before);
    expect(lease.remainingMs).toBeLessThan(20_000);
  });

  it('says when it sent, not when the reply came', async () => {
    const lock = on.resource();
    const alice = new Requester(proxied, lock, { ttlMs: 20_000 });
    proxy.delay('both', 60);
    const before = performance.now();
    const { sentAt } = is('granted', await alice.try());
    const after = performance.now();
    proxy.passEverything();
    expect(sentAt).toBeGreaterThanOrEqual(before);
    expect(sentAt).toBeLessThan(before + 60);
    expect(after - sentAt).toBeGreaterThanOrEqual(119);
  });

  it('of many commands under way at once are all made good (chapter 27)', async () => {
    const requesters = Array.from({ length: 40 }, () => new Requester(proxied, on.resource()));
    proxy.delay('toClient', 20);
    const answers = Promise.all(requesters.map((one) => one.try()));
    await new Promise((resolve) => setTimeout(resolve, 10));
    proxy.cutAll();
    proxy.passEverything();
    for (const answer of await answers) is('granted', answer);
  });
});
