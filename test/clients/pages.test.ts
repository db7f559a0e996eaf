import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../support/root';
import { scratchFolder } from '../support/scratch-folder';

describe('the pages of clients', () => {
  const LANGUAGES = ['typescript', 'python', 'go', 'java', 'rust'];
  const HEADINGS = [
    'Install',
    'A complete program',
    'Loss',
    'Semaphores, elections, autocomplete',
    'Errors',
    'Shutdown',
    'Logs',
    'Configuration',
    'Only the stubs',
  ];

  test.each(['typescript', 'python', 'rust'])(
    'the README of %s, which the package shows without the repository, has no link into the repository',
    (name) => {
      const readme = readFileSync(join(ROOT, 'clients', name, 'README.md'), 'utf8');
      const inline = [...readme.matchAll(/\]\(([^)]*)\)/g)];
      const references = [...readme.matchAll(/^\[[^\]]+\]: *(\S+)/gm)];
      const targets = [...inline, ...references].map(([, target = '']) => target);
      expect(targets.filter((target) => !/^(https:|#)/.test(target))).toEqual([]);
    },
  );

  test.each(LANGUAGES)('the README of %s shows three failures, each with its last line', (name) => {
    const readme = readFileSync(join(ROOT, 'clients', name, 'README.md'), 'utf8');
    const [, block = ''] = /\n## What a failure looks like\n[^#]*?\n```text\n([^`]*)```/.exec(readme) ?? [];
    const scenes = block.split(/^\S.*:\n/m).slice(1);
    const ends = scenes.map(
      (scene) => scene.match(/(released|lease lost: .*)\n(?:.*another worker.*\n)*$/)?.[1],
    );
    expect(ends).toEqual(['released', 'lease lost: DEADLINE, stopping', 'lease lost: DEADLINE, stopping']);
  });

  test.each(LANGUAGES)('the page of %s has the headings of all pages', (name) => {
    const page = readFileSync(join(ROOT, 'docs', 'clients', `${name}.md`), 'utf8');
    expect([...page.matchAll(/^## (.*)$/gm)].map(([, heading]) => heading)).toEqual(HEADINGS);
  });
});

describe('the packed READMEs', () => {
  /** The targets of Markdown links that a package cannot have: neither an address nor a heading. */
  function deadLinks(text: string): string[] {
    const targets = [...text.matchAll(/\]\(([^)\s]+)[^)]*\)/g)].map(([, target = '']) => target);
    return targets.filter((target) => !/^(https?:|#)/.test(target));
  }

  test('finds a link into the repository, which is dead in a package', () => {
    expect(deadLinks('[a](../../docs/errors.md) [b](https://example.com/) [c](#loss)')).toEqual([
      '../../docs/errors.md',
    ]);
  });

  test.each(['typescript', 'go', 'java', 'rust'])(
    'the README of %s has no link out of its package',
    (name) => {
      expect(deadLinks(readFileSync(join(ROOT, 'clients', name, 'README.md'), 'utf8'))).toEqual([]);
    },
  );

  test('the packed README of Go has no link out of its package', () => {
    const folder = scratchFolder();
    execFileSync('node', [join(ROOT, 'tools', 'pack-go.mjs'), folder]);
    expect(deadLinks(readFileSync(join(folder, 'module', 'README.md'), 'utf8'))).toEqual([]);
  });
});
