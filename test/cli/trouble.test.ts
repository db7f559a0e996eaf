import { once } from 'node:events';
import { existsSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { status } from '@grpc/grpc-js';
import { type Holdfast, UnavailableError } from '../../clients/typescript';
import { StoreState } from '../../generated/typescript/holdfast/v1/server_service';
import { tokenDigest } from '../../src/access/credentials';
import { withPorts } from '../../src/cli/client';
import { RunTrouble } from '../../src/cli/server-trouble';
import { ASKING } from '../../src/cli/terminal';
import { writePolicy } from '../contract/policy-harness';
import { InProcessServer } from '../end-to-end/in-process-server';
import { CommandRun, runProgram } from '../support/cli/run-program';
import { closeAll, eventually } from '../support/eventually';
import { inheritedEnvironment } from '../support/processes/child-program';
import { RedisProcess } from '../support/processes/redis-process';
import { TcpProxy } from '../support/proxy/tcp-proxy';
import { scratchFolder } from '../support/scratch-folder';

/** A server that refuses connections is asked for this time. A busy server answers within this time too. */
const SOON = ['--timeout', '2s'];

describe('trouble with servers', () => {
  /** What the program says while nothing is granted, while its server is silent, and when an address hangs. */

  let redis: RedisProcess;
  let server: InProcessServer;
  let count = 0;
  let name: string;
  const open: CommandRun[] = [];

  beforeAll(async () => {
    redis = await RedisProcess.start({ inMemory: true });
    server = await InProcessServer.start(redis.url, { HOLDFAST_COMMAND_TIMEOUT: '2s' });
  });
  beforeEach(() => (name = `name-${count++}`));
  afterEach(() => closeAll(...open.splice(0).map((cli) => () => cli.close())));
  afterAll(() =>
    closeAll(
      () => server.closeDespiteWarnings(),
      () => redis.close(),
    ),
  );

  function start(args: readonly string[], address = server.address): CommandRun {
    const cli = new CommandRun(args, { HOLDFAST_ADDRESS: address });
    open.push(cli);
    return cli;
  }

  /** One wording in all commands. */
  const PAUSE = String.raw`paused until \d\d:\d\d:\d\d, because the store was emptied or is new; "holdfast end-quarantine" may end it early`;

  const says = (cli: CommandRun, text: string | RegExp) =>
    eventually(`${String(text)} on stderr`, () => cli.stderr.match(text) !== null, { timeoutMs: 60_000 });

  describe('while grants are paused', () => {
    let paused: InProcessServer;
    let store: RedisProcess;
    beforeAll(async () => {
      store = await RedisProcess.start({ inMemory: true });
      paused = await InProcessServer.start(store.url, { HOLDFAST_STORE_IS_NEW: '0' });
    });
    afterAll(() =>
      closeAll(
        () => paused.closeDespiteWarnings(),
        () => store.close(),
      ),
    );

    test('a run that does not wait says until when and why, and has an exit code that -E does not change', async () => {
      const cli = start(['lock', 'run', name, '--wait', '0s', '-E', '0', '--', 'true'], paused.address);
      expect(await cli.ended()).toMatchObject({ code: 74 });
      expect(cli.stderr).toMatch(new RegExp(`^lock "${name}" was not granted: grants are ${PAUSE}\n$`));
    });

    test('lock get, status and status --all say once that grants are paused, with one text', async () => {
      for (const words of ['status', 'status --all', `lock get ${name}`]) {
        const { out } = await runProgram([...words.split(' '), '-a', paused.address]);
        expect(out).toMatch(new RegExp(` ${PAUSE}$`, 'm'));
        expect(out.match(/was emptied|EndQuarantine/g)).toHaveLength(1);
      }
    });

    test.each([
      'top --once',
      'lock list',
      'semaphore list --contended',
      'lock list -o json',
      'lock get a -o json',
    ])('%s says on stderr that grants are paused', async (words) => {
      const { out, err, code } = await runProgram([...words.split(' '), '-a', paused.address]);
      // A busy server may not have counted all names, which is a second line.
      expect(err).toMatch(new RegExp(`^holdfast: grants are ${PAUSE}$`, 'm'));
      expect(out).not.toContain('paused');
      expect(code).toBe(0);
    });

    test('semaphore get of a semaphore that the store lacks shows the pause, and advises no option of another command', async () => {
      const { out, err, code } = await runProgram(['semaphore', 'get', name, '-a', paused.address]);
      expect(err).toMatch(
        new RegExp(
          `^holdfast: grants are ${PAUSE}\nsemaphore "${name}" does not exist; create it with "holdfast semaphore set-limit" \\[NO_SUCH_SEMAPHORE\\]\n$`,
        ),
      );
      expect([out, code]).toEqual(['', 1]);
    });

    test('lock run, semaphore run and elect say once that they wait for the end of the pause, and run after it', async () => {
      await store.command('FLUSHALL');
      await eventually('the pause', async () => {
        const { out } = await runProgram(['status', '-a', paused.address]);
        return out.includes('paused until');
      });
      const runs = [['lock', 'run'], ['semaphore', 'run', '--limit', '1'], ['elect']].map((words) =>
        start([...words, name, '--', 'echo', 'done'], paused.address),
      );
      for (const cli of runs) await says(cli, /paused until/);
      await runProgram(['end-quarantine', '--reason', 'test', '-a', paused.address]);
      for (const cli of runs) {
        expect(await cli.ended()).toMatchObject({ code: 0 });
        expect(cli.stdout).toBe('done\n');
        expect(cli.stderr.match(/paused until/g)).toHaveLength(1);
      }
    });
  });

  test.concurrent(
    'a run names its silent server as the cause of the loss, and ends without waiting for its answer',
    async () => {
      // Not in `open`, because no `afterEach` runs for concurrent tests.
      const proxy = await TcpProxy.open({
        targetPort: Number(server.address.split(':')[1]),
        protocol: 'tcp',
      });
      const words = [
        'lock',
        'run',
        'behind-a-proxy',
        '--ttl',
        '4s',
        '--',
        'sh',
        '-c',
        'echo ready; exec sleep 60',
      ];
      const cli = new CommandRun(words, { HOLDFAST_ADDRESS: proxy.address });
      try {
        await cli.prints('ready');
        proxy.blackHole('both');
        expect(await cli.ended()).toMatchObject({ code: 76 });
        expect(cli.stderr).toMatch(
          /^holdfast: the lease of "behind-a-proxy" .* (is silent|DNS|no server|connect).*; the command was ended before the deadline$/m,
        );
        expect(cli.stderr).not.toContain('release');
      } finally {
        await cli.close();
        await proxy.close();
      }
    },
  );

  test('a run without a known cause of its loss asks a server once, and takes a slow server for no silent one', async () => {
    let written = '';
    const trouble = new RunTrouble(
      { asking: ASKING, err: new PassThrough().on('data', (text) => (written += String(text))) },
      false,
    );
    const call = jest.fn<Promise<unknown>, []>();
    const hf = { trouble: undefined, call } as unknown as Holdfast;
    call.mockResolvedValueOnce({ storeState: StoreState.STORE_STATE_UNREACHABLE });
    expect(await trouble.atLoss(hf)).toBe('the server does not reach its store');
    call.mockRejectedValueOnce(new UnavailableError('late', { reason: '', code: status.DEADLINE_EXCEEDED }));
    expect(await trouble.atLoss(hf)).toBeUndefined();
    call.mockRejectedValueOnce(new UnavailableError('refused', { reason: '', code: status.UNAVAILABLE }));
    expect(await trouble.atLoss(hf)).toBe('no server answers: refused');
    expect(call).toHaveBeenCalledTimes(3);
    expect(written).toBe('');
  });

  // A run says so once, and once that the store is reached again.
  test('a run, status --all, and a run that does not wait name the store that a server does not reach', async () => {
    const holder = start([
      'lock',
      'run',
      name,
      '--ttl',
      '60s',
      '--',
      'sh',
      '-c',
      'echo ready; exec sleep 60',
    ]);
    await holder.prints('ready');
    const run = (...words: string[]) => runProgram(['status', '--all', ...words, '-a', server.address]);
    await redis.stop();
    try {
      const shown = await eventually('an unreachable store', async () => {
        const one = await run();
        return one.out.includes('unreachable') && one;
      });
      expect(shown.out).toMatch(
        new RegExp(`^${server.address} .* unreachable +the server does not reach its store$`, 'm'),
      );
      expect(shown.code).toBe(69);
      expect(await run('-o', 'jsonl')).toMatchObject({ code: 69, err: '' });
      const cli = start(['lock', 'run', `${name}-other`, '--wait', '0s', '-E', '0', '--', 'true']);
      expect(await cli.ended()).toMatchObject({ code: 69 });
      expect(cli.stderr).toMatch(
        /^lock "name-\d+-other" was not granted: the server does not reach its store$/m,
      );
      expect(cli.stderr).not.toContain('no server');
      await says(holder, 'holdfast: the server does not reach its store\n');
    } finally {
      await redis.cont();
    }
    await says(holder, 'holdfast: the server reaches its store again\n');
    await eventually('the store again', async () => (await run()).code === 0);
    holder.signal('SIGTERM');
    await holder.ended();
    expect(holder.stderr.match(/store/g)).toHaveLength(2);
  });

  test.concurrent('a command asks an address that hangs once, and then leaves it alone', async () => {
    const sockets = new Set<Socket>();
    const hung: Server = createServer((socket) => sockets.add(socket.on('error', () => undefined)));
    await once(hung.listen(0, '127.0.0.1'), 'listening');
    try {
      const { port } = hung.address() as AddressInfo;
      const { out } = await runProgram(['status', '-a', `127.0.0.1:${port},${server.address}`]);
      expect(out).toContain('version');
      expect(sockets.size).toBe(1);
    } finally {
      for (const socket of sockets) socket.destroy();
      hung.close();
    }
  });

  test.each([
    ['lock-1', 'lock-1:50051'],
    ['lock-1, lock-2:7', 'lock-1:50051,lock-2:7'],
    ['[::1]', '[::1]:50051'],
    ['::1', '[::1]:50051'],
    ['[::1]:7', '[::1]:7'],
    ['127.0.0.1', '127.0.0.1:50051'],
    ['http://lock-1', 'http://lock-1'],
  ])('the address %s means %s', (given, meant) => {
    expect(withPorts(given)).toBe(meant);
  });

  test.concurrent('status --all has one line for each address, and 69 if one does not answer', async () => {
    const gone = '127.0.0.1:1';
    const shown = await runProgram(['status', '--all', '-a', `${gone},${server.address}`, ...SOON]);
    expect(shown.code).toBe(69);
    expect(shown.out).toMatch(new RegExp(`^${gone} .*ECONNREFUSED`, 'm'));
    expect(shown.out).toMatch(new RegExp(`^${server.address} .* ok$`, 'm'));
  });
});

describe('refused access', () => {
  /** A server that lets `token:team` do everything below `team/`. */

  let redis: RedisProcess;
  let server: InProcessServer;
  let tokenFile: string;

  beforeAll(async () => {
    redis = await RedisProcess.start({ inMemory: true });
    const folder = scratchFolder();
    const [tokens, policy] = [join(folder, 'tokens'), join(folder, 'policy')];
    tokenFile = join(folder, 'token');
    writeFileSync(tokenFile, 'secret-of-team\n');
    writeFileSync(tokens, `team sha256:${tokenDigest('secret-of-team')}\n`);
    writePolicy(policy, [
      { identities: ['token:team'], services: ['LockService'], names: ['team/'], allow: ['read', 'use'] },
    ]);
    server = await InProcessServer.start(redis.url, {
      HOLDFAST_AUTH_TOKENS: tokens,
      HOLDFAST_POLICY: policy,
    });
  });

  afterAll(() =>
    closeAll(
      () => server.closeDespiteWarnings(),
      () => redis.close(),
    ),
  );

  async function lockRun(name: string, env: Record<string, string> = {}): Promise<CommandRun> {
    const args = ['lock', 'run', name, '-a', server.address, '--timeout', '60s', '--', 'echo', 'done'];
    const cli = new CommandRun(args, env);
    await cli.ended();
    return cli;
  }

  test('runs a command that the policy allows, with a token file', async () => {
    const cli = await lockRun('team/a', { HOLDFAST_TOKEN_FILE: tokenFile });
    expect(cli).toMatchObject({ exit: { code: 0 }, stdout: 'done\n', stderr: '' });
  });

  test.each([
    ['without a credential', 'team/a', {}],
    ['with a wrong token', 'team/a', { HOLDFAST_TOKEN: 'wrong' }],
    ['with a name that the policy does not allow', 'other/a', { HOLDFAST_TOKEN: 'secret-of-team' }],
  ])('does not start the command %s: 77', async (_title, name, env) => {
    const started = join(scratchFolder(), 'started');
    const args = ['lock', 'run', name, '-a', server.address, '--timeout', '60s', '--', 'touch', started];
    const { out, err, code } = await runProgram(args, { env: { ...inheritedEnvironment(), ...env } });
    expect([code, out]).toEqual([77, '']);
    expect(err).toMatch(/^.+\n$/);
    expect(existsSync(started)).toBe(false);
  });

  test.each([
    ['77 if a server refuses the caller', '', 77],
    ['69 if another one does not answer', ',127.0.0.1:1', 69],
  ])('status --all ends with %s', async (_title, more, code) => {
    const shown = await runProgram(['status', '--all', '-a', `${server.address}${more}`, ...SOON]);
    expect(shown.code).toBe(code);
    expect(shown.out).toMatch(new RegExp(`^${server.address} .*credential`, 'm'));
  });
});
