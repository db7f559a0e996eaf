import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { parse } from 'yaml';
import { InProcessServer } from '../end-to-end/in-process-server';
import { closeAll } from '../support/eventually';
import { PrometheusProcess, prometheusProgram } from '../support/processes/prometheus-process';
import { RedisProcess } from '../support/processes/redis-process';
import { ROOT } from '../support/root';

describe('scrape', () => {
  /**
   * scrape-kubernetes.yaml in a running Prometheus. Debian's Prometheus cannot ask Kubernetes, so a list takes the place of
   * `kubernetes_sd_configs`: pods with the labels that Prometheus gives to pods of a cluster.
   */

  const read = <T>(path: string): T => parse(readFileSync(join(ROOT, 'deploy', path), 'utf8')) as T;

  interface Scrape {
    readonly scrape_configs: readonly [
      { readonly kubernetes_sd_configs: unknown; readonly relabel_configs: readonly object[] },
    ];
  }
  interface Deployment {
    readonly spec: {
      readonly template: {
        readonly metadata: { readonly labels: Readonly<Record<string, string>> };
        readonly spec: {
          readonly containers: readonly [{ readonly ports: readonly { readonly name: string }[] }];
        };
      };
    };
  }

  const [{ kubernetes_sd_configs: discovery, ...scrape }] = read<Scrape>(
    'prometheus/scrape-kubernetes.yaml',
  ).scrape_configs;
  const { metadata, spec } = read<Deployment>('kubernetes/deployment.yaml').spec.template;
  const app = metadata.labels['app.kubernetes.io/name']!;
  const [grpcPort, metricsPort] = spec.containers[0].ports.map(({ name }) => name);

  let admin: Server | undefined;
  let prometheus: PrometheusProcess | undefined;
  afterAll(() =>
    closeAll(
      () => prometheus?.close(),
      () => void admin?.close(),
    ),
  );

  /** The target for a declared port of a pod. */
  function port(address: string, { pod = 'holdfast-0', name = metricsPort, of = app, phase = 'Running' }) {
    const labels = {
      __meta_kubernetes_pod_name: pod,
      __meta_kubernetes_pod_phase: phase,
      __meta_kubernetes_pod_label_app_kubernetes_io_name: of,
      __meta_kubernetes_pod_container_port_name: name,
    };
    return { targets: [address], labels };
  }

  test('Prometheus asks for the pods of the namespace that deploy.md makes', () => {
    expect(discovery).toEqual([{ role: 'pod', namespaces: { names: ['holdfast'] } }]);
  });

  test('Prometheus reads the port for metrics of each server that runs, and names the server by its pod', async () => {
    admin = createServer((_request, response) => response.end('one 1\n'));
    await new Promise<void>((resolve) => admin?.listen(0, '127.0.0.1', resolve));
    const address = `127.0.0.1:${(admin.address() as AddressInfo).port}`;
    const pods = [
      port(address, {}),
      port(address, { pod: 'holdfast-1' }),
      port(address, { name: grpcPort }),
      port(address, { pod: 'redis-0', of: 'redis' }),
      port(address, { pod: 'holdfast-2', phase: 'Failed' }),
      port(address, { pod: 'holdfast-3', phase: 'Succeeded' }),
    ];
    prometheus = await PrometheusProcess.start({
      targets: [address, address],
      scrapeConfigs: [{ ...scrape, static_configs: pods }],
    });
    const found = (await prometheus.query('up')).map(({ metric }) => metric);
    expect(found).toEqual(
      ['holdfast-0', 'holdfast-1'].map((instance) => ({ __name__: 'up', job: 'holdfast', instance })),
    );
  });
});

describe('promtool', () => {
  /** The judgement of Prometheus's own tool on metrics and rules. */

  const RULES = join(ROOT, 'deploy', 'prometheus');
  let promtool: string;
  beforeAll(async () => {
    promtool = await prometheusProgram('promtool');
  });

  const run = (args: readonly string[], input = ''): string =>
    execFileSync(promtool, args, { input, cwd: RULES, encoding: 'utf8' });

  test('promtool finds no mistake in the metrics of a server', async () => {
    const redis = await RedisProcess.start();
    const server = await InProcessServer.start(redis.url, { HOLDFAST_ADMIN_LISTEN: '127.0.0.1:0' });
    try {
      const text = await (await fetch(`http://${server.adminAddress}/metrics`)).text();
      expect(run(['check', 'metrics'], text)).toBe('');
    } finally {
      await server.close();
      await redis.close();
    }
  });

  test('promtool finds no mistake in the alerts', () => {
    expect(run(['check', 'rules', 'alerts.yaml'])).toContain('SUCCESS: 15 rules found');
  });

  test('promtool finds no mistake in the scrape of a list of servers', () => {
    expect(run(['check', 'config', 'scrape-static.yaml'])).toContain('scrape-static.yaml is valid');
  });

  test('each alert fires and is silent in its cases', () => {
    expect(run(['test', 'rules', 'alerts.test.yaml'])).toContain('SUCCESS');
  });
});
