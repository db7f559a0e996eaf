import { execFile } from 'node:child_process';
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { sayNotChecked } from '../support/not-checked';
import { ROOT } from '../support/root';
import { scratchFolder } from '../support/scratch-folder';
import { buildGo } from '../support/toolchains';

const run = promisify(execFile);
/** A first build compiles the validation of Kubernetes. */
const BUILD_TIMEOUT_MS = 900_000;

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
});
