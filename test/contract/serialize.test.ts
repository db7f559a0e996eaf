import { BinaryWriter } from '@bufbuild/protobuf/wire';
import { GetLockRequest, LockServiceService } from '../../generated/typescript/holdfast/v1/lock_service';
import { serializer, sharedSerializer } from '../../src/rpc/wire';

const serialize = serializer(GetLockRequest);

test('the serializer writes the same bytes as the generated code, at any length', () => {
  for (const length of [0, 1, 127, 128, 5000, 3, 100_000, 1]) {
    const message = { name: '€'.repeat(length) };
    expect(serialize(message).equals(LockServiceService.getLock.requestSerialize(message))).toBe(true);
  }
});

test('the serializer does not change the bytes of a message when the next message is written', () => {
  const first = serialize({ name: 'first' });
  const copy = Buffer.from(first);
  serialize({ name: 'other' });
  expect(first.equals(copy)).toBe(true);
});

test('the serializer drops the bytes of a write that failed', () => {
  const broken = serializer<{ name: string; bad: boolean }>({
    encode: (message, writer = new BinaryWriter()) => {
      GetLockRequest.encode(message, writer);
      if (message.bad) throw new Error('bad');
      return writer;
    },
  });
  expect(() => broken({ name: 'half', bad: true })).toThrow('bad');
  expect(broken({ name: 'whole', bad: false }).equals(serialize({ name: 'whole' }))).toBe(true);
});

test('the shared serializer serializes a message object once, and an equal object again', () => {
  const shared = sharedSerializer(GetLockRequest);
  const message = { name: 'watched' };
  expect(shared(message).equals(serialize(message))).toBe(true);
  expect(shared(message)).toBe(shared(message));
  expect(shared({ ...message })).not.toBe(shared(message));
});
