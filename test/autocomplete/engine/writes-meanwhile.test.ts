import type { Gap, Head, Write, Writes } from '../../../src/autocomplete/entry-store';
import { IndexMemory } from '../../../src/autocomplete/loaded/index-memory';
import type { Position } from '../../../src/autocomplete/loaded/levels';
import { WritesMeanwhile } from '../../../src/autocomplete/loaded/store-reads';
import { ManualClock } from '../../support/manual-clock';

const MIB = 2 ** 20;
const INTERVAL_MS = 5000;
const MOST_READS = 50;
const at = (version: number): Position => ({ version, tail: `t${version}` });

function write(version: number, bytes = 1): Write {
  const record = new Uint8Array(bytes);
  const changes = [{ kind: 'put' as const, entryId: `e${version}`, record }];
  return { version, before: `t${version - 1}`, tail: `t${version}`, changes };
}

let clock: ManualClock;
let memory: IndexMemory;
/** The writes of the store, and the version of its live generation. */
let stored: Write[];
let liveVersion: number;
let isGap: boolean;
let reads: number;
let writes: WritesMeanwhile;
beforeEach(() => {
  clock = new ManualClock(1_000_000);
  memory = new IndexMemory(64 * MIB);
  [stored, liveVersion, isGap, reads] = [[], 0, false, 0];
  const read = async ({ version }: Position): Promise<Writes | Gap> => {
    reads += 1;
    if (reads > MOST_READS) throw new Error('too many reads');
    if (isGap) return { kind: 'gap' };
    const head = { kind: 'head', version: liveVersion } as Head;
    return { kind: 'writes', writes: stored.filter((one) => one.version > version).slice(0, 1), head };
  };
  writes = new WritesMeanwhile(at(0), read, clock, memory);
});
afterEach(() => {
  writes.end();
  expect(clock.timerCount).toBe(0);
  expect(memory.usedBytes).toBe(0);
});

function put(version: number, bytes?: number): void {
  stored.push(write(version, bytes));
  liveVersion = version;
}
const versions = (after: Position) => writes.takeAfter(after).map(({ version }) => version);

test.each(['the bound', 'a gap'])(
  'writes are kept again from a later position after %s has ended the reads',
  async (end) => {
    put(1, 17 * MIB);
    isGap = end === 'a gap';
    await clock.advance(INTERVAL_MS);
    put(2);
    isGap = false;
    await clock.advance(3 * INTERVAL_MS);
    expect(versions(at(0))).toEqual(end === 'a gap' ? [] : [1]);
    writes.continueFrom(at(2));
    put(3);
    put(4);
    await clock.advance(INTERVAL_MS);
    expect(versions(at(2))).toEqual([3, 4]);
  },
);

test('a read of an earlier position that is answered late is left out', async () => {
  put(1);
  const advanced = clock.advance(INTERVAL_MS);
  put(2);
  writes.continueFrom(at(2));
  await advanced;
  put(3);
  await clock.advance(INTERVAL_MS);
  expect(versions(at(2))).toEqual([3]);
});

test('a generation that was replaced by one with a higher version is not read without a pause', async () => {
  put(1);
  liveVersion = 9;
  for (let turn = 0; turn < 4; turn += 1) await clock.advance(INTERVAL_MS);
  expect(reads).toBeLessThan(MOST_READS);
  expect(versions(at(0))).toEqual([1]);
});
