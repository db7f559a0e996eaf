import fc from 'fast-check';
import type { Service } from '../../../src/engine/leases/lease';
import { decodeLeaseId, encodeLeaseId, type LeaseId } from '../../../src/engine/leases/lease-id';
import { MAX_LEASE_ID_CHARS } from '../../../src/engine/leases/limits';
import { MAX_NAME_BYTES } from '../../../src/engine/names';
import { systemIdentities } from '../../../src/engine/identities';

const service = fc.constantFrom<Service>('lock', 'semaphore');
const name = fc
  .oneof(
    fc.string({ unit: 'binary', minLength: 1, maxLength: 128 }),
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

const other = (one: Service): Service => (one === 'lock' ? 'semaphore' : 'lock');

describe('a lease id', () => {
  it('says all again that it was made of, for any name', () => {
    fc.assert(
      fc.property(leaseId, (id) => {
        expect(decodeLeaseId(id.resource.service, encodeLeaseId(id))).toEqual(id);
      }),
      { numRuns: 200 },
    );
  });

  it('is URL-safe ASCII of at most a kilobyte, whatever the name', () => {
    const longest = { service: 'lock' as const, name: '\u{10ffff}'.repeat(MAX_NAME_BYTES / 4) };
    fc.assert(
      fc.property(leaseId, (id) => {
        expect(encodeLeaseId(id)).toMatch(/^[A-Za-z0-9_-]+$/);
        const text = encodeLeaseId({ ...id, resource: longest });
        expect(text.length).toBeLessThanOrEqual(MAX_LEASE_ID_CHARS);
        expect(decodeLeaseId('lock', text)?.resource).toEqual(longest);
      }),
    );
  });

  it('of one service is nothing to the other', () => {
    fc.assert(
      fc.property(leaseId, (id) => {
        expect(decodeLeaseId(other(id.resource.service), encodeLeaseId(id))).toBeUndefined();
      }),
    );
  });

  it('has one spelling: what was cut, extended, or padded is none, and what was altered is not the same lease', () => {
    fc.assert(
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
      { numRuns: 200 },
    );
  });

  it('that this service never gave out is refused, whatever it is', () => {
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
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 100 }), (text) => {
        const id = decodeLeaseId('lock', text);
        // Whatever is accepted has exactly that text as its id.
        if (id) expect(encodeLeaseId(id)).toBe(text);
      }),
      { numRuns: 1000 },
    );
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 30, maxLength: 80 }), (bytes) => {
        const text = Buffer.from(bytes).toString('base64url');
        const id = decodeLeaseId('lock', text);
        if (id) expect(encodeLeaseId(id)).toBe(text);
        else
          expect(bytes[0] === 1 && bytes[1] === 0 && bytes.length > 34 && isUtf8(bytes.subarray(34))).toBe(
            false,
          );
      }),
      { numRuns: 1000 },
    );
  });

  it('with a name that is not UTF-8 is refused, so that no two spellings meet in one name', () => {
    const bytes = Buffer.concat([Buffer.from([1, 0]), Buffer.alloc(32, 7), Buffer.from([0xff, 0xfe])]);
    expect(decodeLeaseId('lock', bytes.toString('base64url'))).toBeUndefined();
  });

  it('differs between any two leases: the secrets are 128 bits that do not repeat', () => {
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
