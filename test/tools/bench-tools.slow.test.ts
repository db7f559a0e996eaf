import { execFile, spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { fromBinary, toBinary } from '@bufbuild/protobuf';
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';
import { pagePicture, panelPicture } from '../../tools/dashboard/picture';
import { unitText } from '../../tools/dashboard/units';
import { judgedByHand, withGoals } from '../../tools/goals-docs';
import { ROOT } from '../support/root';
import { scratchFolder } from '../support/scratch-folder';

describe('bench commits', () => {
  /** .ci/bench-commits.mjs, against small repositories. */

  const run = promisify(execFile);

  async function check(folder: string): Promise<{ code: number; output: string }> {
    try {
      const { stdout } = await run(process.execPath, [join(ROOT, '.ci/bench-commits.mjs'), folder]);
      return { code: 0, output: stdout };
    } catch (error) {
      const { code, stderr } = error as { code: number; stderr: string };
      return { code, output: stderr };
    }
  }

  async function git(folder: string, ...args: string[]): Promise<string> {
    const who = ['-c', 'user.name=test', '-c', 'user.email=test@example.org', '-c', 'commit.gpgsign=false'];
    const { stdout } = await run('git', [...who, ...args], { cwd: folder });
    return stdout.trim();
  }

  const commit = async (folder: string): Promise<string> => {
    await git(folder, 'commit', '--quiet', '--allow-empty', '--message', 'a change');
    return git(folder, 'rev-parse', '--short=12', 'HEAD');
  };

  function row(folder: string, name: string, measuredAt: string): void {
    const results = join(folder, 'bench/results');
    mkdirSync(results, { recursive: true });
    writeFileSync(join(results, `${name}.json`), JSON.stringify({ machine: { commit: measuredAt } }));
  }

  async function repository(): Promise<{ folder: string; first: string }> {
    const folder = scratchFolder();
    await git(folder, 'init', '--quiet');
    return { folder, first: await commit(folder) };
  }

  test('accepts rows that were measured at HEAD and at earlier commits', async () => {
    const { folder, first } = await repository();
    row(folder, 'old', first);
    row(folder, 'new', await commit(folder));
    expect(await check(folder)).toEqual({ code: 0, output: '' });
  });

  test('refuses a row of a commit that is not in the history of HEAD', async () => {
    const { folder, first } = await repository();
    const left = await commit(folder);
    await git(folder, 'reset', '--quiet', '--hard', first);
    row(folder, 'good', first);
    row(folder, 'left', left);
    row(folder, 'unheard', '94b0f392d3da');
    const { code, output } = await check(folder);
    expect(code).toBe(1);
    expect(output.trim().split('\n')).toEqual([
      `bench/results/left.json was measured at ${left}, which is not in the history of HEAD: measure the row again`,
      'bench/results/unheard.json was measured at 94b0f392d3da, which is not in the history of HEAD: measure the row again',
    ]);
  });

  test.each(['+', 'unknown'])(
    'refuses a row of the commit "%s", which nobody can measure again',
    async (end) => {
      const { folder, first } = await repository();
      const measuredAt = end === '+' ? `${first}+` : end;
      row(folder, 'dirty', measuredAt);
      expect(await check(folder)).toEqual({
        code: 1,
        output: `bench/results/dirty.json was measured at "${measuredAt}", which is no commit: measure the row again in a committed tree\n`,
      });
    },
  );

  test('says that it skips a shallow clone, and a tree that is no repository', async () => {
    const { folder } = await repository();
    await commit(folder);
    const clone = join(scratchFolder(), 'clone');
    await git(folder, 'clone', '--quiet', '--depth', '1', `file://${folder}`, clone);
    row(clone, 'old', '94b0f392d3da');
    expect(await check(clone)).toMatchObject({
      code: 0,
      output: expect.stringMatching(/^skipped: .*shallow/),
    });
    const bare = join(folder, 'unpacked');
    row(bare, 'old', '94b0f392d3da');
    expect(await check(bare)).toMatchObject({ code: 0, output: expect.stringMatching(/^skipped: .*no git/) });
  });
});

describe('baseline', () => {
  /** The check that `buf breaking` has a baseline of the whole contract. */

  type Contract = ReturnType<typeof contractOf>;

  const CONTRACT = join(ROOT, 'generated', 'descriptor.binpb');
  const contractOf = () => fromBinary(FileDescriptorSetSchema, readFileSync(CONTRACT));

  /** Runs the check with a baseline that lacks a part of the present contract. */
  function check(takeAway: (contract: Contract) => void, ...args: string[]) {
    const contract = contractOf();
    takeAway(contract);
    const baseline = join(scratchFolder(), 'baseline.binpb');
    writeFileSync(baseline, toBinary(FileDescriptorSetSchema, contract));
    const program = join(ROOT, '.ci', 'baseline.mjs');
    const { status, stderr } = spawnSync(process.execPath, [program, '--baseline', baseline, ...args], {
      encoding: 'utf8',
    });
    return { status, stderr };
  }

  const withoutSemaphores = ({ file }: Contract): void => {
    for (const one of file) one.service = one.service.filter(({ name }) => name !== 'SemaphoreService');
  };
  const withoutGetLock = ({ file }: Contract): void => {
    for (const { service } of file)
      for (const one of service) one.method = one.method.filter(({ name }) => name !== 'GetLock');
  };
  const withoutTtl = ({ file }: Contract): void => {
    for (const { messageType } of file)
      for (const one of messageType)
        if (one.name === 'AcquireLockRequest') one.field = one.field.filter(({ name }) => name !== 'ttl');
  };

  test('a baseline of the present contract passes, also for a release', () => {
    expect(check(() => undefined, '--release')).toEqual({ status: 0, stderr: '' });
  });

  test('a service that the baseline lacks fails', () => {
    expect(check(withoutSemaphores)).toEqual({
      status: 1,
      stderr:
        'the baseline lacks the service SemaphoreService, so nothing guards it\nrun: npm run generate -- --baseline\n',
    });
  });

  test.each([
    ['call LockService.GetLock', withoutGetLock],
    ['field AcquireLockRequest.ttl', withoutTtl],
  ])('a release fails if the baseline lacks the %s, and the daily check does not', (name, takeAway) => {
    expect(check(takeAway, '--release')).toMatchObject({
      status: 1,
      stderr: expect.stringContaining(`lacks the ${name},`) as unknown,
    });
    expect(check(takeAway)).toEqual({ status: 0, stderr: '' });
  });
});

describe('goals docs', () => {
  /** The table of goals in docs/design/hot-path.md. */

  const page = (table: string): string =>
    `# Page\n\n<!-- Written by tools/goals-docs.ts. -->\n${table}<!-- End of the written part. -->\n\nText.\n`;

  test('the written table has the goals of the results, and the rest of the page stays', () => {
    const written = withGoals(page('| stale |\n'));
    expect(written).not.toContain('stale');
    expect(written).toMatch(/^# Page\n\n/);
    expect(written).toMatch(/\nText\.\n$/);
    expect(written).toMatch(/\| AcquireLock: server CPU \| [\d.,]+ µs \| ≤ 85\.0 µs: (not )?met \|/);
    expect(withGoals(written)).toBe(written);
  });

  test('a goal that is judged in another table is found, and one in the written table is not', () => {
    const line = '| a held lock | 750 B | 743 B | met |';
    expect(judgedByHand(page(`${line}\n`))).toEqual([]);
    expect(judgedByHand(`Text.\n${line}\n| a lock | missed |\n| met | 3 |\n`)).toEqual([
      line,
      '| a lock | missed |',
    ]);
  });

  test('a page without the marks of the table is refused', () => {
    expect(() => withGoals('# Page\n')).toThrow('lacks the marks of the table');
  });
});

describe('dashboard picture', () => {
  const SPAN = { startS: 1000, endS: 1100 };
  const panel = (unit: string, noValue?: string) => ({
    title: 'Calls & waits',
    description: 'All < 1.',
    fieldConfig: { defaults: { unit, ...(noValue !== undefined && { noValue }) } },
  });

  test('draws a line from the first sample to the last, and breaks the line at a gap', () => {
    const points = [1000, 1010, 1020, 1090, 1100].map((at) => [at, at === 1100 ? 1 : 0] as const);
    const lines = panelPicture(panel('none'), [{ name: 'a', points }], SPAN).match(/points="[^"]*"/g);
    expect(lines).toEqual(['points="62.0,184.0 100.6,184.0 139.2,184.0"', 'points="409.4,184.0 448.0,44.0"']);
  });

  test('says why a panel is empty, and escapes the texts', () => {
    const picture = panelPicture(panel('s', 'No grants in this time'), [], SPAN);
    expect(picture).toContain('No grants in this time');
    expect(picture).toContain('Calls &amp; waits');
    expect(picture).toContain('All &lt; 1.');
    expect(pagePicture([picture])).toMatch(/^<svg [^>]*>\n<g [^>]*>\n[^]*<\/g>\n<\/svg>\n$/);
  });

  test('the legend has at most eight entries, and says how many are left out', () => {
    const series = Array.from({ length: 10 }, (_, index) => ({
      name: `n${index}`,
      points: [[1000, 1]] as const,
    }));
    const picture = panelPicture(panel('none'), series, SPAN);
    expect(picture).toContain('n6: 1');
    expect(picture).not.toContain('n7: 1');
    expect(picture).toContain('and 3 more');
  });

  test.each([
    [0.0254, 's', '25.4 ms'],
    [59.7, 's', '59.7 s'],
    [8_640_000, 's', '100 d'],
    [0, 'bytes', '0 B'],
    [3 * 2 ** 20, 'bytes', '3 MiB'],
    [0.111, 'ops', '0.111 ops/s'],
    [0.0613, 'percentunit', '6.13 %'],
    [6, 'none', '6'],
  ])('%d in the unit %s is %s', (value, unit, shown) => {
    expect(unitText(value, unit)).toBe(shown);
  });

  test('every unit of the dashboard has a text', () => {
    const { panels } = JSON.parse(readFileSync(join(ROOT, 'deploy/grafana/holdfast.json'), 'utf8')) as {
      panels: { fieldConfig: { defaults: { unit: string } } }[];
    };
    for (const { fieldConfig } of panels) expect(unitText(1, fieldConfig.defaults.unit)).toMatch(/^1/);
    expect(() => unitText(1, 'parsec')).toThrow('the unit "parsec" has no text');
  });
});
