import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { readConfig } from '../../src/server/config/config';
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
