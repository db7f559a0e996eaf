import { LeaseFixture } from '../support/leases/lease-fixture';
import { is } from '../support/reply-kinds';

const CLIENT = 'AaBbCcDdEeFfGgHh-_IiJj';

describe('the scripts of leases in sessions', () => {
  let fixture: LeaseFixture;
  beforeAll(async () => {
    fixture = await LeaseFixture.open({ frozenClock: true });
  });
  afterAll(() => fixture.close());

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
