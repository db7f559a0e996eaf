import { LeaseFixture } from '../../support/leases/lease-fixture';
import { OFFERED_TTL_MS, type RequesterOptions } from '../../support/leases/lease-requester';
import { is } from '../../support/reply-kinds';

let fixture: LeaseFixture;
beforeAll(async () => {
  fixture = await LeaseFixture.open({ frozenClock: true });
});
afterAll(() => fixture.close());

const ALICE = 'spiffe://example.org/älice';
const FOREIGN = ['', 'token:bob', 'spiffe://example.org/alice', `${ALICE}x`];

describe('the scripts of leases, with the identities of clients', () => {
  async function held(options: RequesterOptions = {}) {
    const lock = fixture.resource();
    const alice = await fixture.request('s1', lock, { identity: ALICE, ttlMs: 10_000, ...options });
    const lease = is('granted', await alice.try());
    const { store } = await fixture.server('s1');
    return { lock, alice, lease, store };
  }

  it.each(FOREIGN)('answer GONE to the right secret from the identity %j', async (identity) => {
    const { lock, alice, store } = await held({ stream: true });
    const { requestId, secret } = alice;
    const renewal = { requestId, secret, identity, ttlMs: undefined };
    const takeOver = { attach: 's2.1s', takeOver: true };
    const own = { attach: alice.attach, takeOver: false };
    for (const stream of [undefined, takeOver, own])
      expect(await store.renew(lock, { ...renewal, stream })).toEqual({ kind: 'gone' });
    for (const afterLoss of [undefined, { attach: alice.attach }])
      expect(await store.release(lock, { requestId, secret, identity, afterLoss })).toEqual({ kind: 'gone' });
    is('granted', await alice.keepAlive(secret));
    is('released', await alice.release(secret));
    // A foreign caller does not learn that the lease has ended either.
    expect(await store.release(lock, { requestId, secret, identity, afterLoss: undefined })).toEqual({
      kind: 'gone',
    });
    expect(await store.renew(lock, { ...renewal, stream: undefined })).toEqual({ kind: 'gone' });
    expect(await alice.release(secret)).toMatchObject({ kind: 'finished', cause: 'released' });
  });

  it('let every identity renew and release a lease that was acquired without an identity', async () => {
    const { lock, alice, store } = await held({ identity: '' });
    const { requestId, secret } = alice;
    const stream = undefined;
    is('granted', await store.renew(lock, { requestId, secret, identity: ALICE, ttlMs: undefined, stream }));
    is('released', await store.release(lock, { requestId, secret, identity: ALICE, afterLoss: undefined }));
  });

  it('keep equal request ids of two identities apart', async () => {
    const semaphore = fixture.resource('semaphore');
    const options = { initialLimit: 9, holderId: 'worker' };
    const alice = await fixture.request('s1', semaphore, { ...options, identity: ALICE });
    const requestId = alice.clientRequestId;
    const lease = is('granted', await alice.try());
    for (const identity of FOREIGN) {
      // Other fields would be a mismatch if both requests were the same.
      const other = await fixture.request('s2', semaphore, { ...options, requestId, identity, permits: 2 });
      expect(is('granted', await other.try()).fencingToken).not.toBe(lease.fencingToken);
    }
    const again = await fixture.request('s2', semaphore, { ...options, requestId, identity: ALICE });
    expect(is('granted', await again.try())).toMatchObject({ fencingToken: lease.fencingToken });
  });

  it('answer with the request id of the client', async () => {
    const { alice, lease } = await held({ stream: true });
    const { clientRequestId, secret } = alice;
    expect(clientRequestId).not.toBe(alice.requestId);
    expect(lease).toMatchObject({ clientRequestId });
    expect(await alice.renew(secret)).toMatchObject({ clientRequestId });
    expect(await alice.takeOver(secret)).toMatchObject({ clientRequestId });
  });

  it('show the identities of holders, offers and waiters', async () => {
    const { lock, alice, store } = await held();
    const bob = await fixture.request('s2', lock, { identity: 'token:bob', ttlMs: OFFERED_TTL_MS });
    const { snapshot } = is('waiting', await bob.queue());
    expect(snapshot.holder).toMatchObject({ identity: ALICE });
    const nobody = await fixture.request('s1', lock);
    await nobody.queue();
    const view = await store.inspect(lock);
    expect(view.holders).toMatchObject([{ identity: ALICE }]);
    expect(view.waiters).toMatchObject([{ identity: 'token:bob' }, { identity: '' }]);
    is('released', await alice.release(alice.secret));
    const after = await store.inspect(lock);
    expect(after.holders).toMatchObject([{ identity: 'token:bob' }]);
  });

  it('store the identity of a request that Redis has lost, with its claim', async () => {
    const { lock } = await held();
    const bob = await fixture.request('s1', lock, { identity: 'token:bob', ttlMs: OFFERED_TTL_MS });
    is('waiting', await bob.queue());
    await fixture.redis.command('DEL', fixture.key(lock, 'state'));
    const lease = is('granted', await bob.claim());
    expect(lease).toMatchObject({ clientRequestId: bob.clientRequestId });
    expect((await fixture.stored(lock)).records[bob.requestId]).toMatchObject({ identity: 'token:bob' });
  });

  it('store nothing more for a request without an identity', async () => {
    const { lock, alice } = await held({ identity: '' });
    const record = (await fixture.stored(lock)).records[alice.requestId];
    expect(record).not.toHaveProperty('identity');
    expect(record).not.toHaveProperty('clientRequestId');
    await alice.release(alice.secret);
    expect((await fixture.stored(lock)).records[alice.requestId]).not.toHaveProperty('identity');
  });
});

const CLIENT = 'AaBbCcDdEeFfGgHh-_IiJj';

describe('the scripts of leases in sessions', () => {
  /** A lock that session 10 holds, and a second call for the same request. */
  async function held(session: string, other: string) {
    const lock = fixture.resource();
    const first = await fixture.request('s1', lock, { session });
    is('granted', await first.queue());
    const { requestId } = first;
    const second = await fixture.request('s2', lock, { requestId, session: other });
    return { lock, first, second };
  }

  it.each([
    [`${CLIENT}/10.1`, `${CLIENT}/9.1`],
    [`${CLIENT}/9007199254740991.1`, `${CLIENT}/9007199254740990.2`],
    [`${CLIENT}/3.10`, `${CLIENT}/3.9`],
  ])(
    'let command %s keep its lease when an earlier command, %s, of the same client comes late',
    async (session, earlier) => {
      const { first, second } = await held(session, earlier);
      expect(await second.takeOver(first.secret)).toEqual({ kind: 'superseded' });
      expect(await second.queue()).toEqual({ kind: 'superseded' });
      is('granted', await first.keepAlive(first.secret));
    },
  );

  it.each([
    ['a later session', `${CLIENT}/10.1`, `${CLIENT}/11.1`],
    ['a later command of the same session', `${CLIENT}/10.9`, `${CLIENT}/10.10`],
    ['a session of another client', `${CLIENT}/10.1`, 'BbBbCcDdEeFfGgHh-_IiJj/1.1'],
  ])('let %s take the lease over by an attach and by an acquire', async (_, session, other) => {
    for (const act of ['takeOver', 'queue'] as const) {
      const { first, second } = await held(session, other);
      is('granted', await (act === 'takeOver' ? second.takeOver(first.secret) : second.queue()));
      expect(await first.keepAlive(first.secret)).toEqual({ kind: 'superseded' });
      is('granted', await second.keepAlive(first.secret));
    }
  });

  it('let a hold stream take the lease of a session over, and a session take the lease of a hold stream over', async () => {
    const lock = fixture.resource();
    const session = await fixture.request('s1', lock, { session: `${CLIENT}/10.1` });
    is('granted', await session.queue());
    const { requestId } = session;
    const stream = await fixture.request('s1', lock, { requestId, stream: true });
    is('granted', await stream.takeOver(session.secret));
    is('granted', await (await fixture.request('s1', lock, { requestId, session: `${CLIENT}/1.1` })).queue());
  });

  it('leave a wait to the later session, in its place', async () => {
    const lock = fixture.resource();
    is('granted', await (await fixture.request('s1', lock)).try());
    const later = await fixture.request('s1', lock, { session: `${CLIENT}/2.1` });
    const { ticket } = is('waiting', await later.queue());
    const { requestId } = later;
    const earlier = await fixture.request('s2', lock, { requestId, session: `${CLIENT}/1.1` });
    expect(await earlier.queue()).toEqual({ kind: 'superseded' });
    expect(is('waiting', await later.claim()).ticket).toBe(ticket);
    // Also after the later session has left the queue and its place is kept.
    is('withdrawn', await later.withdraw());
    expect(await earlier.queue()).toEqual({ kind: 'superseded' });
  });

  it('let a unary acquire of the request report the lease, and take nothing over', async () => {
    const { first } = await held(`${CLIENT}/10.1`, `${CLIENT}/10.1`);
    const { requestId, resource } = first;
    is('granted', await (await fixture.request('s2', resource, { requestId })).try());
    is('granted', await first.keepAlive(first.secret));
  });
});
