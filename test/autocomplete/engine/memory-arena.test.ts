import fc from 'fast-check';
import { type Block, MemoryArena } from '../../../src/autocomplete/loaded/index-memory';

const KIB = 1024;

test('gives blocks that begin at multiples of 64 bytes and do not overlap', () => {
  fc.assert(
    fc.property(fc.array(fc.oneof(fc.nat(3 * KIB), fc.constant('free')), { maxLength: 60 }), (steps) => {
      const arena = new MemoryArena(16 * KIB);
      const blocks: Block[] = [];
      for (const step of steps) {
        if (step === 'free') {
          const oldest = blocks.shift();
          if (oldest) arena.free(oldest);
          continue;
        }
        const block = arena.allocate(step);
        if (!block) continue;
        expect(block.byteOffset % 64).toBe(0);
        expect(block.byteLength).toBe(step);
        const end = block.byteOffset + block.byteLength;
        expect(end).toBeLessThanOrEqual(block.buffer.byteLength);
        for (const other of blocks) {
          const apart = end <= other.byteOffset || other.byteOffset + other.byteLength <= block.byteOffset;
          expect(apart || block.byteLength === 0 || other.byteLength === 0).toBe(true);
        }
        blocks.push(block);
      }
      for (const block of blocks) arena.free(block);
      expect(arena.usedBytes).toBe(0);
      expect(arena.allocate(16 * KIB)).toBeDefined();
    }),
  );
});

test('gives no block if no free range is large enough', () => {
  const arena = new MemoryArena(4 * KIB);
  const [first, , third] = [arena.allocate(KIB), arena.allocate(KIB), arena.allocate(KIB)];
  expect(arena.allocate(2 * KIB)).toBeUndefined();
  arena.free(third!);
  expect(arena.allocate(2 * KIB)).toMatchObject({ byteOffset: 2 * KIB });
  arena.free(first!);
  expect(arena.usedBytes).toBe(3 * KIB);
});

test('uses the lowest free place first', () => {
  const arena = new MemoryArena(4 * KIB);
  const [first] = [arena.allocate(KIB), arena.allocate(KIB)];
  arena.free(first!);
  expect(arena.allocate(100)).toMatchObject({ byteOffset: 0 });
});

test('refuses to free a block twice', () => {
  const arena = new MemoryArena(4 * KIB);
  const block = arena.allocate(KIB)!;
  arena.free(block);
  expect(() => arena.free(block)).toThrow('already free');
});
