import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../support/root';

const HEADINGS = [
  'Install',
  'A complete program',
  'Loss',
  'Semaphores, elections, autocomplete',
  'Errors',
  'Shutdown',
  'Configuration',
  'Only the stubs',
];

test.each(['typescript', 'python', 'go', 'java', 'rust'])(
  'the page of %s has the headings of all pages',
  (name) => {
    const page = readFileSync(join(ROOT, 'docs', 'clients', `${name}.md`), 'utf8');
    expect([...page.matchAll(/^## (.*)$/gm)].map(([, heading]) => heading)).toEqual(HEADINGS);
  },
);
