import { fromBinary } from '@bufbuild/protobuf';
import { AnySchema } from '@bufbuild/protobuf/wkt';
import { BinaryReader, BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import fc from 'fast-check';
import { decodeStatusDetails } from '../../clients/typescript/status-details';
import { encodeStatusDetails, MAX_STATUS_DETAILS_BYTES, type StatusDetails } from '../../src/rpc/call-errors';

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
  const text = fc.string({ unit: 'binary', maxLength: 40 });
  const details: fc.Arbitrary<StatusDetails> = fc.record({
    code: fc.integer({ min: 0, max: 16 }),
    message: text,
    reason: text,
    domain: text,
    metadata: fc.dictionary(text, text, { maxKeys: 4 }).map((pairs) => new Map(Object.entries(pairs))),
    retryAfterMs: fc.option(fc.nat(), { nil: undefined }),
    violations: fc.array(fc.record({ field: text, description: text }), { maxLength: 4 }),
  });
  fc.assert(
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
    const violations = Array.from({ length: 30 }, (_, index) => ({ field: `f${index}`, description: long }));
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
