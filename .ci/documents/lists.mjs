// Checks the lists of files in documents against the folders: docs/README.md has each page of docs, and each decision with
// the title of its page. src/README.md names each folder of src, and of its rooms that have folders.

import { readdirSync, readFileSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { filesWith, report, ROOT } from './files.mjs';

const DOCS = join('docs', 'README.md');
const SRC = join('src', 'README.md');
const DECISIONS = 'design/decisions/';

const read = (path) => readFileSync(join(ROOT, path), 'utf8');
const slashes = (path) => path.split(sep).join('/');

/** The text with each line break and its indent as one space, because items are wrapped. */
const unwrapped = (path) => read(path).replace(/\n +/g, ' ');

function missingPages() {
  const listed = read(DOCS);
  return filesWith(new Set(['.md']), join(ROOT, 'docs'))
    .map((path) => slashes(relative('docs', path)))
    .filter((page) => page !== 'README.md' && !listed.includes(`](${page})`))
    .map((page) => `${DOCS} does not have ${page}`);
}

/** The decisions whose item does not begin with the title of the page. More sentences may follow. */
function wrongDecisions() {
  const items = unwrapped(DOCS).split('\n');
  return readdirSync(join(ROOT, 'docs', DECISIONS))
    .sort()
    .flatMap((file) => {
      const [, number, title] = /^# (\d+): (.+)/.exec(read(join('docs', DECISIONS, file))) ?? [];
      const item = `- [${number}](${DECISIONS}${file}): ${title}.`;
      return items.some((line) => line.startsWith(item)) ? [] : [`${DOCS} lacks "${item}"`];
    });
}

function missingFolders() {
  const listed = read(SRC);
  return ['', 'redis', 'rpc', 'leases', 'autocomplete', 'server'].flatMap((parent) =>
    readdirSync(join(ROOT, 'src', parent), { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => [parent, name].filter(Boolean).join('/'))
      .filter((folder) => !listed.includes(`](${folder})`))
      .map((folder) => `${SRC} does not have ${folder}/`),
  );
}

report([...missingPages(), ...wrongDecisions(), ...missingFolders()]);
