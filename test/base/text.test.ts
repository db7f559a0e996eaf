import fc from 'fast-check';
import { escapeJson, escapeText, roundedTimeSpan, timeSpan } from '../../src/base/text';
import { anyCharacter, assertWithinTime } from '../support/timed-property';

describe('escaped text', () => {
  const UNSAFE = [
    ...Array.from({ length: 0x20 }, (_, code) => code),
    ...Array.from({ length: 0x21 }, (_, index) => 0x7f + index),
    ...[0x61c, 0x200e, 0x200f, 0x2028, 0x2029],
    ...[
      0xad, 0x34f, 0x115f, 0x180e, 0x200b, 0x200c, 0x200d, 0x2060, 0x3164, 0xfe0f, 0xfeff, 0xe0061, 0xe0100,
    ],
    ...[0x202a, 0x202b, 0x202c, 0x202d, 0x202e, 0x2066, 0x2067, 0x2068, 0x2069],
  ];

  test.each(UNSAFE)('code point %i is escaped', (code) => {
    expect(escapeText(`a${String.fromCodePoint(code)}b`)).toBe(`a\\u{${code.toString(16)}}b`);
  });

  test('a surrogate without its partner is escaped', () => {
    expect(escapeText('a\ud800b')).toBe('a\\u{d800}b');
  });

  test('an escaped text has no unsafe character, and keeps every safe character in its place', () => {
    const unsafe = new Set(UNSAFE);
    const isSafe = (character: string): boolean =>
      !unsafe.has(character.codePointAt(0) as number) &&
      !/[\p{Format}\p{Default_Ignorable_Code_Point}]/u.test(character);
    const anyText = fc.string({ unit: anyCharacter });
    const mixed = fc.array(
      fc.oneof(anyText, fc.constantFrom(...UNSAFE.map((code) => String.fromCodePoint(code)))),
    );
    assertWithinTime(
      fc.property(mixed, (parts) => {
        const text = parts.join('');
        const escaped = escapeText(text);
        expect([...escaped].every(isSafe)).toBe(true);
        expect(Buffer.from(escaped).toString()).toBe(escaped);
        const safe = [...text].filter(isSafe);
        if (safe.length === [...text].length) expect(escaped).toBe(text);
        else expect(escaped).not.toBe(text);
      }),
    );
  });

  test('a text without unsafe characters stays as it is', () => {
    for (const text of ['', 'orders/7', 'naïve 日本 😀', '\\u{1b}', 'שלום'])
      expect(escapeText(text)).toBe(text);
  });

  test('escaped JSON shows no character that can deceive, except its own line breaks, and has the same value', () => {
    const text = UNSAFE.map((code) => String.fromCodePoint(code)).join('x');
    const value = { [text]: [text, '\ud800', '\\u202e'] };
    for (const indent of [undefined, 2]) {
      const json = escapeJson(JSON.stringify(value, undefined, indent));
      expect(escapeText(json.replaceAll('\n', ''))).toBe(json.replaceAll('\n', ''));
      expect(JSON.parse(json)).toEqual(value);
    }
  });
});

describe('a time span as text', () => {
  it.each([
    [0, '0 ms'],
    [99.999999, '99.999999 ms'],
    [100, '100 ms'],
    [1500, '1.5 s'],
    [1501, '1501 ms'],
    [30_000, '30 s'],
    [-5000, '-5 s'],
    [120_000, '2 min'],
    [120_001, '120001 ms'],
    [86_400_000, '24 h'],
  ])('timeSpan shows %d ms exactly as %s', (ms, text) => {
    expect(timeSpan(ms)).toBe(text);
  });

  it.each([
    [-3, '0 ms'],
    [0.4, '0 ms'],
    [400.2, '400 ms'],
    [4812, '4.8 s'],
    [9999, '10 s'],
    [61_234.5, '61 s'],
    [723_000, '12 min'],
    [3_599_000, '1 h'],
  ])('roundedTimeSpan shows %d ms as %s', (ms, text) => {
    expect(roundedTimeSpan(ms)).toBe(text);
  });
});
