import { LeaseFixture } from '../support/leases/lease-fixture';
import type { RequesterOptions } from '../support/leases/lease-requester';
import { is } from '../support/reply-kinds';

/** A script that makes room grants directly to a waiter of its own server (docs/design/leases.md, rule 5). */
describe('a direct grant', () => {
  let fixture: LeaseFixture;
  beforeAll(async () => {
    fixture = await LeaseFixture.open({ frozenClock: true });
  });
  afterAll(() => fixture.close());

  /** A lease that its holder has handed over by a release, to a waiter of the same server. */
  async function handedOver(options: RequesterOptions = {}) {
    const lock = fixture.resource();
    const holder = await fixture.request('s1', lock);
    is('granted', await holder.queue());
    const waiter = await fixture.request('s1', lock, options);
    const { ticket } = is('waiting', await waiter.queue());
    const server = await fixture.server('s1');
    server.grants = [];
    is('released', await holder.release(holder.secret));
    const [direct] = server.grants;
    if (!direct) throw new Error('the reply has no direct grant');
    return { lock, waiter, ticket, ...direct, token: direct.grant.fencingToken };
  }

  it('is in the reply to the release, and the lease begins with the release', async () => {
    const { lock, waiter, call, grant } = await handedOver({ ttlMs: 5000 });
    expect(call).toEqual({ requestId: waiter.requestId, attach: waiter.attach });
    expect(grant).toMatchObject({ kind: 'granted', remainingMs: 5000, ttlMs: 5000, secret: waiter.secret });
    expect(await fixture.idsIn(lock, 'ends')).toEqual([waiter.requestId]);
    expect(is('granted', await waiter.keepAlive(waiter.secret)).fencingToken).toBe(grant.fencingToken);
  });

  it('is found by a touch and a claim if the reply is lost', async () => {
    const { waiter, token } = await handedOver();
    expect((await waiter.touch()).waiters).toEqual(['recheck']);
    expect(is('granted', await waiter.claim()).fencingToken).toBe(token);
  });

  it.each([2_000, 120_000])('is made for a ttl of %i ms', async (ttlMs) => {
    expect((await handedOver({ ttlMs })).grant.ttlMs).toBe(ttlMs);
  });

  it('is not made for a ttl of more than 2 minutes', async () => {
    await expect(handedOver({ ttlMs: 120_001 })).rejects.toThrow('the reply has no direct grant');
  });

  it('goes back to its ticket if its call has ended and no command of the call was answered with it', async () => {
    const { lock, waiter, ticket, token } = await handedOver();
    expect(is('withdrawn', await waiter.giveBackUnheard(token)).ticket).toBe(ticket);
    expect(await fixture.idsIn(lock, 'ends')).toEqual([]);
    expect(await fixture.idsIn(lock, 'detached')).toEqual([waiter.requestId]);
    // A repeated give-back changes nothing.
    is('withdrawn', await waiter.giveBackUnheard(token));
    expect(await fixture.idsIn(lock, 'detached')).toEqual([waiter.requestId]);
  });

  it.each(['claim', 'queue', 'withdraw'] as const)(
    'does not go back after the call was answered with it by the command `%s`',
    async (command) => {
      const { lock, waiter, token } = await handedOver();
      expect(is('granted', await waiter[command]()).fencingToken).toBe(token);
      is('kept', await waiter.giveBackUnheard(token));
      expect(await fixture.idsIn(lock, 'ends')).toEqual([waiter.requestId]);
    },
  );

  it('does not go back after a renewal, because a client knows the lease', async () => {
    const { waiter, token } = await handedOver();
    is('granted', await waiter.keepAlive(waiter.secret));
    is('kept', await waiter.giveBackUnheard(token));
  });

  it('does not go back if a later grant of the request has another token', async () => {
    const { waiter, token } = await handedOver();
    is('withdrawn', await waiter.giveBack(token));
    const { fencingToken } = is('granted', await waiter.claim());
    expect(fencingToken).toBeGreaterThan(token);
    is('withdrawn', await waiter.giveBackUnheard(token));
    is('granted', await waiter.keepAlive(waiter.secret));
  });

  it('that has expired leaves its tombstone, so that a repeated request is not granted twice', async () => {
    const { lock, waiter, token } = await handedOver({ ttlMs: 5000 });
    is('granted', await waiter.claim());
    await fixture.passInUse(lock, 5001);
    is('finished', await waiter.giveBackUnheard(token));
    is('finished', await waiter.queue());
  });
});
