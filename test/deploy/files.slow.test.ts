import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { parseAllDocuments } from 'yaml';
import { sayNotChecked } from '../support/not-checked';
import { ROOT } from '../support/root';
import { scratchFolder } from '../support/scratch-folder';
import { buildGo } from '../support/toolchains';

const run = promisify(execFile);
/** A first build compiles the validation of Kubernetes. */
const BUILD_TIMEOUT_MS = 900_000;

interface KubernetesObject {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly data?: Readonly<Record<string, string>>;
}

/** The files of deploy/, read by the code of the programs that they are for: test/deploy/validator. */
describe('the files of deploy/', () => {
  let folder: string;
  let missing: string | undefined;

  const validate = (kind: string, path: string) =>
    run(join(folder, 'validator'), [kind, path], { maxBuffer: 1e7 });

  beforeAll(async () => {
    folder = scratchFolder();
    cpSync(join(ROOT, 'deploy'), join(folder, 'deploy'), {
      recursive: true,
      filter: (path) => !path.endsWith('secrets'),
    });
    const module = join(ROOT, 'test', 'deploy', 'validator');
    const output = join(folder, 'validator');
    missing = await buildGo({ module, packages: '.', output, timeoutMs: BUILD_TIMEOUT_MS });
    if (missing !== undefined) sayNotChecked('the files of deploy/', missing);
  }, BUILD_TIMEOUT_MS);

  it('have a compose.yaml that Docker Compose accepts', async () => {
    if (missing !== undefined) return;
    const compose = join(folder, 'deploy', 'compose');
    await run('sh', [join(compose, 'make-secrets.sh')]);
    const { stdout } = await validate('compose', join(compose, 'compose.yaml'));
    const { services } = JSON.parse(stdout) as { services: Record<string, { read_only?: boolean }> };
    expect(Object.keys(services).sort()).toEqual(['redis', 'server']);
    expect(services['server']?.read_only).toBe(true);
  });

  it('have Kubernetes objects that an API server accepts, with pods of the standard "restricted"', async () => {
    if (missing !== undefined) return;
    const { stdout } = await validate('kubernetes', join(folder, 'deploy', 'kubernetes'));
    const kinds = parseAllDocuments(stdout).map((document) => String(document.get('kind')));
    expect(kinds.sort()).toEqual([
      ...['ConfigMap', 'Deployment', 'NetworkPolicy', 'PodDisruptionBudget', 'Service'],
    ]);
  });

  it('have an optional part for traces, which permits a collector and names it to the servers', async () => {
    if (missing !== undefined) return;
    const overlay = join(folder, 'deploy', 'overlay');
    mkdirSync(overlay);
    writeFileSync(
      join(overlay, 'kustomization.yaml'),
      'resources: [../kubernetes]\ncomponents: [../kubernetes/tracing]\n',
    );
    const { stdout } = await validate('kubernetes', overlay);
    const objects = parseAllDocuments(stdout).map((document) => document.toJS() as KubernetesObject);
    const policies = objects.filter(({ kind }) => kind === 'NetworkPolicy');
    expect(policies.map(({ metadata }) => metadata.name)).toEqual(['holdfast', 'holdfast-traces']);
    const settings = objects.find(({ kind }) => kind === 'ConfigMap')?.data;
    expect(settings).toMatchObject({
      HOLDFAST_LISTEN: '0.0.0.0:50051',
      OTEL_EXPORTER_OTLP_ENDPOINT: expect.stringMatching(/:4318$/) as string,
    });
  });

  /** Each change is a mistake that the validator must find: else its silence would prove nothing. */
  it.each([
    ['a misspelt field', 'deployment.yaml', 'minReadySeconds', 'minReadySecond', /unknown field/],
    ['a value of a wrong type', 'deployment.yaml', 'replicas: 3', 'replicas: three', /replicas/],
    ['an unknown capability rule', 'deployment.yaml', 'drop: [ALL]', 'drop: []', /not restricted.*ALL/],
    ['a port without a name', 'deployment.yaml', 'name: grpc', 'name: GRPC', /ports\[0\]\.name/],
    [
      'a volume that no volume has',
      'deployment.yaml',
      'name: tmp\n',
      'name: temp\n',
      /volumeMounts.*not found/i,
    ],
    [
      'another selector',
      'deployment.yaml',
      'matchLabels:\n      app',
      'matchLabels:\n      other',
      /selector/,
    ],
    [
      'a budget without a number',
      'disruption-budget.yaml',
      'maxUnavailable: 1',
      'maxUnavailable: -1',
      /maxUnavailable/,
    ],
    ['an unknown protocol', 'network-policy.yaml', 'protocol: UDP', 'protocol: UTP', /protocol/],
  ])('are refused with %s', async (_, file, text, mistake, problem) => {
    if (missing !== undefined) return;
    const broken = join(folder, `broken-${file}-${String(text).length}`);
    cpSync(join(folder, 'deploy', 'kubernetes'), broken, { recursive: true });
    const source = readFileSync(join(broken, file), 'utf8');
    expect(source).toContain(text);
    writeFileSync(join(broken, file), source.replace(text, mistake));
    await expect(validate('kubernetes', broken)).rejects.toMatchObject({
      stderr: expect.stringMatching(problem),
    });
  });
});
