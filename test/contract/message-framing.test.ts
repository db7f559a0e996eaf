import fc from 'fast-check';
import { MessageFraming } from '../../src/rpc/entry/framing';
import { frame } from './raw-call';

class Observer {
  readonly lengths: number[] = [];
  grown = 0;
  beforeLength: () => void = () => undefined;

  onLength(bytes: number): void {
    this.lengths.push(bytes);
    this.beforeLength();
  }

  onGrowth(bytes: number): void {
    this.grown += bytes;
  }
}

/** Cuts the data at all of these offsets. */
function piecesOf(data: Buffer, cuts: readonly number[]): Buffer[] {
  const offsets = [...new Set([0, ...cuts.map((cut) => cut % (data.length + 1)), data.length])];
  offsets.sort((a, b) => a - b);
  return offsets.slice(1).map((end, index) => data.subarray(offsets[index], end));
}

/** Lengths around the bound above which a message has pages of its own. */
const longMessage = fc.tuple(fc.integer({ min: 65_520, max: 140_000 }), fc.nat(255)).map(([length, seed]) => {
  return Uint8Array.from({ length }, (_, index) => (index * 31 + seed) % 256);
});
const message = fc.oneof({ weight: 5, arbitrary: fc.uint8Array({ maxLength: 5000 }) }, longMessage);
const messages = fc.array(message, { maxLength: 6 });
const cuts = fc.array(fc.nat(), { maxLength: 20 });

test('the messages are the same for any division of the data', () => {
  fc.assert(
    fc.property(messages, cuts, (sent, offsets) => {
      const observer = new Observer();
      const framing = new MessageFraming(observer);
      const frames = sent.map((message) => frame(message));
      const received = piecesOf(Buffer.concat(frames), offsets).flatMap((piece) => framing.write(piece));
      expect(received.map((one) => one.toString('base64'))).toEqual(
        frames.map((one) => one.toString('base64')),
      );
      expect(observer.lengths).toEqual(sent.map(({ length }) => length));
      expect(framing.partial).toBe(false);
    }),
  );
});

test('the buffer of an unfinished message is at most twice as large as the received bytes', () => {
  const lengths = fc.integer({ min: 1, max: 2 ** 31 });
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1, max: 20_000 }), { minLength: 1 }), lengths, (sizes, length) => {
      const observer = new Observer();
      const framing = new MessageFraming(observer);
      const head = Buffer.alloc(5);
      head.writeUInt32BE(length, 1);
      framing.write(head);
      let sent = 5;
      for (const size of sizes) {
        if (sent + size >= length) break;
        framing.write(Buffer.alloc(size));
        sent += size;
      }
      if (length > sent) expect(observer.grown).toBeLessThanOrEqual(Math.max(1024, 2 * sent));
    }),
  );
});

test('an unfinished message does not keep the memory of the received pieces', () => {
  const framing = new MessageFraming(new Observer());
  const piece = frame(Buffer.from('hello'));
  framing.write(piece.subarray(0, 7));
  piece.fill(0, 0, 7);
  const [message] = framing.write(piece.subarray(7));
  expect(message).toEqual(frame(Buffer.from('hello')));
});

test('a framing that is stopped at a length returns no message', () => {
  const observer = new Observer();
  const framing = new MessageFraming(observer);
  observer.beforeLength = () => {
    if (observer.lengths.length === 2) framing.stop();
  };
  const one = frame(Buffer.from('hello'));
  expect(framing.write(Buffer.concat([one, one, one]))).toEqual([]);
  expect(framing.write(one)).toEqual([]);
  expect(framing.partial).toBe(false);
  expect(observer.lengths).toEqual([5, 5]);
});
