import { execFile } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { parse } from 'yaml';
import { findRedisServer } from '../../src/dev/find-redis';
import { closeAll } from '../support/eventually';
import { ChildProgram, freePort } from '../support/processes/child-program';
import { documentedRules } from '../support/processes/redis-process';
import { ServerProcess } from '../support/processes/server-process';
import { ROOT } from '../support/root';
import { scratchFolder } from '../support/scratch-folder';

const run = promisify(execFile);
const FOLDER = join(ROOT, 'deploy', 'compose');
const CLI = join(ROOT, 'dist', 'src', 'cli', 'main.js');

interface Service {
  readonly command?: string;
  readonly environment?: Readonly<Record<string, string>>;
  readonly expose?: readonly string[];
  readonly healthcheck?: { readonly test: readonly string[] };
}
interface Compose {
  readonly services: Readonly<Record<'server' | 'redis', Service>>;
  readonly secrets: Readonly<Record<string, { readonly file: string }>>;
}

/**
 * Runs the two services of compose.yaml as processes of this machine: the same commands and variables, with files in
 * place of the mounted secrets, and with free ports.
 */
describe('compose.yaml with the secrets of make-secrets.sh', () => {
  const compose = parse(readFileSync(join(FOLDER, 'compose.yaml'), 'utf8')) as Compose;
  let folder: string;
  let secrets: string;
  let redis: ChildProgram;
  let redisPort: number;
  let server: ServerProcess | undefined;
  let admin: string;

  const secret = (name: string): string => join(secrets, name);
  /** A path inside of a container as a path of this machine. */
  const outside = (text: string): string =>
    text
      .replace(/\/run\/secrets\/(\w+)/g, (_, name: string) =>
        secret(compose.secrets[name]!.file.replace(/^secrets\//, '')),
      )
      .replace('/data', join(folder, 'data'));

  async function startServer(): Promise<ServerProcess> {
    const [, url = ''] = /^HOLDFAST_REDIS_URL=(.+)$/m.exec(readFileSync(secret('server.env'), 'utf8')) ?? [];
    const {
      HOLDFAST_LISTEN: _,
      HOLDFAST_STORE_IS_NEW: isNew,
      HOLDFAST_ADMIN_LISTEN: adminListen,
      ...environment
    } = compose.services.server.environment!;
    expect(isNew).toBe('${HOLDFAST_STORE_IS_NEW:-}');
    expect(adminListen).toBe('0.0.0.0:50052');
    admin = `127.0.0.1:${await freePort()}`;
    const files = Object.entries(environment).map(([name, value]) => [name, outside(value)] as const);
    return ServerProcess.start({
      redisUrl: url.replace('@redis:6379', `@127.0.0.1:${redisPort}`),
      env: { ...Object.fromEntries(files), HOLDFAST_ADMIN_LISTEN: admin },
    });
  }

  function holdfast(...words: string[]) {
    const access = [
      '--address',
      server!.listen,
      '--ca',
      secret('authority.pem'),
      '--token-file',
      secret('token'),
    ];
    return run(process.execPath, [CLI, ...words.slice(0, 3), ...access, ...words.slice(3)]);
  }

  beforeAll(async () => {
    folder = scratchFolder();
    secrets = join(folder, 'secrets');
    mkdirSync(join(folder, 'data'));
    await run('sh', [join(FOLDER, 'make-secrets.sh'), secrets]);
    redisPort = await freePort();
    const program = await findRedisServer({ env: process.env, note: (text) => console.error(text) });
    const [name, ...words] = compose.services.redis.command!.split(' ');
    expect(name).toBe('redis-server');
    const args = words.map(outside);
    redis = new ChildProgram({
      label: 'the Redis of compose.yaml',
      command: program.command,
      args: args.map((word) => (word === '6379' ? String(redisPort) : word)),
      env: program.env,
    });
    await redis.start();
    server = await startServer();
  });
  afterAll(() =>
    closeAll(
      () => server?.close(),
      () => redis?.close(),
    ),
  );

  it('gives the Redis user exactly the documented rights', () => {
    const [, line = ''] = /^user holdfast (.+)$/m.exec(readFileSync(secret('redis-users'), 'utf8')) ?? [];
    const rules = line.split(' ').map((rule) => (rule.startsWith('#') ? '#' : rule));
    expect(rules).toEqual(documentedRules('servers').map((rule) => (rule.startsWith('>') ? '#' : rule)));
  });

  it('runs a command under a lock for a client with the token, over TLS', async () => {
    const { stdout } = await holdfast('lock', 'run', 'hello', '--', 'sh', '-c', 'echo $HOLDFAST_NAME');
    expect(stdout).toBe('hello\n');
    expect(server!.logs.filter(({ level }) => level === 'warn').map(({ msg }) => msg)).toEqual([
      'there is no policy: every proven identity may do everything (HOLDFAST_POLICY)',
    ]);
  });

  it('says by its health check whether the server accepts work', async () => {
    const [kind, program, ...words] = compose.services.server.healthcheck!.test;
    expect([kind, program]).toEqual(['CMD', 'holdfast']);
    const check = (address: string) =>
      run(process.execPath, [CLI, ...words.map((word) => outside(word).replace('127.0.0.1:50051', address))]);
    await check(server!.listen);
    await expect(check(`127.0.0.1:${await freePort()}`)).rejects.toMatchObject({ code: 69 });
  });

  it('has metrics for the Prometheus of scrape-static.yaml, at a port that is not published', async () => {
    const { expose } = compose.services.server;
    const scrape = readFileSync(join(ROOT, 'deploy', 'prometheus', 'scrape-static.yaml'), 'utf8');
    expect(scrape).toContain(`targets: ['server:${expose![0]}']`);
    const answer = await fetch(`http://${admin}/metrics`);
    expect(await answer.text()).toMatch(
      /^holdfast_certificate_end_timestamp_seconds\{certificate="server"\}/m,
    );
  });

  it('refuses a client without a token', async () => {
    const words = ['lock', 'get', 'hello', '--address', server!.listen, '--ca', secret('authority.pem')];
    await expect(run(process.execPath, [CLI, ...words])).rejects.toMatchObject({ code: 77 });
  });

  it('keeps the fencing tokens when Redis and the server are killed', async () => {
    const token = async () =>
      Number(
        (await holdfast('lock', 'run', 'kept', '--', 'sh', '-c', 'echo $HOLDFAST_FENCING_TOKEN')).stdout,
      );
    const before = await token();
    await server!.kill();
    redis.signal('SIGKILL');
    await redis.ended(30_000);
    await redis.start();
    server = await startServer();
    expect(await token()).toBeGreaterThan(before);
  });

  it('makes no secrets where some are', async () => {
    await expect(run('sh', [join(FOLDER, 'make-secrets.sh'), secrets])).rejects.toMatchObject({ code: 1 });
  });
});
