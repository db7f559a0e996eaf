import { execFileSync, spawn } from 'node:child_process';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect } from '../../clients/typescript';
import { connectionSettings } from '../../src/cli/client';
import { problemText } from '../../src/cli/output';
import { InProcessServer } from '../end-to-end/in-process-server';
import { runProgram } from '../support/cli/run-program';
import { closeAll, eventually } from '../support/eventually';
import { RedisProcess } from '../support/processes/redis-process';
import { TcpProxy } from '../support/proxy/tcp-proxy';
import { scratchFolder } from '../support/scratch-folder';

describe('context', () => {
  let file: string;
  let token: string;

  beforeEach(() => {
    const folder = scratchFolder();
    file = join(folder, 'below', 'contexts.yaml');
    token = join(folder, 'token');
    writeFileSync(token, 'secret');
  });

  const context = (...args: string[]) =>
    runProgram(['context', ...args], { env: { HOLDFAST_CONTEXT_FILE: file } });
  const settings = (flags: object, env: NodeJS.ProcessEnv = {}) =>
    connectionSettings(flags, { HOLDFAST_CONTEXT_FILE: file, ...env });

  test('sets, chooses, lists and deletes contexts', async () => {
    expect(await context('set', 'dev', '-a', '127.0.0.1:1')).toEqual({
      out: '',
      err: 'set: context "dev"\n',
      code: 0,
    });
    await context('set', 'prod', '-a', 'a:1,b:1', '--tls', '--token-file', token);
    expect((await context('use', 'prod')).err).toBe('chosen: context "prod"\n');
    expect((await context('list')).out).toBe(`CHOSEN  NAME  ADDRESS      TLS
        dev   127.0.0.1:1  no
*       prod  a:1,b:1      yes
`);
    expect((await context('list', '-o', 'jsonl')).out).toBe(
      '{"name":"dev","chosen":false,"address":"127.0.0.1:1"}\n' +
        `{"name":"prod","chosen":true,"address":"a:1,b:1","tls":true,"tokenFile":"${token}"}\n`,
    );
    await context('delete', 'prod');
    expect(readFileSync(file, 'utf8')).toBe('contexts:\n  dev:\n    address: 127.0.0.1:1\n');
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  test('refuses an unknown name and a damaged file, with 64', async () => {
    expect(await context('use', 'nowhere')).toMatchObject({ code: 64 });
    await context('set', 'dev', '-a', 'a:1');
    writeFileSync(file, 'contexts: [');
    expect(await context('list')).toMatchObject({ out: '', code: 64 });
    writeFileSync(file, 'contexts:\n  dev:\n    adress: a:1\n');
    expect((await context('list')).err).toContain('the context "dev" has the unknown key "adress"');
  });

  test('takes each value from the flag, else the environment, else the context', async () => {
    await context('set', 'dev', '-a', 'context:1', '--token-file', token);
    expect(settings({})).toEqual({
      address: 'context:1',
      isDefaultAddress: false,
      options: { token: { file: token }, addressTimeout: 2000 },
    });
    expect(settings({}, { HOLDFAST_TOKEN: 'other' })).toMatchObject({ options: { token: 'other' } });
  });

  test('sends the credential of a context to no other address', async () => {
    await context('set', 'dev', '-a', 'context:1', '--token-file', token);
    expect(settings({ address: 'flag:1' })).toEqual({
      address: 'flag:1',
      isDefaultAddress: false,
      options: { addressTimeout: 2000 },
    });
    expect(settings({}, { HOLDFAST_ADDRESS: 'env:1' })).toEqual({
      address: 'env:1',
      isDefaultAddress: false,
      options: { addressTimeout: 2000 },
    });
  });

  test('connects to 127.0.0.1:50051 without any setting, also without HOME', () => {
    expect(connectionSettings({}, { XDG_CONFIG_HOME: join(file, 'absent') })).toEqual({
      address: '127.0.0.1:50051',
      isDefaultAddress: true,
      options: { addressTimeout: 2000 },
    });
  });

  test.each([
    ['a certificate without its key', { cert: '/dev/null' }, '--cert and --key must be given together'],
    ['certificates without TLS', { ca: '/dev/null', tls: false }, '--no-tls contradicts the certificates'],
    ['a token file that cannot be read', { tokenFile: '/nowhere' }, 'the file /nowhere cannot be read'],
  ])('refuses %s', (_title, flags, text) => {
    expect(() => settings(flags)).toThrow(text);
  });

  test.each(['__proto__', 'constructor', 'toString'])(
    'takes %s for a name like every other',
    async (name) => {
      expect(await context('use', name)).toMatchObject({ code: 64 });
      expect(await context('delete', name)).toMatchObject({ code: 64 });
      expect(() => settings({ context: name })).toThrow('there is no context');
      await context('set', 'dev', '-a', 'dev:1');
      expect(await context('set', name, '-a', 'named:1')).toMatchObject({ code: 0 });
      expect(await context('use', name)).toMatchObject({ code: 0 });
      expect(settings({}).address).toBe('named:1');
      expect((await context('list', '-o', 'jsonl')).out).toContain(
        `{"name":"${name}","chosen":true,"address":"named:1"}`,
      );
      expect(await context('delete', name)).toMatchObject({ code: 0 });
      expect((await context('list', '-o', 'jsonl')).out).toBe(
        '{"name":"dev","chosen":false,"address":"dev:1"}\n',
      );
    },
  );

  test('refuses a token file that is too large, a folder and a device, before it connects', () => {
    writeFileSync(token, 'x'.repeat(65_537));
    expect(() => settings({ tokenFile: token })).toThrow(
      `the token file ${token} has 65537 bytes, more than 65536`,
    );
    expect(() => settings({ tokenFile: '/dev/zero' })).toThrow('/dev/zero is neither a file nor a pipe');
    expect(() => settings({ tokenFile: '/tmp' })).toThrow('/tmp is neither a file nor a pipe');
  });

  test('reads a pipe once, for all calls of the command', async () => {
    const pipe = `${token}.pipe`;
    execFileSync('mkfifo', [pipe]);
    const source = settings({ tokenFile: pipe }).options.token as () => Promise<string>;
    const writer = spawn('sh', ['-c', 'echo secret-of-pipe > "$0"', pipe]);
    expect(await Promise.all([source(), source()])).toEqual(['secret-of-pipe\n', 'secret-of-pipe\n']);
    expect(await source()).toBe('secret-of-pipe\n');
    writer.kill();
  });
});

describe('messages of errors', () => {
  /** Messages for mistakes that need no server. */

  const NOTE = 'Resolution note: ';
  const OPEN_SSL = 'error:0A00010B:SSL routines:ssl3_get_record:wrong version number:../ssl3_record.c:354:\n';

  test.each([
    ['connect ECONNREFUSED 127.0.0.1:1', 'Error: connect ECONNREFUSED 127.0.0.1:1. '],
    ['Port should be >= 0', 'RangeError [ERR_SOCKET_BAD_PORT]: Port should be >= 0.. '],
    [
      'the connection ended before an answer (does the server want TLS?)',
      'Error: Failed to connect (2026-11-27T00:06:15.928Z). ',
    ],
    ['TLS: wrong version number (does the server have TLS?)', `Error: 80C0AD137F0000:${OPEN_SSL}. `],
  ])('a failed connection says %j, without the words of gRPC', (problem, inner) => {
    const message = `no server answered in time: No connection established. Last error: ${inner}${NOTE}`;
    expect(problemText(new Error(message))).toBe(`no server answered in time: ${problem}`);
  });

  test('a server that did not answer in time is silent, without the times of gRPC', () => {
    const message = 'Deadline exceeded after 0.019s,name resolution: 0.001s,Waiting for LB pick';
    expect(problemText(new Error(message))).toBe('the server is silent');
    const connected = 'Deadline exceeded after 5.002s,LB pick: 0.001s,remote_addr=127.0.0.1:50051';
    expect(problemText(new Error(connected))).toBe('127.0.0.1:50051 is silent');
  });

  test('a problem is one line, and steers no terminal', () => {
    expect(problemText(new Error('a\u001b[2Jb'))).not.toContain('\u001b');
  });

  test('a server that does not answer at a named address: 69 and the error of the system', async () => {
    const { code, err } = await runProgram(['status', '-a', '127.0.0.1:1', '--timeout', '1s']);
    expect(code).toBe(69);
    expect(err).toBe('no server answered in time: connect ECONNREFUSED 127.0.0.1:1\n');
  });

  test('without any address, the error says how to start a server and how to name another one', async () => {
    const env = { HOLDFAST_CONTEXT_FILE: join(scratchFolder(), 'contexts.yaml') };
    // Even a server at the default address cannot answer in this time.
    const { code, err } = await runProgram(['status', '--timeout', '1ms'], { env });
    expect(code).toBe(69);
    expect(err).toMatch(/^no server answered in time.*; "holdfast dev" starts a server, and --address names/);
  });

  test.each([':', ':50051', 'host:0', 'host:99999', 'a b:1', 'http://host:50051', 'a:1,b/c'])(
    'the address %j is refused at once: 64',
    async (address) => {
      const { code, err } = await runProgram(['status', '-a', address]);
      expect([code, err]).toEqual([64, expect.stringContaining('an address must be "host:port"')]);
      const env = { HOLDFAST_CONTEXT_FILE: join(scratchFolder(), 'contexts.yaml') };
      expect(await runProgram(['context', 'set', 'wrong', '-a', address], { env })).toMatchObject({
        code: 64,
      });
    },
  );

  test.each(['[::1]:50051', 'host:65535', 'dns.example.org:1,127.0.0.1:2'])(
    'the address %j is fine',
    async (address) => {
      const env = { HOLDFAST_CONTEXT_FILE: join(scratchFolder(), 'contexts.yaml') };
      expect(await runProgram(['context', 'set', 'right', '-a', address], { env })).toMatchObject({
        code: 0,
      });
    },
  );

  test.each([
    [['lock', 'nope'], "holdfast: unknown command 'nope'\n"],
    [['lock', 'get'], "holdfast: missing required argument 'name'\n"],
    [['status', '--timeout', '5'], 'It must be a time such as 500ms, 30s, 5m or 1.5h.\n'],
    [['import', '-'], 'stdin is no file here: save the export in a file first\n'],
  ])('wrong usage %j: 64', async (args, problem) => {
    expect(await runProgram(args)).toMatchObject({
      code: 64,
      out: '',
      err: expect.stringContaining(problem) as string,
    });
  });
});

describe('watch gap', () => {
  /** `holdfast lock watch` while no server answers, and while the server does not reach its Redis. */

  /** A busy machine answers within this time too. */
  const ASKING = { firstMs: 100, intervalMs: 100, answerMs: 2000 };

  let redis: RedisProcess;
  let server: InProcessServer;
  let proxy: TcpProxy;

  beforeAll(async () => {
    redis = await RedisProcess.start({ inMemory: true });
    server = await InProcessServer.start(redis.url, { HOLDFAST_COMMAND_TIMEOUT: '1s' });
    proxy = await TcpProxy.open({ targetPort: Number(server.address.split(':')[1]), protocol: 'tcp' });
  });
  afterAll(() =>
    closeAll(
      () => proxy.close(),
      () => server.closeDespiteWarnings(),
      () => redis.close(),
    ),
  );

  interface Gap {
    readonly title: string;
    readonly begin: () => void | Promise<void>;
    readonly end: () => void | Promise<void>;
    readonly text: RegExp;
  }

  test.each<Gap>([
    {
      title: 'no server answers',
      begin: () => {
        proxy.refuseNew();
        proxy.cutAll();
      },
      end: () => proxy.passEverything(),
      text: /^holdfast: lock "watched" may have changed unseen: no server answers: /,
    },
    {
      title: 'the server hangs',
      begin: () => proxy.blackHole('both'),
      end: () => proxy.passEverything(),
      text: /^holdfast: lock "watched" may have changed unseen: 127\.0\.0\.1:\d+ is silent$/,
    },
    {
      title: 'the server does not reach its store',
      begin: () => redis.stop(),
      end: () => redis.cont(),
      text: /^holdfast: lock "watched" may have changed unseen: the server does not reach its store$/,
    },
  ])('a watch says once that $title, and once that this is over, and keeps stdout clean', async (gap) => {
    const ctrlC = new AbortController();
    const shown = { out: '', err: '' };
    const args = ['lock', 'watch', 'watched', '-o', 'jsonl', '--address', proxy.address];
    const watching = runProgram(args, {
      asking: ASKING,
      signal: ctrlC.signal,
      onOut: (text) => (shown.out = text),
      onErr: (text) => (shown.err = text),
    });
    try {
      await eventually('the first state', () => shown.out.includes('\n'));
      await gap.begin();
      await eventually('the line about the gap', () => shown.err.includes('\n'));
      // The command asks again in this time, and says nothing more.
      await sleep(2 * ASKING.intervalMs + ASKING.answerMs);
      await gap.end();
      await eventually('the line about the end', () => shown.err.includes('watched again'));
    } finally {
      ctrlC.abort(new Error('ended by SIGINT'));
    }
    const { out, err } = await watching;
    for (const line of out.trimEnd().split('\n')) expect(JSON.parse(line)).toMatchObject({ name: 'watched' });
    expect(err.split('\n').slice(0, 2)).toEqual([
      expect.stringMatching(gap.text),
      'holdfast: lock "watched" is watched again',
    ]);
  });

  test('a watch leaves a server that hangs, says so, and shows the changes that the next address sends', async () => {
    const ctrlC = new AbortController();
    const shown = { out: '', err: '' };
    const addresses = `${proxy.address},${server.address}`;
    const watching = runProgram(['lock', 'watch', 'moved', '-o', 'jsonl', '--address', addresses], {
      asking: ASKING,
      signal: ctrlC.signal,
      onOut: (text) => (shown.out = text),
      onErr: (text) => (shown.err = text),
    });
    try {
      await eventually('the first state', () => shown.out.includes('\n'));
      proxy.blackHole('both');
      await eventually('the line about the gap', () => shown.err.includes('\n'));
      const hf = await connect(server.address);
      try {
        const lease = await hf.lock('moved');
        await eventually('the holder', () => shown.out.includes(String(lease.fencingToken)));
      } finally {
        await hf.close();
      }
      await eventually('the line about the end', () => shown.err.includes('watched again'));
    } finally {
      ctrlC.abort(new Error('ended by SIGINT'));
      proxy.passEverything();
    }
    const { err } = await watching;
    expect(err.split('\n').slice(0, 2)).toEqual([
      `holdfast: lock "moved" may have changed unseen: ${proxy.address} is silent`,
      'holdfast: lock "moved" is watched again',
    ]);
  });
});
