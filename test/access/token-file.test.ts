import crypto from 'node:crypto';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import type { Caller } from '../../src/access/caller';
import { tokenDigest } from '../../src/access/credentials';
import { readTokenLines, TokenFile } from '../../src/access/tokens';
import { UnusableFile, WatchedFiles } from '../../src/access/watched-files';
import { eventually } from '../support/eventually';
import { ManualClock } from '../support/manual-clock';
import { scratchFolder } from '../support/scratch-folder';
import { assertWithinTime } from '../support/timed-property';

describe('token file', () => {
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
      await assertWithinTime(
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
});

describe('watched files', () => {
  interface Watched {
    readonly loads: readonly string[];
    readonly logged: readonly string[];
    /** The number of looks at the file. */
    readonly looks: () => number;
  }

  let watched: WatchedFiles | undefined;
  afterEach(() => watched?.close());

  /** Watches a file that has the next of these texts at each look, and the last text at all later looks. */
  async function watch(
    texts: readonly string[],
    load: (text: string) => void = () => undefined,
  ): Promise<Watched> {
    const target = join(scratchFolder(), 'watched');
    const loads: string[] = [];
    const logged: string[] = [];
    const write = (_fields: object, message: string): void => void logged.push(message);
    let looks = 0;
    watched = new WatchedFiles({
      files: [
        {
          setting: 'SETTING',
          get path() {
            writeFileSync(target, texts[Math.min(looks, texts.length - 1)] ?? '');
            looks += 1;
            return target;
          },
        },
      ],
      subject: 'the file',
      maxBytes: 100,
      load: ([content]) => {
        loads.push(String(content));
        load(String(content));
      },
      log: { debug: write, info: write, warn: write, error: write },
      intervalMs: 1,
    });
    await watched.start();
    return { loads, logged, looks: () => looks };
  }

  test('a content that only one look has found is not used, because the file may be half written', async () => {
    const { loads } = await watch(['whole', 'whole', '', 'ha', 'half', 'whole', 'ne', 'new', 'new']);
    await eventually('the new content', () => loads.at(-1) === 'new');
    expect(loads).toEqual(['whole', 'new']);
  });

  test('a content that cannot be used is tried once', async () => {
    const refuse = (text: string): void => {
      if (text === 'bad') throw new UnusableFile('it is bad');
    };
    const { loads, logged, looks } = await watch(['good', 'bad'], refuse);
    await eventually('some looks', () => looks() > 20);
    expect(loads).toEqual(['good', 'bad']);
    expect(watched?.hasFailed).toBe(true);
    expect(logged).toEqual(['the file could not be loaded again; the last good ones stay in use']);
  });

  test('a failed load counts as failed until the file has the last good content or a new good one', async () => {
    const refuse = (text: string): void => {
      if (text === 'bad') throw new UnusableFile('it is bad');
    };
    for (const end of ['good', 'new']) {
      const texts = ['good', 'bad'];
      await watch(texts, refuse);
      await eventually('the failure', () => watched?.hasFailed === true);
      texts.push(end);
      await eventually('the end of the failure', () => watched?.hasFailed === false);
      watched?.close();
    }
  });

  test('a load that fails for another reason is tried again, and the log names the failure once', async () => {
    let failures = 3;
    const fail = (text: string): void => {
      if (text === 'new' && (failures -= 1) >= 0) throw new Error('no thread');
    };
    const { loads, logged, looks } = await watch(['old', 'new'], fail);
    await eventually('the new content', () => logged.includes('loaded the file again'));
    const count = looks();
    await eventually('more looks', () => looks() > count + 5);
    expect(loads).toEqual(['old', 'new', 'new', 'new', 'new']);
    expect(logged).toEqual([
      'the file could not be loaded again; the last good ones stay in use',
      'loaded the file again',
    ]);
  });
});
