import fc from 'fast-check';
import { MAX_LEASE_ID_CHARS, type Service } from '../../../src/leases/lease';
import { decodeLeaseId, encodeLeaseId, type LeaseId } from '../../../src/leases/lease-id';
import { MAX_NAME_BYTES } from '../../../src/base/names';
import { systemIdentities } from '../../../src/base/runtime';

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

const other = (known: Service): Service => (known === 'lock' ? 'semaphore' : 'lock');

describe('a lease id', () => {
  it('decodes to the values that it was encoded from, for any name', () => {
    fc.assert(
      fc.property(leaseId, (id) => {
        expect(decodeLeaseId(id.resource.service, encodeLeaseId(id))).toEqual(id);
      }),
      { numRuns: 200 },
    );
  });

  it('is URL-safe ASCII of at most a kilobyte, for any name', () => {
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

  it('is refused by the other service', () => {
    fc.assert(
      fc.property(leaseId, (id) => {
        expect(decodeLeaseId(other(id.resource.service), encodeLeaseId(id))).toBeUndefined();
      }),
    );
  });

  it('has a single spelling: a padded text is refused, and a changed text never decodes to the same lease', () => {
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
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 100 }), (text) => {
        const id = decodeLeaseId('lock', text);
        // An accepted text is the exact encoding of the decoded values.
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
