import { execFile } from 'node:child_process';
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { SERVICES, VERBS } from '../../src/access/policy';
import { POLICY_SERVICES, POLICY_VERBS } from '../../src/cli/commands/checks';
import { CliProcess } from '../support/cli/cli-process';
import { runProgram } from '../support/cli/run-program';
import { closeAll, eventually } from '../support/eventually';
import { freePort } from '../support/processes/child-program';
import { RedisProcess } from '../support/processes/redis-process';
import { ServerProcess } from '../support/processes/server-process';
import { ROOT } from '../support/root';
import { scratchFolder } from '../support/scratch-folder';

const PROGRAM = join(ROOT, 'dist', 'src', 'cli', 'main.js');

let redis: RedisProcess;
let server: ServerProcess;

beforeAll(async () => {
  redis = await RedisProcess.start();
  // The words after `node`: the program, and its command.
  server = await ServerProcess.start({ redisUrl: redis.url, nodeArguments: [PROGRAM], program: 'serve' });
});
afterAll(() =>
  closeAll(
    () => server?.close(),
    () => redis?.close(),
  ),
);

describe('holdfast health', () => {
  const health = async (address: string, ...words: string[]): Promise<number> =>
    (await runProgram(['health', '--address', address, ...words])).code;

  it('ends with 0 while the server is serving', async () => {
    await eventually('a serving server', async () => (await health(server.listen, '--timeout', '20s')) === 0);
    expect(await health(server.listen, '--service', 'holdfast.grants', '--timeout', '20s')).toBe(0);
  });

  it('ends with 69 if nobody listens, or if the server does not answer', async () => {
    expect(await health(`127.0.0.1:${await freePort()}`, '--alive', '--timeout', '1s')).toBe(69);
    server.stop();
    expect(await health(server.listen, '--alive', '--timeout', '1s')).toBe(69);
    server.cont();
  });

  it('ends with 1 while Redis is down, and with 0 if only an answer is wanted', async () => {
    await redis.kill();
    await eventually(
      'a server that is not serving',
      async () => (await health(server.listen, '--timeout', '20s')) === 1,
    );
    expect(await health(server.listen, '--alive', '--timeout', '20s')).toBe(0);
    await redis.restart();
    await eventually(
      'a server that serves again',
      async () => (await health(server.listen, '--timeout', '20s')) === 0,
    );
  });
});

/** The built program, in which the commands load the modules of the server when they run. */
async function built(words: readonly string[], onlyEnv: Readonly<Record<string, string>> = {}) {
  const cli = new CliProcess(words, { onlyEnv });
  const { code } = await cli.ended();
  return { code, out: cli.stdout, err: cli.stderr };
}

describe('the built program', () => {
  it('loads what `call` and `check-policy` need', async () => {
    const called = await built(['call', '-a', server.listen, 'grpc.health.v1.Health/Check', '{}']);
    expect(called).toMatchObject({ code: 0, err: '' });
    expect(JSON.parse(called.out)).toEqual({ status: 'SERVING' });
    const file = join(scratchFolder(), 'policy');
    writeFileSync(file, 'rules: []\n');
    expect(await built(['check-policy', file])).toMatchObject({ code: 0 });
  });
});

const holdfast = (words: readonly string[], env: Readonly<Record<string, string>> = {}) =>
  runProgram(words, { env });

describe('holdfast serve', () => {
  it('drains once on a Ctrl-C that arrives twice, as under npm, and ends with 0', async () => {
    server.signal('SIGINT');
    // On a busy machine the server may have drained and ended before the second signal.
    trySignal(server, 'SIGINT');
    await eventually('the end of the server', () => server.exit);
    expect(server.exit).toEqual({ code: 0, signal: null });
    expect(server.logs.map(({ msg }) => msg)).toContain('stopped');
  });

  it('names every wrong setting without a stack, and ends with 64', async () => {
    const env = { PATH: process.env['PATH'], HOLDFAST_MAX_TTL: 'long' };
    const [code, stderr] = await new Promise<[unknown, string]>((resolve) => {
      execFile(process.execPath, [PROGRAM, 'serve'], { env }, (error, _, text) =>
        resolve([error?.code, text]),
      );
    });
    expect(code).toBe(64);
    expect(stderr).toMatch(/^holdfast: the configuration is invalid:\n {2}HOLDFAST_REDIS_URL is required/);
    expect(stderr).not.toMatch(/ at .*\.js:\d+/);
  });
});

function trySignal(program: ServerProcess, signal: NodeJS.Signals): void {
  try {
    program.signal(signal);
  } catch (error) {
    expect((error as Error).message).toContain('has ended');
  }
}

describe('holdfast check-config', () => {
  it('accepts valid settings', async () => {
    const ended = await built(['check-config'], { HOLDFAST_REDIS_URL: 'rediss://redis:6379' });
    expect(ended).toEqual({ code: 0, out: '', err: 'the settings are valid\n' });
  });

  it('warns of what valid settings leave open', async () => {
    const tokens = join(scratchFolder(), 'tokens');
    writeFileSync(tokens, '');
    chmodSync(tokens, 0o666);
    const { code, err } = await holdfast(['check-config'], {
      ...{ HOLDFAST_REDIS_URL: 'redis://:hunter2@redis:6379', HOLDFAST_AUTH_TOKENS: tokens },
      ...{ HOLDFAST_AUTH_JWT_ISSUER: 'i', HOLDFAST_AUTH_JWT_AUDIENCE: 'a', HOLDFAST_INSECURE: 'jwks' },
      HOLDFAST_AUTH_JWT_JWKS: 'http://login.example/keys',
    });
    expect(code).toBe(0);
    expect(err).toMatch(/^warning: INSECURE: HOLDFAST_AUTH_JWT_JWKS has no TLS/m);
    expect(err).toMatch(/^warning: there is no policy/m);
    expect(err).toMatch(/^warning: HOLDFAST_REDIS_URL has no TLS/m);
    expect(err).toMatch(/^warning: HOLDFAST_AUTH_TOKENS: every user of this machine may write/m);
    expect(err).toMatch(/^the settings are valid$/m);
    expect(err).not.toContain('hunter2');
  });

  it('names every problem on a line of its own, with the exit code 64', async () => {
    const { code, err } = await holdfast(['check-config'], {
      HOLDFAST_MAX_TTL: 'long',
      HOLDFAST_MAXTTL: '5m',
    });
    expect(code).toBe(64);
    expect(err).toMatch(/^HOLDFAST_MAXTTL is not a setting/m);
    expect(err).toMatch(/^HOLDFAST_REDIS_URL is required/m);
    expect(err).toMatch(/^HOLDFAST_MAX_TTL must/m);
    expect(err).toMatch(/^3 problems in the settings\n$/m);
  });

  it('shows every setting in force with --show, without passwords', async () => {
    const { code, out } = await holdfast(['check-config', '--show'], {
      HOLDFAST_REDIS_URL: 'redis+sentinel://user:hunter2@s1:26379,s2:26379/main',
      HOLDFAST_REDIS_SENTINEL_AUTH: ':hunter3',
      HOLDFAST_DICTIONARY_REDIS_URL: 'redis://:hunter4@words:6379',
      HOLDFAST_REDIS_REPLICA_URL: 'redis://:hunter5@replica:6379/2',
      HOLDFAST_DRAIN_TIMEOUT: '20s',
    });
    expect(code).toBe(0);
    expect(out).not.toContain('hunter');
    const lines = out.split('\n');
    expect(lines).toContain('HOLDFAST_REDIS_URL=redis+sentinel://s1:26379,s2:26379/main');
    expect(lines).toContain('HOLDFAST_REDIS_SENTINEL_AUTH=(hidden)');
    expect(lines).toContain('HOLDFAST_REDIS_REPLICA_URL=redis://replica:6379/2');
    expect(lines).toContain('HOLDFAST_DRAIN_TIMEOUT=20s');
    expect(lines).toContain('HOLDFAST_LISTEN=127.0.0.1:50051  # default');
    expect(out).not.toContain('HOLDFAST_TLS_CERT');
  });
});

describe('holdfast check-policy', () => {
  it('says the quotas of an identity, and which are counted together', async () => {
    const file = join(scratchFolder(), 'policy');
    const quotas = '[{identities: ["token:team-*"], count: together, leases: 5}, {leases: 9, waiters: 4}]';
    writeFileSync(file, `rules: []\nquotas: ${quotas}\n`);
    const ask = (identity: string) => holdfast(['check-policy', file, '--quotas', '--identity', identity]);
    expect((await ask('token:team-1')).out).toBe(
      'leases 5: quotas[0], together with all identities of that item\nwaiters 4: quotas[1]\n',
    );
    expect((await ask('token:x')).out).toBe('leases 9: quotas[1]\nwaiters 4: quotas[1]\n');
    expect((await holdfast(['check-policy', file, '--quotas'])).code).toBe(64);
  });

  it('says the longest ttl that the deciding rule allows', async () => {
    const file = join(scratchFolder(), 'policy');
    writeFileSync(
      file,
      'rules: [{identities: ["token:a"], services: [LockService], names: [""], allow: [read, use], max_ttl: 30s}]\n',
    );
    const ask = (verb: string) =>
      holdfast([
        ...['check-policy', file, '--identity', 'token:a', '--service', 'LockService', '--verb', verb],
      ]);
    expect((await ask('use')).out).toBe('allowed: rules[0], by the prefix ""; ttl at most 30s\n');
    expect((await ask('read')).out).toBe('allowed: rules[0], by the prefix ""\n');
  });

  const folder = { path: '' };
  const file = (name: string) => join(folder.path, name);
  const ask = (name: string, verb: string, more: readonly string[] = []) =>
    holdfast([
      ...['check-policy', file('policy.yaml'), '--identity', 'token:alice', '--verb', verb],
      ...['--service', 'LockService', '--name', name, ...more],
    ]);

  beforeAll(() => {
    folder.path = scratchFolder();
    const rules = [
      'rules:',
      '  - { identities: ["token:*"], services: [LockService], names: [""], allow: [read] }',
      '  - { identities: ["token:alice"], services: [LockService], names: ["jobs/"], allow: [use] }',
      '  - { identities: ["token:alice"], services: [LockService], names: ["jobs/night"], allow: [] }',
      '',
    ];
    writeFileSync(file('policy.yaml'), rules.join('\n'));
    writeFileSync(
      file('bad.yaml'),
      'rules:\n  - { identities: [a], services: [Locks], names: [""], allow: [us] }\n',
    );
  });

  it('accepts a valid policy, and says how many rules it has', async () => {
    const ended = await built(['check-policy', file('policy.yaml')]);
    expect(ended).toEqual({ code: 0, out: '', err: 'the policy is valid: 3 rules, 0 quotas\n' });
  });

  it('names each problem with its line, with the exit code 64', async () => {
    const { code, err } = await holdfast(['check-policy', file('bad.yaml')]);
    expect(code).toBe(64);
    expect(err).toContain('line 2: rules[0].services[0]: must be one of LockService');
    expect(err).toContain('line 2: rules[0].allow[0]: must be one of read');
    expect(await holdfast(['check-policy', file('none.yaml')])).toMatchObject({ code: 64 });
  });

  it('says that a call is allowed, and by which rule', async () => {
    const ended = await ask('jobs/1', 'use');
    expect(ended).toEqual({ code: 0, out: 'allowed: rules[1], by the prefix "jobs/"\n', err: '' });
  });

  it('says which rule denies a call, with the exit code 77', async () => {
    expect(await ask('jobs/1', 'read')).toMatchObject({
      code: 77,
      out: 'denied: rules[1], by the prefix "jobs/"\n',
    });
    expect(await ask('jobs/nightly', 'use')).toMatchObject({
      code: 77,
      out: 'denied: rules[2], by the prefix "jobs/night"\n',
    });
    const other = ['--identity', 'dns:bob'];
    expect((await ask('jobs/1', 'read', other)).out).toMatch(/^denied: no rule has the identity/);
  });

  it('needs a whole question', async () => {
    const policy = file('policy.yaml');
    expect(await holdfast(['check-policy', policy, '--identity', 'token:a'])).toMatchObject({ code: 64 });
    expect(await holdfast(['check-policy', policy, '--verb', 'use'])).toMatchObject({ code: 64 });
  });

  it('knows all verbs and services of a policy', () => {
    expect(POLICY_VERBS).toEqual(VERBS);
    expect(POLICY_SERVICES).toEqual(SERVICES);
  });
});
