import type { X509Certificate } from 'node:crypto';
import type { Caller, PresentedCredentials } from '../../src/access/caller';
import { Credentials, tokenDigest } from '../../src/access/credentials';
import { ManualClock } from '../support/manual-clock';

/** Which callers the server knows without a check. */

const clock = new ManualClock();
const caller = (identity: string, endsInMs = 1000): Caller => ({
  identity,
  expiresAt: clock.now() + endsInMs,
});
const byDigest = (callers: Readonly<Record<string, Caller>>) => {
  const found = new Map(Object.entries(callers).map(([token, one]) => [tokenDigest(token), one]));
  return (digest: string) => found.get(digest);
};

const find = jest.fn();
let certified: Caller | undefined;
const credentials = new Credentials(
  {
    tokens: { find: byDigest({ good: caller('token:a'), old: caller('token:b', -1) }) },
    jsonWebTokens: { find, known: byDigest({ 'a.checked.token': caller('jwt:i#a') }) },
    certificates: { find: () => certified },
  },
  clock,
);

const presented = (token?: string): PresentedCredentials => ({
  authorization: token === undefined ? [] : [`Bearer ${token}`],
  connection: {},
  peerCertificate: () => ({ certificate: {} as X509Certificate, problem: undefined }),
});

afterEach(() => (certified = undefined));

test.each([
  ['a token of the file', 'good', true],
  ['a JSON web token that was checked', 'a.checked.token', true],
  ['an expired token', 'old', false],
  ['a wrong token', 'bad', false],
  ['no credential', undefined, false],
])('%s (%p) is known: %p', (_title, token, known) => {
  expect(credentials.known(presented(token)) !== undefined).toBe(known);
});

test('a JSON web token that was not checked is not known, and no check starts', () => {
  expect(credentials.known(presented('a.new.token'))).toBeUndefined();
  expect(find).not.toHaveBeenCalled();
});

test('a client certificate is known until its end, also beside a good token', () => {
  certified = caller('dns:a');
  expect(credentials.known(presented())).toBeDefined();
  certified = caller('dns:a', -1);
  expect([credentials.known(presented()), credentials.known(presented('good'))]).toEqual([
    undefined,
    undefined,
  ]);
});
