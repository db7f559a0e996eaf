import crypto from 'node:crypto';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import type { Caller } from '../../src/access/caller';
import { tokenDigest } from '../../src/access/credentials';
import { readTokenLines, TokenFile } from '../../src/access/tokens';
import { eventually } from '../support/eventually';
import { ManualClock } from '../support/manual-clock';
import { scratchFolder } from '../support/scratch-folder';

const digest = tokenDigest('s3cret');
const line = (identity: string, token: string, end = '') =>
  `${identity} sha256:${tokenDigest(token)}${end && ` ${end}`}\n`;

test('tokenDigest is SHA-256 as sha256sum prints it', () => {
  expect(tokenDigest('abc')).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
});

describe('readTokenLines', () => {
  test('reads identities, digests and ends, and skips comments and empty lines', async () => {
    const text = `# tokens of team a\n\nalice sha256:${digest.toUpperCase()} 2030-01-31T12:00:00+01:00\r\n\tbob  sha256:${tokenDigest('x')}\n`;
    expect(await readTokenLines(text)).toEqual([
      { identity: 'token:alice', digest, endsAtMs: Date.UTC(2030, 0, 31, 11) },
      { identity: 'token:bob', digest: tokenDigest('x'), endsAtMs: Infinity },
    ]);
  });

  test('accepts several tokens of one identity, a file of comments, and an empty file', async () => {
    expect(await readTokenLines(line('alice', 'old') + line('alice', 'new'))).toHaveLength(2);
    expect(await readTokenLines('# nobody\n')).toEqual([]);
    expect(await readTokenLines('')).toEqual([]);
  });

  test.each([
    [line('alice', 'a').trimEnd(), 'does not end with a line feed'],
    [`# one\nalice sha256:${digest.slice(1)}\n`, 'line 2 is not "identity sha256:'],
    [`alice s3cret\n`, 'line 1 is not'],
    [`alice md5:${digest}\n`, 'line 1 is not'],
    [line('alice', 'a', '2030-01-31'), 'line 1 has an end that is not a time'],
    [line('alice', 'a', '2030-02-30T00:00:00Z'), 'line 1 has an end that is not a time'],
    [line('alice', 'a', '2030-01-31T12:00:00'), 'line 1 has an end that is not a time'],
    [line('alice', 'a', '2030-01-31T12:00:00Z x'), 'line 1 is not'],
    [line('alice', 'a') + line('bob', 'a'), 'line 2 has the same token as line 1'],
    [line('a'.repeat(251), 'a'), 'line 1 has an identity that is not accepted: longer than 256 bytes'],
    [line('al\u0007ice', 'a'), 'line 1 has an identity that is not accepted: has control characters'],
    [line('al\u202eice', 'a'), 'line 1 has an identity that is not accepted: has control characters'],
    [line('al\u00adice', 'a'), 'or invisible characters'],
    [line('al\u200bice', 'a'), 'or invisible characters'],
    [line('alice\u{e0061}', 'a'), 'or invisible characters'],
  ])('refuses %j', async (text, problem) => {
    await expect(readTokenLines(text)).rejects.toThrow(problem);
  });

  test('never takes a file that is cut off inside a line', async () => {
    const whole = line('alice', 'a', '2030-01-31T12:00:00Z') + line('bob', 'b');
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: whole.length - 1 }), async (length) => {
        const cut = whole.slice(0, length);
        const outcome = await readTokenLines(cut).then(
          (found) => found.length,
          () => 'refused',
        );
        expect(outcome).toBe(cut.endsWith('\n') ? 1 : 'refused');
      }),
    );
  });
});

describe('the token file', () => {
  const clock = new ManualClock(1000);
  const warnings: object[] = [];
  const changed: Caller[] = [];
  let path: string;
  let file: TokenFile;

  async function start(text: string): Promise<void> {
    path = join(scratchFolder(), 'tokens');
    writeFileSync(path, text);
    warnings.length = changed.length = 0;
    const ignore = (): void => undefined;
    const log = {
      debug: ignore,
      info: ignore,
      error: ignore,
      warn: (fields: object) => void warnings.push(fields),
    };
    file = new TokenFile({
      file: { setting: 'HOLDFAST_AUTH_TOKENS', path },
      clock,
      log,
      onChanged: (caller) => void changed.push(caller),
      intervalMs: 10,
    });
    await file.start();
  }
  afterEach(() => file.close());

  test('finds the caller of a token, and nobody for another token', async () => {
    await start(line('alice', 's3cret') + line('bob', 'b'));
    expect(file.find(digest)).toEqual({ identity: 'token:alice', expiresAt: Infinity });
    expect(file.find(tokenDigest('s3cre'))).toBeUndefined();
    expect(file.find(tokenDigest('alice'))).toBeUndefined();
  });

  test('compares digests in constant time', async () => {
    const compare = jest.spyOn(crypto, 'timingSafeEqual');
    await start(line('alice', 's3cret'));
    file.find(digest);
    expect(compare).toHaveBeenCalledTimes(1);
    compare.mockRestore();
  });

  test('converts the end of a token to the monotonic clock', async () => {
    const end = new Date(Date.now() + 60_000).toISOString();
    await start(line('alice', 's3cret', end));
    const left = (file.find(digest)?.expiresAt ?? NaN) - clock.now();
    expect(left).toBeGreaterThan(0);
    expect(left).toBeLessThanOrEqual(60_000);
  });

  test('takes a new token beside the old one, then removes the old one, without a restart', async () => {
    await start(line('alice', 'old'));
    const old = file.find(tokenDigest('old'));
    writeFileSync(path, line('alice', 'old') + line('alice', 'new'));
    await eventually('the new token', () => file.find(tokenDigest('new')));
    // Open calls keep their caller.
    expect(file.find(tokenDigest('old'))).toBe(old);
    expect(old?.expiresAt).toBe(Infinity);
    writeFileSync(path, line('alice', 'new'));
    await eventually('the end of the old token', () => file.find(tokenDigest('old')) === undefined);
    expect(old?.expiresAt).toBe(-Infinity);
    expect(changed).toContain(old);
  });

  test.each(['', '# none\n'])(
    'locks out the only token when its line is removed: %j is left',
    async (left) => {
      await start(line('alice', 'stolen'));
      const stolen = file.find(tokenDigest('stolen'));
      writeFileSync(path, left);
      await eventually('the end of the token', () => file.find(tokenDigest('stolen')) === undefined);
      expect(stolen?.expiresAt).toBe(-Infinity);
      expect(changed).toContain(stolen);
      expect(warnings).toEqual([{ file: path }]);
    },
  );

  test('gives a token of another identity another caller', async () => {
    await start(line('alice', 's3cret'));
    const alice = file.find(digest);
    writeFileSync(path, line('bob', 's3cret'));
    await eventually('the other identity', () => file.find(digest)?.identity === 'token:bob');
    expect(alice).toEqual({ identity: 'token:alice', expiresAt: -Infinity });
  });

  test('keeps the last good tokens while the file is bad or missing, and names the line once', async () => {
    await start(line('alice', 's3cret'));
    writeFileSync(path, '# comment\nalice sha256:12\n');
    await eventually('a warning', () => warnings.length > 0);
    expect(file.find(digest)?.expiresAt).toBe(Infinity);
    rmSync(path);
    await eventually('a second warning', () => warnings.length > 1);
    expect(file.find(digest)?.expiresAt).toBe(Infinity);
    expect(warnings).toEqual([
      { problem: expect.stringContaining('HOLDFAST_AUTH_TOKENS cannot be used: line 2 is not') as string },
      { problem: expect.stringContaining('HOLDFAST_AUTH_TOKENS cannot be read') as string },
    ]);
    writeFileSync(path, line('alice', 'new'));
    await eventually('the new token', () => file.find(tokenDigest('new')));
  });

  test('does not start with a bad file', async () => {
    await expect(start('alice\n')).rejects.toThrow('HOLDFAST_AUTH_TOKENS cannot be used: line 1');
  });
});
