import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../support/root';
import { scratchFolder } from '../support/scratch-folder';

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

test.each(['typescript', 'go', 'java', 'rust'])('the README of %s has no link out of its package', (name) => {
  expect(deadLinks(readFileSync(join(ROOT, 'clients', name, 'README.md'), 'utf8'))).toEqual([]);
});

test('the packed README of Go has no link out of its package', () => {
  const folder = scratchFolder();
  execFileSync('node', [join(ROOT, 'tools', 'pack-go.mjs'), folder]);
  expect(deadLinks(readFileSync(join(folder, 'module', 'README.md'), 'utf8'))).toEqual([]);
});
