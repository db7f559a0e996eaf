import fc from 'fast-check';
import { systemIdentities } from '../../../src/base/runtime';
import { MAX_NAME_BYTES } from '../../../src/base/names';
import { MAX_LEASE_ID_CHARS, type Service } from '../../../src/leases/lease';
import {
  decodeLeaseId,
  encodeLeaseId,
  type LeaseId,
  parseLeaseId,
  storedRequestId,
} from '../../../src/leases/lease-id';
import { ALICE, FakeCall } from '../../support/fake-call';
import { answerTouch, answerWaiting, EngineFixture, UNCHANGED } from '../../support/leases/engine-fixture';
import { EMPTY_SNAPSHOT, grantedAt } from '../../support/leases/fake-store';
import { ModelWorld } from '../../support/leases/model-store';
import { ManualClock, settled } from '../../support/manual-clock';
import { anyCharacter, assertWithinTime } from '../../support/timed-property';

const IDENTITY = 'spiffe://example.org/alice';
const STORED = storedRequestId(IDENTITY, ALICE);
const BOB = {
  holderId: 'bob',
  metadata: { address: '10.0.0.1' },
  fencingToken: 5n,
  permitCount: 1,
  mode: 'exclusive' as const,
  acquireTimeMs: 0,
  expireTimeMs: 0,
  revoked: false,
  identity: 'token:bob',
};

describe('the stored request id', () => {
  it('is the id of the client without an identity', () => {
    expect(storedRequestId('', ALICE)).toBe(ALICE);
  });

  it('is the first half of the SHA-256 of identity, zero byte and request id, in the form of a UUID', () => {
    // printf 'spiffe://example.org/alice\0000190a0a0-0000-7000-8000-00000000a11c' | sha256sum
    expect(STORED).toBe('8d39dcf8-a67a-1c27-2aaf-22665bfa03ad');
  });

  it('differs between identities and between request ids', () => {
    const ids = ['a', 'b', 'ab'].flatMap((identity) =>
      [ALICE, ALICE.replace('1c', '1d')].map((id) => storedRequestId(identity, id)),
    );
    expect(new Set(ids).size).toBe(ids.length);
  });
});

describe('a call with an identity', () => {
  let on: EngineFixture;
  beforeEach(() => {
    on = EngineFixture.onFakeStore();
  });

  it('asks the store for the stored id, and answers with the id of the client', async () => {
    const pending = on.acquire({}, { identity: IDENTITY });
    const sent = await on.store.next('acquire');
    expect(sent.command).toMatchObject({ requestId: STORED, clientRequestId: ALICE, identity: IDENTITY });
    await sent.answer(grantedAt(sent.at, { clientRequestId: ALICE }));
    expect(pending.value.requestId).toBe(ALICE);
    expect(parseLeaseId('lock', pending.value.leaseId).requestId).toBe(STORED);
  });

  it('names the id of the client if the outcome of an acquire is unknown', async () => {
    const pending = on.acquire({}, { identity: IDENTITY });
    await (await on.store.next('acquire')).fail('unknown');
    expect(pending.failure).toMatchObject({
      reason: 'OUTCOME_UNKNOWN',
      details: { metadata: { request_id: ALICE } },
    });
    expect(pending.failure.message).toContain(ALICE);
  });

  it('names the id of the client if its lease has finished, and in `queued`', async () => {
    const finished = on.acquire({}, { identity: IDENTITY });
    await (await on.store.next('acquire')).answer({ kind: 'finished', cause: 'released' });
    expect(finished.failure.details.metadata).toEqual({ request_id: ALICE });
    const stream = on.hold({}, { identity: IDENTITY });
    await answerWaiting(on);
    expect(stream.sink.last('queued').requestId).toBe(ALICE);
  });

  it('renews, releases and attaches with its identity, and shows the id of the client', async () => {
    const acquired = on.acquire({}, { identity: IDENTITY });
    const sent = await on.store.next('acquire');
    await sent.answer(grantedAt(sent.at));
    const { leaseId } = acquired.value;
    const call = new FakeCall(on.clock, { identity: IDENTITY });
    const renewing = on.permits.renew(call, 'lock', leaseId, UNCHANGED);
    const renewal = await on.store.next('renew');
    expect(renewal.command).toMatchObject({ requestId: STORED, identity: IDENTITY });
    await renewal.answer(grantedAt(renewal.at, { clientRequestId: ALICE }));
    expect(await renewing).toMatchObject({ requestId: ALICE, leaseId });
    const stream = on.attach(leaseId, { identity: IDENTITY });
    const attach = await on.store.next('renew');
    expect(attach.command).toMatchObject({ identity: IDENTITY });
    await attach.answer(grantedAt(attach.at, { clientRequestId: ALICE }));
    expect(stream.sink.last('granted').lease).toMatchObject({ requestId: ALICE, leaseId });
    await on.clock.advance(10_000);
    expect((await on.store.next('renew')).command).toMatchObject({ requestId: STORED, identity: IDENTITY });
    void on.permits.release(call, 'lock', leaseId);
    expect((await on.store.next('release')).command).toMatchObject({ identity: IDENTITY });
  });

  it('names no request id if the outcome of a renewal is unknown, because the client does not know the stored id', async () => {
    const acquired = on.acquire({}, { identity: IDENTITY });
    const sent = await on.store.next('acquire');
    await sent.answer(grantedAt(sent.at));
    const { leaseId } = acquired.value;
    const call = new FakeCall(on.clock, { identity: IDENTITY });
    const failed = on.permits.renew(call, 'lock', leaseId, UNCHANGED).catch((error: unknown) => error);
    await (await on.store.next('renew')).fail('unknown');
    expect(await failed).toMatchObject({ reason: 'OUTCOME_UNKNOWN', details: { metadata: {} } });
    const stream = on.attach(leaseId, { identity: IDENTITY });
    await (await on.store.next('renew')).fail('unknown');
    expect(stream.failure.details.metadata).toEqual({});
    expect(stream.failure.message).not.toContain(STORED);
  });
});

describe('a lease of another identity', () => {
  it('answers LEASE_NOT_HELD to a renewal and an attach, is not released, and continues', async () => {
    const clock = new ManualClock(1_000_000);
    const on = new EngineFixture(clock, new ModelWorld(clock).store('s1'));
    const alice = on.acquire({}, { identity: IDENTITY });
    await clock.advance(0);
    const { leaseId } = alice.value;
    for (const identity of ['', 'token:bob']) {
      const bob = new FakeCall(clock, { identity });
      const renewed = await on.permits
        .renew(bob, 'lock', leaseId, UNCHANGED)
        .catch((error: unknown) => error);
      expect(renewed).toMatchObject({ reason: 'LEASE_NOT_HELD', details: {} });
      const stream = on.attach(leaseId, { identity });
      await settled();
      expect([stream.outcome, stream.sink.kinds]).toEqual(['LEASE_NOT_HELD', []]);
      expect(await on.permits.release(bob, 'lock', leaseId)).toEqual({
        released: false,
        lossCause: undefined,
      });
      // Its request id leads to no lease either.
      const other = on.acquire({ holderId: 'bob', waitTimeoutMs: 0 }, { identity });
      await clock.advance(0);
      expect(other.outcome).toBe('CONTENDED');
    }
    const call = new FakeCall(clock, { identity: IDENTITY });
    expect(await on.permits.release(call, 'lock', leaseId)).toMatchObject({ released: true });
  });
});

describe('a call that may not read the name', () => {
  let on: EngineFixture;
  beforeEach(() => {
    on = EngineFixture.onFakeStore();
  });
  const snapshot = {
    ...EMPTY_SNAPSHOT,
    waiterCount: 3,
    holder: BOB,
    holderEndMs: 21_000,
    usedCount: 1,
    limit: 4,
  };

  it.each([
    ['lock', 'lock "hello" is held, with 3 waiting; raise wait_timeout to queue'],
    ['semaphore', 'semaphore "hello" has 1 of 4 permits taken, with 3 waiting; raise wait_timeout to queue'],
  ] as const)('learns nothing of the holders of a %s from CONTENDED', async (service, message) => {
    const pending = on.acquire({ waitTimeoutMs: 0 }, { hidesHolders: true }, service);
    await (await on.store.next('acquire')).answer({ kind: 'refused', snapshot });
    expect(pending.failure.message).toBe(message);
    expect(pending.failure.details).toEqual({
      metadata: { holder_id: '', waiter_count: '3' },
      retryAfterMs: 1000,
    });
  });

  it('learns nothing of the holders from CONTENDED after a wait', async () => {
    const pending = on.acquire({ waitTimeoutMs: 500 }, { hidesHolders: true });
    await answerWaiting(on, { snapshot });
    await on.clock.advance(500);
    await (await on.store.next('withdraw')).answer({ kind: 'withdrawn', snapshot });
    expect(pending.failure.message).toContain('is still held, with 3 waiting; not granted within');
    expect(pending.failure.message).not.toContain('bob');
  });

  it('gets `queued` without a holder', async () => {
    const stream = on.hold({}, { hidesHolders: true });
    await answerWaiting(on, { position: 3, snapshot });
    expect(stream.sink.last('queued')).toMatchObject({ position: 3, waiterCount: 3, holder: undefined });
  });

  it('gets no holder in `queued` any more after a reload has taken the permission to read', async () => {
    const stream = on.hold();
    await answerWaiting(on, { position: 3, snapshot });
    expect(stream.sink.last('queued').holder).toMatchObject({ holderId: 'bob' });
    stream.call.hidesHolders = true;
    await on.clock.advance(2000);
    await answerTouch(on, [2], snapshot);
    expect(stream.sink.last('queued')).toMatchObject({ position: 2, holder: undefined });
  });
});

const service = fc.constantFrom<Service>('lock', 'semaphore');
const name = fc
  .oneof(
    fc.string({ unit: anyCharacter, minLength: 1, maxLength: 128 }),
    fc.string({ minLength: 1, maxLength: 512 }),
  )
  .filter((text) => Buffer.byteLength(text) <= MAX_NAME_BYTES);
const secret = fc
  .uint8Array({ minLength: 16, maxLength: 16 })
  .map((bytes) => Buffer.from(bytes).toString('base64url'));
const leaseId: fc.Arbitrary<LeaseId> = fc.record({
  resource: fc.record({ service, name }),
  requestId: fc.uuid({ version: [4, 7] }),
  secret,
});

const other = (known: Service): Service => (known === 'lock' ? 'semaphore' : 'lock');

describe('a lease id', () => {
  it('decodes to the values that it was encoded from, for any name', () => {
    assertWithinTime(
      fc.property(leaseId, (id) => {
        expect(decodeLeaseId(id.resource.service, encodeLeaseId(id))).toEqual(id);
      }),
    );
  });

  it('is URL-safe ASCII of at most a kilobyte, for any name', () => {
    const longest = { service: 'lock' as const, name: '\u{10ffff}'.repeat(MAX_NAME_BYTES / 4) };
    assertWithinTime(
      fc.property(leaseId, (id) => {
        expect(encodeLeaseId(id)).toMatch(/^[A-Za-z0-9_-]+$/);
        const text = encodeLeaseId({ ...id, resource: longest });
        expect(text.length).toBeLessThanOrEqual(MAX_LEASE_ID_CHARS);
        expect(decodeLeaseId('lock', text)?.resource).toEqual(longest);
      }),
    );
  });

  it('is refused by the other service', () => {
    assertWithinTime(
      fc.property(leaseId, (id) => {
        expect(decodeLeaseId(other(id.resource.service), encodeLeaseId(id))).toBeUndefined();
      }),
    );
  });

  it('has a single spelling: a padded text is refused, and a changed text never decodes to the same lease', () => {
    assertWithinTime(
      fc.property(leaseId, fc.nat(), fc.constantFrom(...'ABab01-_=+/ \n%.é'), (id, at, letter) => {
        const text = encodeLeaseId(id);
        const { service: of } = id.resource;
        for (const spelling of [`${text}=`, ` ${text}`, `${text}\n`, text.replace(/^./, '='), `${text}==`]) {
          expect(decodeLeaseId(of, spelling)).toBeUndefined();
        }
        const cut = decodeLeaseId(of, text.slice(0, at % text.length));
        expect(cut).not.toEqual(id);
        const index = at % text.length;
        const altered = text.slice(0, index) + letter + text.slice(index + 1);
        if (altered !== text) expect(decodeLeaseId(of, altered)).not.toEqual(id);
      }),
    );
  });

  it('is refused if the text is not the exact encoding of a lease', () => {
    const foreign = [
      '',
      'x',
      'lease',
      '7587854321',
      'A'.repeat(46),
      'A'.repeat(2000),
      '../../etc/passwd',
      '\0',
      '😀',
    ];
    for (const text of foreign) {
      expect(decodeLeaseId('lock', text)).toBeUndefined();
      expect(decodeLeaseId('semaphore', text)).toBeUndefined();
    }
    assertWithinTime(
      fc.property(fc.string({ unit: anyCharacter, maxLength: 100 }), (text) => {
        const id = decodeLeaseId('lock', text);
        // An accepted text is the exact encoding of the decoded values.
        if (id) expect(encodeLeaseId(id)).toBe(text);
      }),
    );
    assertWithinTime(
      fc.property(fc.uint8Array({ minLength: 30, maxLength: 80 }), (bytes) => {
        const text = Buffer.from(bytes).toString('base64url');
        const id = decodeLeaseId('lock', text);
        if (id) expect(encodeLeaseId(id)).toBe(text);
        else
          expect(bytes[0] === 1 && bytes[1] === 0 && bytes.length > 34 && isUtf8(bytes.subarray(34))).toBe(
            false,
          );
      }),
    );
  });

  it('is refused if its name is not UTF-8', () => {
    const bytes = Buffer.concat([Buffer.from([1, 0]), Buffer.alloc(32, 7), Buffer.from([0xff, 0xfe])]);
    expect(decodeLeaseId('lock', bytes.toString('base64url'))).toBeUndefined();
  });

  it('has a secret of 128 random bits that does not repeat', () => {
    const secrets = Array.from({ length: 3000 }, () => systemIdentities.secret());
    expect(new Set(secrets).size).toBe(3000);
    for (const text of secrets) expect(text).toMatch(/^[A-Za-z0-9_-]{22}$/);
    const ones = Buffer.concat(secrets.map((text) => Buffer.from(text, 'base64url'))).reduce(
      (sum, byte) => sum + byte.toString(2).replaceAll('0', '').length,
      0,
    );
    expect(Math.abs(ones / (3000 * 128) - 0.5)).toBeLessThan(0.01);
  });
});

function isUtf8(bytes: Uint8Array): boolean {
  return Buffer.from(Buffer.from(bytes).toString('utf8')).equals(Buffer.from(bytes));
}
