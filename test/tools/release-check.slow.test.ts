import { execFile } from 'node:child_process';
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ROOT } from '../support/root';
import { scratchFolder } from '../support/scratch-folder';

const run = promisify(execFile);

interface Outcome {
  readonly code: number;
  readonly output: string;
}

async function check(...args: string[]): Promise<Outcome> {
  const command = [join(ROOT, 'tools/release-check.mjs'), ...args];
  try {
    const { stdout } = await run(process.execPath, command);
    return { code: 0, output: stdout };
  } catch (error) {
    const { code, stderr } = error as { code: number; stderr: string };
    return { code, output: stderr };
  }
}

/** A copy of the files that have the version, and a changelog that is ready for the release of this version. */
class Tree {
  readonly root = scratchFolder();

  /** From the files of this repository. */
  static async first(version: string): Promise<Tree> {
    const tree = new Tree();
    const { output } = await check('--places');
    for (const file of output.trim().split('\n')) cpSync(join(ROOT, file), join(tree.root, file));
    tree.changelog(`## [Unreleased]\n\n## [${version}] - 2030-01-31\n\n### Added\n\n- Locks.\n`);
    await check('--root', tree.root, '--set', version);
    return tree;
  }

  copy(): Tree {
    const tree = new Tree();
    cpSync(this.root, tree.root, { recursive: true });
    return tree;
  }

  changelog(text: string): void {
    writeFileSync(join(this.root, 'CHANGELOG.md'), `# Changelog\n\n${text}`);
  }

  replace(file: string, from: string, to: string): void {
    const path = join(this.root, file);
    const text = readFileSync(path, 'utf8');
    expect(text).toContain(from);
    writeFileSync(path, text.replace(from, to));
  }

  check(...args: string[]): Promise<Outcome> {
    return check('--root', this.root, ...args);
  }
}

describe('tools/release-check.mjs', () => {
  let made: Tree;
  beforeAll(async () => {
    made = await Tree.first('3.14.15');
  });

  it('finds one version in all files of this repository', async () => {
    expect(await check()).toMatchObject({ code: 0 });
  });

  it('accepts a tree with one version and a changelog of this version', async () => {
    const tree = made.copy();
    expect(await tree.check('--release')).toMatchObject({
      code: 0,
      output: expect.stringContaining('version 3.14.15'),
    });
  });

  it.each([
    ['clients/python/pyproject.toml', 'version = "3.14.15"', 'version = "3.14.14"'],
    [
      'clients/rust/Cargo.toml',
      'generated/rust", version = "3.14.15"',
      'generated/rust", version = "3.14.14"',
    ],
    ['generated/java/pom.xml', '<version>3.14.15<', '<version>3.14.14<'],
    ['docs/clients/typescript.md', 'client-3.14.15.tgz', 'client-3.14.14.tgz'],
  ])('names %s if it has another version', async (file, from, to) => {
    const tree = made.copy();
    tree.replace(file, from, to);
    expect(await tree.check()).toEqual({
      code: 1,
      output: `${file} has version 3.14.14, and package.json has 3.14.15\n`,
    });
  });

  it('names a file that has lost its version', async () => {
    const tree = made.copy();
    tree.replace('clients/java/pom.xml', '  <version>3.14.15</version>', '');
    const { code, output } = await tree.check();
    expect(code).toBe(1);
    expect(output).toContain('clients/java/pom.xml has no version in the expected form');
  });

  it.each([
    ['entries without a version', '## [Unreleased]\n\n- More.\n\n## [3.14.15] - 2030-01-31\n\n- Locks.\n'],
    ['the heading of another version', '## [Unreleased]\n\n## [3.14.14] - 2030-01-31\n\n- Locks.\n'],
    ['a heading without a day', '## [Unreleased]\n\n## [3.14.15]\n\n- Locks.\n'],
    ['no entry for the version', '## [Unreleased]\n\n## [3.14.15] - 2030-01-31\n'],
    ['no heading of a version', '## [Unreleased]\n'],
    ['no section for changes to come', '## [3.14.15] - 2030-01-31\n\n- Locks.\n'],
  ])('refuses a release with %s in the changelog', async (_, text) => {
    const tree = made.copy();
    tree.changelog(text);
    expect((await tree.check()).code).toBe(0);
    const { code, output } = await tree.check('--release');
    expect(code).toBe(1);
    expect(output).toMatch(/^CHANGELOG\.md /);
  });

  it('refuses to set a pre-release, which Python would spell in another way', async () => {
    const tree = made.copy();
    expect(await tree.check('--set', '3.15.0-rc.1')).toMatchObject({ code: 1 });
    expect(await tree.check()).toMatchObject({ code: 0, output: expect.stringContaining('version 3.14.15') });
  });
});
