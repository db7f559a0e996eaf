import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../support/root';

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
