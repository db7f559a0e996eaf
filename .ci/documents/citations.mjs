// Checks the citations in code, tests and documents. "docs/….md" must be an existing page. A number after a page, and
// the number in "rule 3", "invariant 3", "chapter 3" and "fact 3", must be a numbered heading or item of that page.

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { filesWith, report, ROOT } from './files.mjs';

const CITING = new Set(['.ts', '.cts', '.mjs', '.cjs', '.lua', '.proto', '.py', '.tla', '.sh', '.md']);

/** The page that a citation without a path refers to. */
const PAGE_OF_WORD = {
  rule: 'docs/design/leases.md',
  invariant: 'docs/design/invariants.md',
  chapter: 'docs/design/chapter.md',
  fact: 'docs/design/facts.md',
};

const NUMBERS = String.raw`\d+(?:(?:, | and | or | to |, and )\d+)*`;
const PATH = new RegExp(
  String.raw`(docs/[\w./-]+\.md)(?:, (?:(?:rule|row|invariant|fact)s? )?(${NUMBERS}))?`,
  'g',
);
const WORD = new RegExp(String.raw`\b(rule|invariant|chapter|fact)s? (${NUMBERS})`, 'gi');

const numbersOfPage = new Map();

/** The numbers of a page: those of its headings ("## 3. Title"), or without such headings those of its lists. */
function numbersIn(page) {
  if (!numbersOfPage.has(page)) {
    const text = readFileSync(join(ROOT, page), 'utf8');
    const numbersOf = (pattern) => [...text.matchAll(pattern)].map(([, number]) => Number(number));
    const headings = numbersOf(/^#+ (\d+)\. /gm);
    numbersOfPage.set(page, new Set(headings.length > 0 ? headings : numbersOf(/^(\d+)\. /gm)));
  }
  return numbersOfPage.get(page);
}

function problemsOf(citation, page, numbers) {
  if (!existsSync(join(ROOT, page))) return [`"${citation}": there is no ${page}`];
  const wanted = (numbers ?? '').match(/\d+/g) ?? [];
  return wanted
    .filter((number) => !numbersIn(page).has(Number(number)))
    .map((number) => `"${citation}": ${page} has no number ${number}`);
}

/** The text with the line breaks inside comments removed: a citation may be wrapped. */
function unwrapped(text) {
  return text.replace(/\n[ \t]*(?:\*(?!\/)|\/\/+|--|#|\\\*)?[ \t]*/g, ' ');
}

report(
  filesWith(CITING)
    .filter((file) => !file.startsWith(join('.ci', 'documents')))
    .flatMap((file) => {
      // A URL may name a page of another project.
      const text = unwrapped(readFileSync(join(ROOT, file), 'utf8')).replace(/https?:\/\/\S+/g, '');
      const withPath = [...text.matchAll(PATH)].flatMap(([all, page, numbers]) =>
        problemsOf(all, page, numbers),
      );
      const withWord = [...text.replace(PATH, '').matchAll(WORD)].flatMap(([all, word, numbers]) =>
        problemsOf(all, PAGE_OF_WORD[word.toLowerCase()], numbers),
      );
      return [...withPath, ...withWord].map((problem) => `${file}: ${problem}`);
    }),
);
