import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { status } from '@grpc/grpc-js';
import { parse } from 'yaml';
import { ERROR_TABLE } from '../../src/rpc/call-errors';
import { readConfig } from '../../src/server/config/config';
import { InProcessServer } from '../end-to-end/in-process-server';
import { RedisProcess } from '../support/processes/redis-process';
import { ROOT } from '../support/root';

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
