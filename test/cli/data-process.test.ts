import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { InProcessServer } from '../end-to-end/in-process-server';
import { CliProcess, cliProgram } from '../support/cli/cli-process';
import { closeAll } from '../support/eventually';
import { RedisProcess } from '../support/processes/redis-process';
import { scratchFolder } from '../support/scratch-folder';

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

const WORDS = Array.from({ length: 20_000 }, (_, i) => `word ${i} ${'x'.repeat(60)}\n`).join('');

test('an import from a pipe shows no bar, and an export ends with 141 and no message when its reader leaves', async () => {
  const imported = await run(['complete', 'import', 'words', '-', '--format', 'text'], WORDS);
  expect(imported).toEqual({ code: 0, out: '', err: 'imported: 20000 entries into "words"\n' });
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
  await run(['complete', 'import', 'kept', '-', '--format', 'text'], 'before\n');
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
  expect((await run(['complete', 'entries', 'kept'])).out).toMatch(/^before +before /m);
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
  expect(await run(absent)).toMatchObject({ code: 69 });
});
