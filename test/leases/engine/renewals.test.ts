import { Heartbeats } from '../../../src/leases/life';
import type { Renewed } from '../../../src/leases/lease-store';
import { grantedAt, type Sent } from '../../support/leases/fake-store';
import { HeldLeaseFixture, type HeldLeaseSetting } from '../../support/leases/held-lease-fixture';

const TTL_MS = 30_000;
const INTERVAL_MS = 10_000;

/** Leases of one server. Their names have one length, so one bucket, unless the settings say otherwise. */
function leasesOf(settings: readonly HeldLeaseSetting[]): HeldLeaseFixture[] {
  const leases: HeldLeaseFixture[] = [];
  for (const [index, setting] of settings.entries()) {
    const name = `name ${String(index).padStart(3, '0')}`;
    const [beside] = leases;
    leases.push(new HeldLeaseFixture({ ttlMs: TTL_MS, name, ...(beside && { beside }), ...setting }));
  }
  return leases;
}

/** `count` leases that are due at the same time. */
function equalLeases(count: number, setting: HeldLeaseSetting = {}): HeldLeaseFixture[] {
  return leasesOf(Array.from({ length: count }, () => setting));
}

const namesOf = ({ command }: Sent<'renewMany'>): string[] => command.map(({ resource }) => resource.name);
const nameOf = (held: HeldLeaseFixture): string => held.lease.id.resource.name;
const kindsOf = (leases: readonly HeldLeaseFixture[]) => leases.map(({ sink }) => sink.kinds);

function answerOf(sent: Sent<'renewMany'>, ttlMs = TTL_MS): Renewed[] {
  return sent.command.map(() => ({ sentAt: sent.at, remainingMs: ttlMs, ttlMs }));
}

describe('leases of one bucket', () => {
  it('are renewed with one command, and each lease gets the end of the reply', async () => {
    const leases = equalLeases(3);
    const [first] = leases as [HeldLeaseFixture];
    await first.until(INTERVAL_MS);
    expect(first.store.inFlight).toEqual(['renewMany']);
    const sent = await first.store.next('renewMany');
    expect(namesOf(sent).sort()).toEqual(leases.map(nameOf));
    expect(sent.command[0]).toMatchObject({ attach: 's1.1s', identity: 'spiffe://example.org/alice' });
    await sent.answer(answerOf(sent));
    expect(kindsOf(leases)).toEqual([['renewed'], ['renewed'], ['renewed']]);
    for (const { sink } of leases)
      expect(sink.last('renewed').end).toEqual({ sentAt: sent.at, remainingMs: TTL_MS });
    await first.until(2 * INTERVAL_MS);
    expect(first.store.count('renewMany')).toBe(2);
    expect(first.store.count('renew')).toBe(0);
  });

  it('learn of a new ttl from the reply', async () => {
    const leases = equalLeases(2, { ttlMs: 3000 });
    const [first] = leases as [HeldLeaseFixture];
    await first.until(1000);
    const sent = await first.store.next('renewMany');
    await sent.answer(answerOf(sent, 24_000));
    expect(leases.map(({ sink }) => sink.last('renewed').newTtlMs)).toEqual([24_000, 24_000]);
    await first.until(8990);
    expect(first.store.count('renewMany')).toBe(1);
    await first.until(9000);
    expect(first.store.count('renewMany')).toBe(2);
  });

  it('wait for their turn in the store until the last of the leases may have ended', async () => {
    const [first] = leasesOf([{ name: 'a' }, { name: 'a', ttlMs: 2 * TTL_MS }]) as [HeldLeaseFixture];
    await first.until(INTERVAL_MS);
    const ends = [TTL_MS, 2 * TTL_MS].map((ttlMs) => 100_000 + ttlMs);
    const { patientUntil } = first.store.renewManyPatience;
    expect(patientUntil).toBeGreaterThan(ends[0] ?? NaN);
    expect(patientUntil).toBeLessThanOrEqual(ends[1] ?? NaN);
  });

  it('wait for their turn in the store, if renewed alone, until the lease may have ended', async () => {
    const [only] = leasesOf([{ name: 'a' }]) as [HeldLeaseFixture];
    await only.until(INTERVAL_MS);
    const { command } = await only.store.next('renew');
    expect(command.patientUntil).toBeGreaterThan(100_000 + TTL_MS * 0.99);
    expect(command.patientUntil).toBeLessThanOrEqual(100_000 + TTL_MS);
  });

  it('are renewed alone if only one of them is held', async () => {
    const [first, second] = equalLeases(2) as [HeldLeaseFixture, HeldLeaseFixture];
    second.lease.abandon();
    await first.until(INTERVAL_MS);
    expect(first.store.inFlight).toEqual(['renew']);
  });

  it('are not renewed together with leases of another bucket', async () => {
    const [first] = leasesOf([{ name: 'a' }, { name: 'bb' }]) as [HeldLeaseFixture];
    await first.until(INTERVAL_MS);
    expect(first.store.inFlight).toEqual(['renew', 'renew']);
  });

  it('are renewed 16 at a time, the least recently renewed lease first', async () => {
    const leases = equalLeases(17);
    const [first] = leases as [HeldLeaseFixture];
    await first.until(INTERVAL_MS);
    const sent = await first.store.next('renewMany');
    expect(namesOf(sent)).toEqual(leases.slice(0, 16).map(nameOf));
    expect(first.store.inFlight).toEqual(['renew']);
    await first.renew();
    await sent.answer(answerOf(sent));
    await first.until(2 * INTERVAL_MS);
    const next = await first.store.next('renewMany');
    expect(namesOf(next)).toContain(nameOf(leases[16] as HeldLeaseFixture));
  });

  it('are examined at most 64 at a time, including the lease itself', async () => {
    const short: HeldLeaseSetting = { ttlMs: 3000 };
    const before = (count: number) => leasesOf([...Array<HeldLeaseSetting>(count).fill({}), short, short]);
    const [near] = before(62) as [HeldLeaseFixture];
    await near.until(1000);
    expect(near.store.inFlight).toEqual(['renewMany']);
    const [far] = before(63) as [HeldLeaseFixture];
    await far.until(1000);
    expect(far.store.inFlight).toEqual(['renew', 'renew']);
  });
});

describe('a lease that is not due yet', () => {
  /** A lease that is due after an interval, and then one that is granted later. */
  async function twoLeases(laterMs: number, ttlMs = TTL_MS): Promise<HeldLeaseFixture[]> {
    const first = new HeldLeaseFixture({ ttlMs, name: 'name 000' });
    await first.until(laterMs);
    return [first, new HeldLeaseFixture({ ttlMs, name: 'name 001', beside: first })];
  }

  it.each([
    ['goes along if it is due within half an interval', 5000, TTL_MS, 'renewMany'],
    ['does not go along earlier', 5020, TTL_MS, 'renew'],
    ['does not go along earlier, however long its ttl is', 5020, 86_400_000, 'renew'],
  ] as const)('%s', async (_, laterMs, ttlMs, verb) => {
    const [first] = (await twoLeases(laterMs, ttlMs)) as [HeldLeaseFixture];
    await first.until(INTERVAL_MS);
    expect(first.store.inFlight).toEqual([verb]);
  });

  it('is renewed at most twice as often beside a lease with a short ttl', async () => {
    const [short, long] = leasesOf([{ ttlMs: 1500 }, { ttlMs: 86_400_000 }]) as [
      HeldLeaseFixture,
      HeldLeaseFixture,
    ];
    for (let time = 0; time <= 60_000; time += 500) {
      await short.until(time);
      while (short.store.inFlight.length > 0) {
        if (short.store.inFlight[0] === 'renew') await short.renew();
        else {
          const sent = await short.store.next('renewMany');
          const ttlOf = (name: string) => (name === nameOf(long) ? 86_400_000 : 1500);
          await sent.answer(
            namesOf(sent).map((name) => ({ sentAt: sent.at, remainingMs: ttlOf(name), ttlMs: ttlOf(name) })),
          );
        }
      }
    }
    expect(short.sink.kinds.length).toBeGreaterThan(100);
    expect(long.sink.kinds.length).toBeGreaterThanOrEqual(6);
    expect(long.sink.kinds.length).toBeLessThanOrEqual(12);
  });
});

describe('a lease is not renewed early by the command of another lease', () => {
  it('while its own renewal is in flight', async () => {
    const [first, second] = equalLeases(2) as [HeldLeaseFixture, HeldLeaseFixture];
    second.lease.recheck();
    await first.until(INTERVAL_MS);
    expect(first.store.inFlight).toEqual(['renew', 'renew']);
  });

  it('if its session is silent', async () => {
    const [first, silent] = leasesOf([{}, { heartbeats: new Heartbeats(1, 100_000, 9000) }]) as [
      HeldLeaseFixture,
      HeldLeaseFixture,
    ];
    await first.until(INTERVAL_MS);
    expect(first.store.inFlight).toEqual(['renew']);
    expect(silent.sink.kinds).toEqual([]);
  });

  it('after its release was asked for', async () => {
    const [first, releasing] = leasesOf([{}, { heartbeats: new Heartbeats(1, 100_000, 15_000) }]) as [
      HeldLeaseFixture,
      HeldLeaseFixture,
    ];
    releasing.lease.releaseAsked(releasing.lease.id.secret, 'spiffe://example.org/alice');
    await first.until(INTERVAL_MS);
    expect(first.store.inFlight).toEqual(['renew']);
  });

  it('after its end, if the server was suspended meanwhile: the cause is expired', async () => {
    const first = new HeldLeaseFixture({ ttlMs: 120_000, name: 'name 000' });
    await first.until(5000);
    const ended = new HeldLeaseFixture({ ttlMs: 24_000, name: 'name 001', beside: first });
    await first.clock.jump(40_000);
    expect(first.store.log.map(({ verb }) => verb)).not.toContain('renewMany');
    expect(ended.sink.last('lost').cause).toBe('expired');
  });

  it('if the other lease is renewed after a hint, which says that the other lease may have ended', async () => {
    const [first, second] = equalLeases(2) as [HeldLeaseFixture, HeldLeaseFixture];
    await first.until(INTERVAL_MS - 10);
    second.lease.recheck();
    expect(first.store.inFlight).toEqual(['renew']);
    // A second hint, during the renewal.
    second.lease.recheck();
    await second.renew();
    expect(first.store.inFlight).toEqual(['renew']);
  });
});

describe('a lease that a common renewal does not change', () => {
  async function leftAlone() {
    const leases = equalLeases(2) as [HeldLeaseFixture, HeldLeaseFixture];
    await leases[0].until(INTERVAL_MS);
    const sent = await leases[0].store.next('renewMany');
    const left = leases.find((held) => nameOf(held) === namesOf(sent)[0]) as HeldLeaseFixture;
    const other = leases.find((held) => held !== left) as HeldLeaseFixture;
    const [, renewed] = answerOf(sent);
    return { left, other, answer: () => sent.answer([undefined, renewed]) };
  }

  it('is renewed alone immediately, and its owner gets no event before the reply', async () => {
    const { left, other, answer } = await leftAlone();
    await answer();
    expect(other.sink.kinds).toEqual(['renewed']);
    expect(left.sink.kinds).toEqual([]);
    const single = await left.store.next('renew');
    expect(single.resource.name).toBe(nameOf(left));
    expect(single.command).toMatchObject({ stream: { attach: 's1.1s', takeOver: false } });
    await single.answer(grantedAt(single.at));
    expect(left.sink.kinds).toEqual(['renewed']);
    await left.until(2 * INTERVAL_MS);
    expect(left.store.inFlight).toEqual(['renewMany']);
  });

  it('learns the cause of its end', async () => {
    const { left, other, answer } = await leftAlone();
    await answer();
    await (await left.store.next('renew')).answer({ kind: 'finished', cause: 'revoked' });
    expect(left.sink.last('lost').cause).toBe('revoked');
    expect(left.status).toBe('LEASE_LOST');
    expect(other.status).toBeUndefined();
  });

  it('is not renewed after it was taken over, or its client was gone, while the command was in flight', async () => {
    for (const end of ['supersede', 'abandon'] as const) {
      const { left, answer } = await leftAlone();
      left.lease[end]();
      await answer();
      expect(left.store.inFlight).toEqual([]);
    }
  });

  it('is not renewed if its release was asked for while the command was in flight', async () => {
    const heartbeats = new Heartbeats(1, 100_000, 15_000);
    const [first, second] = equalLeases(2, { heartbeats }) as [HeldLeaseFixture, HeldLeaseFixture];
    await first.until(INTERVAL_MS);
    const sent = await first.store.next('renewMany');
    for (const { lease } of [first, second])
      lease.releaseAsked(lease.id.secret, 'spiffe://example.org/alice');
    await sent.answer([undefined, undefined]);
    expect(first.store.inFlight).toEqual([]);
    expect(first.status).toBeUndefined();
  });
});

describe('leases of a common renewal without a reply', () => {
  async function inFlight(setting: HeldLeaseSetting = {}) {
    const leases = equalLeases(3, setting);
    const [first] = leases as [HeldLeaseFixture];
    await first.until(INTERVAL_MS);
    return { leases, first, sent: await first.store.next('renewMany') };
  }
  const all = (...kinds: string[]) => [kinds, kinds, kinds];

  it('report renewal-failed as after a single renewal without a reply, and are retried together', async () => {
    const { leases, first, sent } = await inFlight();
    await sent.fail();
    expect(kindsOf(leases)).toEqual(all('renewal-failed'));
    await first.until(INTERVAL_MS + 1000);
    // Single renewals would be sixteen times the work for a store that is behind already.
    expect(first.store.inFlight).toEqual(['renewMany']);
    for (const { sink } of leases)
      expect(sink.last('renewal-failed').end).toEqual({ sentAt: 100_000, remainingMs: TTL_MS });
  });

  it('report renewal-failed once after half a ttl, and accept the late reply', async () => {
    const { leases, first, sent } = await inFlight();
    await first.until(INTERVAL_MS + TTL_MS / 2);
    expect(kindsOf(leases)).toEqual(all('renewal-failed'));
    await sent.answer(answerOf(sent));
    expect(kindsOf(leases)).toEqual(all('renewal-failed', 'renewed'));
  });

  it('are lost at their last confirmed end', async () => {
    const { leases, first, sent } = await inFlight();
    await first.until(TTL_MS);
    expect(leases.map(({ sink }) => sink.last('lost').cause)).toEqual(Array(3).fill('store-unavailable'));
    await sent.answer(answerOf(sent));
    for (const { sink } of leases) expect(sink.kinds).not.toContain('renewed');
  });

  it('are renewed alone after a defect, because the defect may concern only one of the leases', async () => {
    const { leases, first, sent } = await inFlight();
    const defect = new Error('a script failed');
    await sent.throw(defect);
    expect(first.defects).toEqual([defect]);
    expect(kindsOf(leases)).toEqual(all());
    expect(first.store.inFlight).toEqual(['renew', 'renew', 'renew']);
  });

  it('are renewed alone while grants pause, because only the command for a single lease decides then', async () => {
    const { leases, first, sent } = await inFlight();
    await sent.fail('no', 'quarantined');
    expect(first.defects).toEqual([]);
    expect(kindsOf(leases)).toEqual(all());
    expect(first.store.inFlight).toEqual(['renew', 'renew', 'renew']);
  });

  it('all get the reply, even if the owner of one of them fails', async () => {
    const { leases, first, sent } = await inFlight();
    const defect = new Error('a sink failed');
    first.sink.send = () => {
      throw defect;
    };
    await sent.answer(answerOf(sent));
    expect(first.defects).toEqual([defect]);
    expect(leases.slice(1).map(({ sink }) => sink.kinds)).toEqual([['renewed'], ['renewed']]);
  });

  it('end after the common renewal if the server drains', async () => {
    const leases = equalLeases(3);
    const [first] = leases as [HeldLeaseFixture];
    await first.until(INTERVAL_MS);
    for (const { lease } of leases) lease.drain();
    const sent = await first.store.next('renewMany');
    await sent.answer(answerOf(sent));
    expect(leases.map(({ status }) => status)).toEqual(Array(3).fill('DRAINING'));
    expect(first.timers.size).toBe(0);
  });
});
