import fc from 'fast-check';
import { identityGlob } from '../../src/access/identity';

const matches = (glob: string, identity: string) => identityGlob(glob)(identity);

test.each([
  ['token:a', 'token:a', true],
  ['token:a', 'token:ab', false],
  ['token:a*', 'token:a', true],
  ['token:a*', 'token:ab', true],
  ['token:*', 'token:', true],
  ['token:team-a-*', 'token:team-ab', false],
  ['spiffe://prod/team-a/*', 'spiffe://prod/team-a/worker', true],
  ['spiffe://prod/team-a/*', 'spiffe://prod/team-a/', true],
  ['spiffe://prod/team-a/*', 'spiffe://prod/team-a', false],
  ['spiffe://prod/team-a/*', 'spiffe://prod/team-a/worker/admin', false],
  ['spiffe://prod/*/worker', 'spiffe://prod/team-a/worker', true],
  ['spiffe://prod/*/worker', 'spiffe://prod/team-a/x/worker', false],
  ['spiffe://*', 'spiffe://prod/team-a', false],
  ['spiffe://*/*', 'spiffe://prod/team-a', true],
  ['*', 'token:a', true],
  ['*', 'spiffe://prod', false],
  ['dns:*.team-a.example', 'dns:w1.team-a.example', true],
  ['dns:*.team-a.example', 'dns:team-a.example', false],
  ['dns:*.a*.example', 'dns:x.ab.y.example', true],
  ['jwt:https://login.example#team-a-*', 'jwt:https://login.example#team-a-7', true],
  ['jwt:https://login.example#*', 'jwt:https://login.example.evil#x', false],
  ['token:a.c', 'token:abc', false],
  ['token:a?', 'token:ab', false],
  ['token:[ab]', 'token:a', false],
  ['token:*a*', 'token:a', true],
  ['token:a*a', 'token:a', false],
  ['token:aa*aa', 'token:aaa', false],
  ['token:Ä*', 'token:Äb', true],
])('the glob %j and the identity %j: %s', (glob, identity, expected) => {
  expect(matches(glob, identity)).toBe(expected);
});

/** The meaning of a glob, by a search that tries every possibility. */
function naive(glob: string, text: string): boolean {
  if (glob === '') return text === '';
  if (glob[0] !== '*') return text !== '' && text[0] === glob[0] && naive(glob.slice(1), text.slice(1));
  for (let length = 0; length <= text.length && !text.slice(0, length).includes('/'); length++) {
    if (naive(glob.slice(1), text.slice(length))) return true;
  }
  return false;
}

test('a glob matches as a search that tries every possibility', () => {
  const glob = fc.string({ unit: fc.constantFrom('a', 'b', '/', '*', '*'), maxLength: 8 });
  const text = fc.string({ unit: fc.constantFrom('a', 'b', '/'), maxLength: 10 });
  fc.assert(
    fc.property(glob, text, (pattern, identity) => {
      expect(matches(pattern, identity)).toBe(naive(pattern, identity));
    }),
    { numRuns: 2000 },
  );
});

test('a glob with many stars is matched without a search that starts again', () => {
  const glob = `token:${'*a'.repeat(120)}b`;
  const matcher = identityGlob(glob);
  const started = performance.now();
  for (let round = 0; round < 100; round++) expect(matcher(`token:${'a'.repeat(250)}`)).toBe(false);
  expect(performance.now() - started).toBeLessThan(2000);
});
