import { jsonText } from '../../src/cli/output';

test.each([
  [{ seconds: '1700000000' }, '2023-11-14T22:13:20Z'],
  [{ seconds: '1700000000', nanos: 5_000_000 }, '2023-11-14T22:13:20.005Z'],
  [{ seconds: '1700000000', nanos: 1 }, '2023-11-14T22:13:20.000000001Z'],
  [{}, '1970-01-01T00:00:00Z'],
])('writes the time %j as protobuf does', (time, text) => {
  expect(jsonText({ freeTime: time })).toBe(`{"freeTime":"${text}"}`);
});

test.each([
  [{ seconds: '120' }, '120s'],
  [{ seconds: '1', nanos: 500_000_000 }, '1.500s'],
  [{ nanos: 1000 }, '0.000001s'],
  [{ seconds: '-1', nanos: -500_000_000 }, '-1.500s'],
  [{}, '0s'],
])('writes the duration %j as protobuf does', (span, text) => {
  expect(jsonText({ ttl: span, maxTtl: span })).toBe(`{"ttl":"${text}","maxTtl":"${text}"}`);
});

test('leaves texts and maps with the same names as they are', () => {
  expect(jsonText({ metadata: { ttl: 'long', startTime: 'now' } })).toBe(
    '{"metadata":{"ttl":"long","startTime":"now"}}',
  );
});

test('escapes controls and characters that turn the direction of text, in names and keys', () => {
  const value = { name: 'a\u202eb\u009bc', metadata: { '\u{e0061}': '\u2066' } };
  const text = jsonText(value);
  expect(text).toBe('{"name":"a\\u202eb\\u009bc","metadata":{"\\udb40\\udc61":"\\u2066"}}');
  expect(JSON.parse(text)).toEqual(value);
});
