import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { InProcessServer } from '../end-to-end/in-process-server';
import { CliProcess, cliProgram } from '../support/cli/cli-process';
import { type FakeTerminal, runProgram } from '../support/cli/run-program';
import { closeAll } from '../support/eventually';
import { RedisProcess } from '../support/processes/redis-process';
import { scratchFolder } from '../support/scratch-folder';

describe('export import', () => {
  let redis: RedisProcess[];
  let from: InProcessServer;
  let to: InProcessServer;
  let file: string;

  beforeAll(async () => {
    redis = await Promise.all([1, 2].map(() => RedisProcess.start({ appendfsync: 'no' })));
    [from, to] = (await Promise.all(redis.map(({ url }) => InProcessServer.start(url)))) as [
      InProcessServer,
      InProcessServer,
    ];
    file = join(scratchFolder(), 'export.jsonl');
  });
  afterAll(() =>
    closeAll(
      () => from?.closeDespiteWarnings(),
      () => to?.closeDespiteWarnings(),
      ...(redis ?? []).map((one) => () => one.close()),
    ),
  );

  const at = (server: InProcessServer, args: readonly string[], fake?: FakeTerminal) =>
    runProgram([...args, '-a', server.address, '--timeout', '30s'], fake);

  function linesOf(text: string): Record<string, unknown>[] {
    return text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
  }

  /** An export with these lines between its header and its last line. */
  function exportOf(
    lines: readonly unknown[],
    { version = 1, entryCount = 0, dictionaryCount = 0 } = {},
  ): string {
    const body = [{ holdfastExport: { version } }, ...lines]
      .map((line) => `${JSON.stringify(line)}\n`)
      .join('');
    const sha256 = createHash('sha256').update(body).digest('hex');
    const end = { semaphoreCount: 0, dictionaryCount, entryCount, sha256 };
    return `${body}${JSON.stringify({ end })}\n`;
  }

  async function imported(text: string, ...flags: string[]) {
    writeFileSync(file, text);
    return at(to, ['import', file, ...flags]);
  }

  test('another store takes back dictionaries with their profiles and the limits of semaphores', async () => {
    // More entries than one page.
    const words = Array.from(
      { length: 1203 },
      (_, i) => `{"entryId":"${i}","text":"word ${i}","weight":${i}}`,
    );
    const input = `${words.join('\n')}\n{"entryId":"é","text":"Genève","aliases":["Geneva"],"payload":"AQI="}`;
    await at(from, ['complete', 'import', 'shop/words', '-', '--format', 'jsonl', '--accents', 'dropped'], {
      input,
    });
    await at(from, ['complete', 'create', 'shop/empty', '--typos', 'off']);
    await at(from, ['semaphore', 'set-limit', 'gpu', '8']);
    await at(from, ['semaphore', 'set-limit', 'halted', '4']);
    await at(from, ['semaphore', 'pause', 'halted']);
    await at(from, ['semaphore', 'set-limit', 'zero', '0']);
    const { out, code } = await at(from, ['export']);
    expect(code).toBe(0);
    writeFileSync(file, out);

    expect((await at(to, ['import', file, '--dry-run'])).err).toBe(
      'valid: 3 semaphores, 2 dictionaries with 1204 entries\n',
    );
    expect((await at(to, ['complete', 'list'])).out).toBe('');
    const { err } = await at(to, ['import', file]);
    // The order of a list is not alphabetical.
    const told = [
      'limit 8: semaphore "gpu"',
      'limit 4, paused: semaphore "halted"',
      'limit 0: semaphore "zero"',
    ];
    expect(err.split('\n').slice(0, 3).sort()).toEqual(told.sort());
    expect(err.split('\n').slice(3)).toEqual([
      'imported: 0 entries into "shop/empty"',
      'imported: 1204 entries into "shop/words"',
      'done: 3 semaphores, 2 dictionaries with 1204 entries',
      '',
    ]);
    const resumed = await at(to, ['semaphore', 'resume', 'halted', '-o', 'json']);
    expect(JSON.parse(resumed.out)).toMatchObject({ limit: 4 });
    await at(to, ['semaphore', 'pause', 'halted']);
    const again = await at(to, ['export']);
    // The first line has the time, and so the last line another checksum.
    expect(linesOf(again.out).slice(1, -1)).toEqual(linesOf(out).slice(1, -1));
  });

  test('an option limits the export to names with a prefix', async () => {
    await at(from, ['semaphore', 'set-limit', 'cpu', '3']);
    await at(from, ['complete', 'create', 'a1']);
    const kinds = async (...args: string[]) => {
      const lines = linesOf((await at(from, ['export', ...args])).out);
      return lines.slice(1, -1).map((line) => Object.keys(line)[0]);
    };
    expect(await kinds('--semaphores', 'cp')).toEqual(['semaphore']);
    expect(await kinds('--dictionaries', 'a1')).toEqual(['dictionary', 'dictionaryEnd']);
    expect(await kinds('--dictionaries', 'zz', '--semaphores', 'zz')).toEqual([]);
  });

  test('an export that is interrupted has no last line', async () => {
    const interrupted = new AbortController();
    const stop = (text: string) => text.includes('"dictionary"') && interrupted.abort(new Error('stopped'));
    const { out, err } = await at(from, ['export'], { signal: interrupted.signal, onOut: stop });
    expect(err).toBe('stopped\n');
    expect(linesOf(out).some((line) => 'end' in line)).toBe(false);
  });

  const PROFILE = { accents: 'ACCENT_HANDLING_KEPT', typoMatching: 'TYPO_MATCHING_ON' };
  const DICTIONARY = { dictionary: { name: 'd', profile: PROFILE } };
  const ENTRY = { entry: { entryId: '1', text: 'a' } };
  const END = { dictionaryEnd: { entryCount: 1 } };
  const COUNTS = { entryCount: 1, dictionaryCount: 1 };
  const GOOD = exportOf([DICTIONARY, ENTRY, END], COUNTS);

  test.each([
    ['', 'is empty, and no export'],
    ['{"a":1}\n', 'line 1 of FILE: "a" must be an object'],
    ['{"entry":{}}\n', 'it is not the first line of an export of holdfast'],
    [exportOf([], { version: 2 }), 'the export has version 2, and this program reads version 1'],
    [GOOD.replace(/[^\n]*\n$/, ''), 'has no last line: the export was cut short'],
    [GOOD.slice(0, -20), 'line 5 of FILE: is no JSON'],
    [GOOD.replace('"a"', '"b"'), 'the checksum differs: the file was changed after the export'],
    [`${GOOD}{"entry":{}}\n`, 'line 6 of FILE: comes after the end of the export'],
    [exportOf([DICTIONARY, ENTRY, END]), '"dictionaryCount" is 0, but the file has 1'],
    [exportOf([DICTIONARY, END], COUNTS), 'the dictionary has 0 entries instead of 1'],
    [exportOf([DICTIONARY, ENTRY], COUNTS), 'the last dictionary has no end'],
    [exportOf([DICTIONARY, DICTIONARY], COUNTS), '"dictionary" is at the wrong place'],
    [exportOf([ENTRY], COUNTS), '"entry" is at the wrong place'],
    [
      exportOf([DICTIONARY, { entry: { entryId: '', text: 'a' } }, END], COUNTS),
      'line 3 of FILE: "entryId" must',
    ],
    [
      exportOf([{ dictionary: { name: 'd', profile: { accents: 'X' } } }]),
      '"accents" has the unknown value "X"',
    ],
    [exportOf([{ semaphore: { name: 's', limit: -1 } }]), '"limit" must be a whole number'],
    [
      exportOf([{ semaphore: { name: 's', limit: 0, keptLimit: '3' } }]),
      '"keptLimit" must be a whole number',
    ],
    [exportOf([{ semaphore: { name: 's', limit: 2, keptLimit: 3 } }]), '"keptLimit" must have the "limit" 0'],
    [exportOf([{ lease: {} }]), '"lease" is no part of an export'],
  ])('an import refuses %j before it changes anything', async (text, problem) => {
    const before = (await at(to, ['complete', 'list'])).out;
    const { code, err } = await imported(text);
    expect(err.replaceAll(file, 'FILE')).toContain(problem);
    expect(code).toBe(64);
    expect((await at(to, ['complete', 'list'])).out).toBe(before);
  });

  test('an import refuses an entry that only the server can judge, and keeps that dictionary', async () => {
    await imported(GOOD);
    // Folding makes 18 characters of this character, so the folded text is longer than 2048 bytes.
    const wide = { entry: { entryId: '2', text: '\ufdfa'.repeat(170) } };
    const { code, err } = await imported(exportOf([DICTIONARY, wide, END], COUNTS));
    expect(err).toContain('INVALID_FIELD');
    expect(code).toBe(64);
    expect((await at(to, ['complete', 'entries', 'd', '-o', 'jsonl'])).out).toBe(
      `${JSON.stringify(ENTRY)}\n`,
    );
  });

  test('an import needs a regular file, because the file is read twice', async () => {
    expect(await at(to, ['import', '/dev/stdin'], {})).toMatchObject({ code: 64 });
    expect((await at(to, ['import', `${file}.none`])).err).toContain('cannot be read: ENOENT');
    expect(readFileSync(file, 'utf8')).not.toBe('');
  });
});

describe('data process', () => {
  let redis: RedisProcess;
  let server: InProcessServer;
  let folder: string;
  let env: Record<string, string>;

  beforeAll(async () => {
    redis = await RedisProcess.start({ appendfsync: 'no' });
    server = await InProcessServer.start(redis.url);
    folder = scratchFolder();
    env = { HOLDFAST_ADDRESS: server.address };
  });
  afterAll(() =>
    closeAll(
      () => server?.closeDespiteWarnings(),
      () => redis?.close(),
    ),
  );

  async function run(args: readonly string[], input = '') {
    const cli = new CliProcess(args, { env, input });
    const { code } = await cli.ended();
    return { code, out: cli.stdout, err: cli.stderr };
  }

  /** In this process. */
  const holdfast = (args: readonly string[], input = '') => runProgram(args, { env, input });

  // Several times what a pipe holds.
  const WORDS = Array.from({ length: 5000 }, (_, i) => `word ${i} ${'x'.repeat(60)}\n`).join('');

  test('an import from a pipe shows no bar, and an export ends with 141 and no message when its reader leaves', async () => {
    const imported = await run(['complete', 'import', 'words', '-', '--format', 'text'], WORDS);
    expect(imported).toEqual({ code: 0, out: '', err: 'imported: 5000 entries into "words"\n' });
    // The export has more bytes than the pipe, so it still writes when head has ended.
    const shell = `"$0" "$1" export 2>&1 >&3 | cat; exit "\${PIPESTATUS[0]}"`;
    const child = spawn(
      'bash',
      [
        '-c',
        `{ ${shell}; } 3>&1 >"$2" | head -n 1; exit "\${PIPESTATUS[0]}"`,
        process.execPath,
        cliProgram(),
        join(folder, 'err'),
      ],
      {
        env: { PATH: process.env['PATH'], ...env },
        stdio: ['ignore', 'pipe', 'inherit'],
      },
    );
    let out = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text));
    const [code] = (await once(child, 'close')) as [number];
    expect(out).toMatch(/^\{"holdfastExport":\{"version":1,.*\}\}\n$/);
    expect(code).toBe(141);
    expect(spawnSync('cat', [join(folder, 'err')], { encoding: 'utf8' }).stdout).toBe('');
  });

  test('an output that cannot be written ends with 1, and one line says why', () => {
    const script = '"$0" "$1" completion bash > /dev/full';
    const options = { env: { PATH: process.env['PATH'], ...env }, encoding: 'utf8' } as const;
    const { status, stderr } = spawnSync('sh', ['-c', script, process.execPath, cliProgram()], options);
    expect(status).toBe(1);
    expect(stderr).toMatch(/^holdfast: stdout cannot be written: ENOSPC.*\n$/);
  });

  test('an import that a signal ends changes nothing, and has the exit code of the signal', async () => {
    await holdfast(['complete', 'import', 'kept', '-', '--format', 'text'], 'before\n');
    expect(spawnSync('mkfifo', [join(folder, 'fifo')]).status).toBe(0);
    const waiting = new CliProcess(['complete', 'import', 'kept', join(folder, 'fifo'), '--format', 'text'], {
      env,
    });
    // The open of a pipe by name waits for its reader.
    const writer = spawn('bash', [
      '-c',
      'exec 3>"$1"; echo after >&3; echo opened; exec sleep 600',
      'bash',
      join(folder, 'fifo'),
    ]);
    try {
      await once(writer.stdout, 'data');
      waiting.signal('SIGINT');
      expect((await waiting.ended()).code).toBe(130);
    } finally {
      writer.kill('SIGKILL');
      await waiting.close();
    }
    expect((await holdfast(['complete', 'entries', 'kept'])).out).toMatch(/^before +before /m);
  });

  test('top without a terminal prints once, without colour and control sequences', async () => {
    expect(await run(['top'])).toMatchObject({ code: 0, out: 'no waiters found\n' });
    const listed = await run(['complete', 'list']);
    expect(listed.out).toMatch(/^NAME +ENTRIES/);
    expect(listed.out).not.toContain('\u001b');
  });

  test('TLS to a server without TLS ends with 69 and one line', async () => {
    const { code, err } = await run(['complete', 'list', '--tls', '--timeout', '1s']);
    expect(code).toBe(69);
    expect(err).toMatch(/^holdfast: no server answered in time: .*\(does the server have TLS\?\)\n$/);
  });

  test('a wrong file ends with 64, and an absent server with 69', async () => {
    const file = join(folder, 'wrong.jsonl');
    writeFileSync(file, '{"holdfastExport":{"version":2}}\n');
    const wrong = await run(['import', file]);
    expect(wrong).toMatchObject({ code: 64, out: '' });
    expect(wrong.err).toBe(
      `holdfast: line 1 of ${file}: the export has version 2, and this program reads version 1\n`,
    );
    const absent = ['complete', 'list', '-a', '127.0.0.1:1', '--timeout', '500ms'];
    expect(await holdfast(absent)).toMatchObject({ code: 69 });
  });
});
