import { execFile } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { status } from '@grpc/grpc-js';
import { parse } from 'yaml';
import { findRedisServer } from '../../src/dev/find-redis';
import { ERROR_TABLE } from '../../src/rpc/call-errors';
import { readConfig } from '../../src/server/config/config';
import { InProcessServer } from '../end-to-end/in-process-server';
import { closeAll } from '../support/eventually';
import { ChildProgram, freePort } from '../support/processes/child-program';
import { documentedRules, RedisProcess } from '../support/processes/redis-process';
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

/** What the schemas of Kubernetes cannot know. files.slow.test.ts checks the schemas. */

const read = <T>(file: string): T =>
  parse(readFileSync(join(ROOT, 'deploy', 'kubernetes', file), 'utf8')) as T;

interface Deployment {
  readonly spec: {
    readonly selector: { readonly matchLabels: unknown };
    readonly template: {
      readonly spec: {
        readonly terminationGracePeriodSeconds: number;
        readonly containers: readonly [
          {
            readonly startupProbe: { readonly httpGet: { readonly path: string; readonly port: string } };
            readonly livenessProbe: { readonly httpGet: { readonly path: string; readonly port: string } };
            readonly resources: { readonly limits: { readonly memory: string } };
            readonly ports: readonly { readonly containerPort: number }[];
            readonly lifecycle: {
              readonly preStop: { readonly exec: { readonly command: readonly string[] } };
            };
            readonly volumeMounts: readonly { readonly mountPath: string }[];
          },
        ];
      };
    };
  };
}
interface Kustomization {
  readonly configMapGenerator: readonly [{ readonly literals: readonly string[] }];
  readonly images: readonly [{ readonly newTag: string }];
}

const deployment = read<Deployment>('deployment.yaml');
const kustomization = read<Kustomization>('kustomization.yaml');
const env = Object.fromEntries(
  kustomization.configMapGenerator[0].literals.map((line) => line.split(/=(.*)/s).slice(0, 2)),
) as Record<string, string>;
const pod = deployment.spec.template.spec;
const [container] = pod.containers;

describe('the Kubernetes manifests', () => {
  it('have settings that the server accepts, on the ports of the container', () => {
    const config = readConfig({ ...env, HOLDFAST_REDIS_URL: 'redis://redis:6379' });
    const [grpc, metrics] = container.ports.map(({ containerPort }) => containerPort);
    expect(config.listen).toMatchObject({ port: grpc });
    expect(config.adminListen).toMatchObject({ port: metrics });
    expect(config.connectionMaxAgeMs).toBe(30 * 60_000);
  });

  it('end a pod only after preStop, the drain and the closing of the store', () => {
    const { drainTimeoutMs } = readConfig({ ...env, HOLDFAST_REDIS_URL: 'redis://redis:6379' });
    const [sleep, seconds] = container.lifecycle.preStop.exec.command;
    expect(sleep).toBe('sleep');
    // 5 s is CLOSING_GRACE_MS of src/main.ts.
    const needed = Number(seconds) + drainTimeoutMs / 1000 + 5;
    expect(pod.terminationGracePeriodSeconds).toBeGreaterThanOrEqual(needed + 5);
  });

  it('probe only the life of a server at its start, because dictionaries may load for long', () => {
    const { startupProbe, livenessProbe } = container;
    expect(startupProbe.httpGet).toEqual({ path: '/livez', port: 'metrics' });
    expect(livenessProbe.httpGet).toEqual(startupProbe.httpGet);
  });

  it('have a memory limit with room for the heap, the dictionaries and the rest', () => {
    const { dictionaryMemoryBytes = 0 } = readConfig({ ...env, HOLDFAST_REDIS_URL: 'redis://redis:6379' });
    const [, gibibytes] = /^(\d+)Gi$/.exec(container.resources.limits.memory) ?? [];
    expect(dictionaryMemoryBytes).toBeGreaterThan(0);
    expect(Number(gibibytes) * 2 ** 30).toBeGreaterThanOrEqual(2 * (dictionaryMemoryBytes + 256 * 2 ** 20));
  });

  it('mount each file that the settings name', () => {
    const files = Object.values(env).filter((value) => value.startsWith('/'));
    expect(files.length).toBeGreaterThan(3);
    const mounts = container.volumeMounts.map(({ mountPath }) => `${mountPath}/`);
    expect(files.filter((file) => !mounts.some((mount) => file.startsWith(mount)))).toEqual([]);
  });

  it('select the pods of the Deployment in every object', () => {
    const labels = { 'app.kubernetes.io/name': 'holdfast' };
    type Selecting = { readonly spec: Readonly<Record<'selector' | 'podSelector', unknown>> };
    expect(deployment.spec.selector).toEqual({ matchLabels: labels });
    expect(read<Selecting>('service.yaml').spec.selector).toEqual(labels);
    expect(read<Selecting>('disruption-budget.yaml').spec.selector).toEqual({ matchLabels: labels });
    expect(read<Selecting>('network-policy.yaml').spec.podSelector).toEqual({ matchLabels: labels });
  });

  it('run the image of this version', () => {
    const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string };
    expect(kustomization.images[0].newTag).toBe(version);
  });
});

describe('queries', () => {
  /** The queries of the dashboard and of the alerts, against the metrics of a running server. */

  const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

  interface Dashboard {
    readonly panels: readonly {
      readonly title: string;
      readonly targets: readonly { readonly expr: string }[];
    }[];
  }
  interface Rules {
    readonly groups: readonly {
      readonly rules: readonly {
        readonly alert: string;
        readonly expr: string;
        readonly annotations: { readonly runbook: string };
      }[];
    }[];
  }

  const dashboard = JSON.parse(read('deploy/grafana/holdfast.json')) as Dashboard;
  const rules = (parse(read('deploy/prometheus/alerts.yaml')) as Rules).groups.flatMap(
    (group) => group.rules,
  );

  /** Metrics that Prometheus itself makes. */
  const OF_PROMETHEUS = new Set(['up']);
  /** The words of a query that are no names of metrics: functions, labels and words of the language. */
  const WORDS =
    /\b(sum|min|max|by|rate|increase|histogram_quantile|absent|or|time|clamp_min)\b|\{[^}]*\}|\bby \([^)]*\)|\[[^\]]*\]|"[^"]*"/g;

  function metricsIn(expression: string): string[] {
    const bare = expression.replace(/\bby \([^)]*\)/g, '').replace(WORDS, '');
    return (bare.match(/[a-z_][a-z0-9_]*/g) ?? []).filter(
      (name) => /[a-z]{2}/.test(name) && !OF_PROMETHEUS.has(name),
    );
  }

  /** The names of the samples and of the metrics without a sample yet. */
  let known: ReadonlySet<string>;
  beforeAll(async () => {
    const redis = await RedisProcess.start();
    const server = await InProcessServer.start(redis.url, { HOLDFAST_ADMIN_LISTEN: '127.0.0.1:0' });
    try {
      const text = await (await fetch(`http://${server.adminAddress}/metrics`)).text();
      known = new Set(text.match(/^[a-z_]+|(?<=^# TYPE )[a-z_]+/gm));
    } finally {
      await server.close();
      await redis.close();
    }
  });

  test('the reader of queries finds the names of metrics', () => {
    expect(metricsIn('sum by (job, le) (rate(holdfast_x_bucket{job="up_x"}[5m])) / 1e9 > process_y')).toEqual(
      ['holdfast_x_bucket', 'process_y'],
    );
  });

  test.each(dashboard.panels.map(({ title, targets }) => [title, targets.map(({ expr }) => expr)] as const))(
    'the server has every metric of the panel %s',
    (_title, expressions) => {
      for (const expression of expressions) {
        const names = metricsIn(expression);
        expect(names).not.toEqual([]);
        expect(names.filter((name) => !known.has(name))).toEqual([]);
      }
    },
  );

  test.each(rules.map(({ alert, expr }) => [alert, expr]))(
    'the server has every metric of the alert %s',
    (_alert, expr) => {
      expect(metricsIn(expr).filter((name) => !known.has(name))).toEqual([]);
    },
  );

  test('HoldfastOverloaded counts the failed commands and queries with each reason of the status RESOURCE_EXHAUSTED', () => {
    const { expr } = rules.find(({ alert }) => alert === 'HoldfastOverloaded') ?? { expr: '' };
    const exhausted = Object.entries(ERROR_TABLE).filter(
      ([, { code }]) => code === status.RESOURCE_EXHAUSTED,
    );
    const reasons = exhausted.map(([reason]) => reason).sort();
    for (const metric of ['holdfast_session_failures_total', 'holdfast_query_failures_total']) {
      const counted = new RegExp(`${metric}\\{reason=~"([A-Z_|]+)"`).exec(expr)?.[1]?.split('|');
      expect([metric, counted?.sort()]).toEqual([metric, reasons]);
    }
  });

  test('each alert has a runbook, a case in which the alert fires, and a case in which the alert is silent', () => {
    const headings = read('docs/operations/alerts.md').match(/(?<=^## ).*$/gm);
    const names = [...new Set(rules.map(({ alert }) => alert))];
    expect(headings).toEqual(names);
    for (const { alert, annotations } of rules) {
      expect(annotations.runbook).toBe(`docs/operations/alerts.md#${alert.toLowerCase()}`);
    }
    const { tests } = parse(read('deploy/prometheus/alerts.test.yaml')) as { tests: { name: string }[] };
    // Some alerts have further cases.
    const cases = tests.map(({ name }) => /^\w+ (fires|is silent)/.exec(name)?.[0] ?? name);
    expect([...new Set(cases)]).toEqual(names.flatMap((name) => [`${name} fires`, `${name} is silent`]));
  });
});
