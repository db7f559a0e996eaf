import fc from 'fast-check';
import { sortForms, sortGroups, sortSuffixes } from '../../../../src/autocomplete/index/sort/suffix-sort';
import { FIXED_DEPTH, PrefixSort } from '../../../../src/autocomplete/index/sort/prefix-sort';
import { CharacterStarts } from '../../../../src/autocomplete/index/build/starts';
import { WorkMeter } from '../../../../src/autocomplete/index/work';

const bytesOf = (forms: readonly string[]): Uint8Array =>
  Buffer.from(forms.map((form) => `${form}\0`).join(''));

/** The positions of every character and of every empty form. */
function startsIn(forms: Uint8Array): number[] {
  const positions = Array.from({ length: forms.length }, (_, at) => at);
  return positions.filter((at) =>
    forms[at] === 0 ? (forms[at - 1] ?? 0) === 0 : (forms[at]! & 0xc0) !== 0x80,
  );
}

function naiveSort(forms: Uint8Array, positions: readonly number[]): number[] {
  const suffixes = new Map(
    positions.map((at) => [at, Buffer.from(forms.subarray(at, forms.indexOf(0, at)))]),
  );
  return [...positions].sort((a, b) => Buffer.compare(suffixes.get(a)!, suffixes.get(b)!) || a - b);
}

function sorted(forms: Uint8Array, meter = new WorkMeter()): Uint32Array {
  const positions = new Uint32Array(startsIn(forms).length);
  sortSuffixes(forms, positions, new Uint32Array(positions.length), meter);
  return positions;
}

/** Sorts without comparisons beyond FIXED_DEPTH, so that equal beginnings are left to prefix doubling. */
function sortedByDoubling(forms: Uint8Array): {
  readonly positions: Uint32Array;
  readonly groupCount: number;
} {
  const positions = new Uint32Array(startsIn(forms).length);
  const scratch = new Uint32Array(positions.length);
  const meter = new WorkMeter();
  const sort = new PrefixSort(forms, positions, scratch, meter, 0);
  sort.sort(new CharacterStarts(forms, positions.length));
  const groupCount = sort.groups.count;
  sortGroups(forms, positions, scratch, { groups: sort.groups, equalBytes: FIXED_DEPTH }, meter);
  return { positions, groupCount };
}

const unit = fc.constantFrom('a', 'b', 'é', '漢', '漣', '😀', ' ');
const shortForm = fc.string({ unit, maxLength: 6 });
/** Forms with long common beginnings and endings. */
const longForm = fc
  .tuple(shortForm, fc.constantFrom('a', 'ab', 'aé', '漢', '漢漣', '😀', 'ab 漢'), fc.nat(150), shortForm)
  .map(([start, period, count, end]) => start + period.repeat(count) + end);

test('sorts the characters of short forms by the bytes that follow', () => {
  fc.assert(
    fc.property(fc.array(shortForm, { maxLength: 20 }), (texts) => {
      const forms = bytesOf(texts);
      expect([...sorted(forms)]).toEqual(naiveSort(forms, startsIn(forms)));
    }),
    { numRuns: 300 },
  );
});

test('sorts the characters of long, similar forms by comparison and by doubling', () => {
  fc.assert(
    fc.property(fc.array(longForm, { maxLength: 6 }), (texts) => {
      const forms = bytesOf(texts);
      const expected = naiveSort(forms, startsIn(forms));
      expect([...sorted(forms)]).toEqual(expected);
      expect([...sortedByDoubling(forms).positions]).toEqual(expected);
    }),
    { numRuns: 60 },
  );
});

it.each([
  ['names', (n: number) => `anna ${(n * 7919) % 1000} strand ${n % 17}`],
  ['names of Han characters', (n: number) => `漢字${n % 100}東京${n % 7}`],
  ['equal forms', () => 'one and the same name'],
  ['empty forms', (n: number) => (n % 3 === 0 ? '' : 'a')],
])('sorts many positions: %s', (_, form) => {
  const forms = bytesOf(Array.from({ length: 1500 }, (_each, n) => form(n)));
  expect([...sorted(forms)]).toEqual(naiveSort(forms, startsIn(forms)));
});

it.each([
  ['equal forms', () => 'quick brown fox '.repeat(20)],
  ['one letter', (n: number) => 'a'.repeat(300 + (n % 3))],
  ['a period of two letters', (n: number) => 'ab'.repeat(150 + (n % 5))],
  ['a period of three bytes', () => '漢'.repeat(100)],
  ['long beginnings that differ at the end', (n: number) => `${'x'.repeat(200)}${n}`],
])('sorts the groups that are left after %i bytes: %s'.replace('%i', String(FIXED_DEPTH)), (_, form) => {
  const forms = bytesOf(Array.from({ length: 40 }, (_each, n) => form(n)));
  const { positions, groupCount } = sortedByDoubling(forms);
  expect(groupCount).toBeGreaterThan(0);
  expect([...positions]).toEqual(naiveSort(forms, startsIn(forms)));
});

it.each([
  ['equal forms of 500 bytes', () => 'quick brown fox '.repeat(31)],
  ['one letter', () => 'a'.repeat(512)],
  ['a period of two letters', (n: number) => 'ab'.repeat(256 - (n % 50))],
  ['a long common beginning', (n: number) => `${'mnopq rst'.repeat(55)}${n}`],
  ['a long common ending', (n: number) => `${n}${'mnopq rst'.repeat(55)}`],
  ['pairs of equal forms', (n: number) => `${String(n >> 1).repeat(100)}`],
  ['one character of Han', () => '漢'.repeat(170)],
])('takes a bounded number of steps: %s', (_, form) => {
  const forms = bytesOf(Array.from({ length: 400 }, (_each, n) => form(n)));
  const meter = new WorkMeter();
  const { length } = sorted(forms, meter);
  expect(meter.steps / (length * Math.log2(length))).toBeLessThan(35);
});

test('sorts only the given beginnings of forms', () => {
  const texts = Array.from(
    { length: 9000 },
    (_, n) => `${n % 50} name ${'long '.repeat(n % 20)}${(n * 31) % 700}`,
  );
  const forms = bytesOf(texts);
  const beginnings: number[] = [];
  let at = 0;
  texts.forEach((text, n) => {
    if (n % 4 !== 0) beginnings.push(at);
    at += text.length + 1;
  });
  const found = sortForms(forms, Uint32Array.from(beginnings), new WorkMeter());
  expect([...found]).toEqual(naiveSort(forms, beginnings));
});
