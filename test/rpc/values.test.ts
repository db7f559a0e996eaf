import { fromBinary } from '@bufbuild/protobuf';
import { BinaryReader, BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import { AnySchema } from '@bufbuild/protobuf/wkt';
import fc from 'fast-check';
import { decodeStatusDetails } from '../../clients/typescript/status-details';
import { encodeStatusDetails, MAX_STATUS_DETAILS_BYTES, type StatusDetails } from '../../src/rpc/call-errors';
import { durationToMs, msToDuration, msToTimestamp, timestampToUs } from '../../src/rpc/wire';
import { anyCharacter, assertWithinTime } from '../support/timed-property';

describe('the details of a status', () => {
  const plain: StatusDetails = {
    code: 10,
    message: 'held [CONTENDED]',
    reason: 'CONTENDED',
    domain: 'holdfast',
    metadata: new Map(),
    retryAfterMs: undefined,
    violations: [],
  };

  test('the client decodes the details that the server encodes', () => {
    const text = fc.string({ unit: anyCharacter, maxLength: 40 });
    const details: fc.Arbitrary<StatusDetails> = fc.record({
      code: fc.integer({ min: 0, max: 16 }),
      message: text,
      reason: text,
      domain: text,
      metadata: fc.dictionary(text, text, { maxKeys: 4 }).map((pairs) => new Map(Object.entries(pairs))),
      retryAfterMs: fc.option(fc.nat(), { nil: undefined }),
      violations: fc.array(fc.record({ field: text, description: text }), { maxLength: 4 }),
    });
    assertWithinTime(
      fc.property(details, (given) => {
        expect(decodeStatusDetails(encodeStatusDetails(given))).toEqual(given);
      }),
    );
  });

  test('the details are Any messages of the types ErrorInfo, RetryInfo and BadRequest', () => {
    const bytes = encodeStatusDetails({
      ...plain,
      retryAfterMs: 1500,
      violations: [{ field: 'name', description: 'is required' }],
    });
    const types: string[] = [];
    const reader = new BinaryReader(bytes);
    while (reader.pos < reader.len) {
      const [field, type] = reader.tag();
      if (field === 3) types.push(fromBinary(AnySchema, reader.bytes()).typeUrl);
      else reader.skip(type);
    }
    expect(types).toEqual([
      'type.googleapis.com/google.rpc.ErrorInfo',
      'type.googleapis.com/google.rpc.RetryInfo',
      'type.googleapis.com/google.rpc.BadRequest',
    ]);
  });

  test('the decoder skips unknown fields and details of other types', () => {
    const help = new BinaryWriter();
    help.tag(1, WireType.LengthDelimited).string('type.googleapis.com/google.rpc.Help');
    help.tag(2, WireType.LengthDelimited).bytes(Uint8Array.of(10, 1, 65));
    const bytes = new BinaryWriter()
      .raw(encodeStatusDetails(plain))
      .tag(3, WireType.LengthDelimited)
      .bytes(help.finish())
      .tag(9, WireType.Varint)
      .uint32(7)
      .finish();
    expect(decodeStatusDetails(bytes)).toEqual(plain);
  });

  test.each([
    ['truncated bytes', encodeStatusDetails(plain).subarray(0, -3)],
    ['a wrong wire type', Uint8Array.of(15, 255, 255)],
    ['a length beyond the end', Uint8Array.of(18, 127, 1)],
  ])('the decoder returns undefined for bytes that are not a Status: %s', (_title, bytes) => {
    expect(decodeStatusDetails(bytes)).toBeUndefined();
  });

  describe('status details above 4 KiB', () => {
    const long = 'x'.repeat(400);

    test('leave out the last violations, and say how many are left out', () => {
      const violations = Array.from({ length: 30 }, (_, index) => ({
        field: `f${index}`,
        description: long,
      }));
      const bytes = encodeStatusDetails({ ...plain, retryAfterMs: 1000, violations });
      expect(bytes.length).toBeLessThanOrEqual(MAX_STATUS_DETAILS_BYTES);
      const decoded = decodeStatusDetails(bytes);
      const kept = (decoded?.violations.length ?? 0) - 1;
      expect(kept).toBeGreaterThan(5);
      expect(decoded?.violations.slice(0, kept)).toEqual(violations.slice(0, kept));
      expect(decoded?.violations.at(-1)?.description).toBe(`and ${30 - kept} more`);
      expect(decoded?.retryAfterMs).toBe(1000);
    });

    test('leave out the last metadata entries, and keep the reason', () => {
      const metadata = new Map(Array.from({ length: 30 }, (_, index) => [`k${index}`, long]));
      const bytes = encodeStatusDetails({ ...plain, metadata });
      expect(bytes.length).toBeLessThanOrEqual(MAX_STATUS_DETAILS_BYTES);
      const decoded = decodeStatusDetails(bytes);
      expect(decoded?.reason).toBe('CONTENDED');
      expect(decoded?.metadata.get('k0')).toBe(long);
      expect(decoded?.metadata.size).toBeLessThan(30);
    });
  });
});

describe('durationToMs', () => {
  test.each([
    [0n, 0, 0],
    [30n, 0, 30_000],
    [0n, 100_000_000, 100],
    [0n, 1, 1e-6],
    [-1n, -500_000_000, -1500],
    [315_576_000_000n, 0, 315_576_000_000_000],
  ])('converts %s s and %s ns to %s ms', (seconds, nanos, ms) => {
    expect(durationToMs({ seconds, nanos })).toBe(ms);
  });

  test.each([
    ['positive seconds and negative nanos', 1n, -1],
    ['negative seconds and positive nanos', -1n, 1],
    ['10^9 nanos', 0n, 1_000_000_000],
    ['-10^9 nanos', 0n, -1_000_000_000],
    ['more than 10,000 years', 315_576_000_001n, 0],
    ['less than -10,000 years', -315_576_000_001n, 0],
    ['the largest int64', 2n ** 63n - 1n, 0],
    ['the smallest int64', -(2n ** 63n), 0],
  ])('returns undefined for %s', (_title, seconds, nanos) => {
    expect(durationToMs({ seconds, nanos })).toBeUndefined();
  });
});

describe('msToDuration', () => {
  test.each([
    [0, 0n, 0],
    [29_986.75, 29n, 986_000_000],
    [999.999_999, 0n, 999_000_000],
    [120_000, 120n, 0],
    [-0.5, 0n, -1_000_000],
    [-1500, -1n, -500_000_000],
  ])('converts %s ms to %s s and %s ns', (ms, seconds, nanos) => {
    expect(msToDuration(ms)).toEqual({ seconds, nanos });
  });

  test('never rounds up, and rounds down by at most 1 ms', () => {
    assertWithinTime(
      fc.property(fc.double({ min: -1e12, max: 1e12, noNaN: true }), (ms) => {
        const read = durationToMs(msToDuration(ms));
        expect(read).toBeLessThanOrEqual(ms);
        expect(read).toBeGreaterThanOrEqual(ms - 1);
      }),
    );
  });
});

describe('msToTimestamp', () => {
  test.each([
    [1_700_000_000_123.9, 1_700_000_000n, 123_900_000],
    [1_795_172_435_542.417, 1_795_172_435n, 542_417_000],
    [-1, -1n, 999_000_000],
  ])('converts %s ms to %s s and %s ns, which are not negative', (ms, seconds, nanos) => {
    expect(msToTimestamp(ms)).toEqual({ seconds, nanos });
  });

  test('keeps each microsecond of a time before the year 2109', () => {
    assertWithinTime(
      fc.property(fc.integer({ min: 0, max: 2 ** 42 * 1000 - 1 }), (us) => {
        expect(timestampToUs(msToTimestamp(us / 1000))).toBe(BigInt(us));
      }),
    );
  });
});

describe('timestampToUs', () => {
  test.each([
    [0n, 999, 0n],
    [-1n, 999_999_999, -1n],
    [253_402_300_799n, 999_999_999, 253_402_300_799_999_999n],
    [-62_135_596_800n, 0, -62_135_596_800_000_000n],
  ])('converts %s s and %s ns', (seconds, nanos, us) => {
    expect(timestampToUs({ seconds, nanos })).toBe(us);
  });

  test.each([
    ['a time after the year 9999', 253_402_300_800n, 0],
    ['a time before the year 1', -62_135_596_801n, 0],
    ['negative nanos', 0n, -1],
    ['10^9 nanos', 0n, 1_000_000_000],
  ])('returns undefined for %s', (_title, seconds, nanos) => {
    expect(timestampToUs({ seconds, nanos })).toBeUndefined();
  });
});
