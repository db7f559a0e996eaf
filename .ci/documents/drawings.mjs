// Checks that each drawing with lines and arrows, in comments and in Markdown, stands in a code fence. An edit of wording
// over many files reflows text, and once made one false chain of a drawing of states.

import { readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { filesWith, report, ROOT } from './files.mjs';

const COMMENTS = /^\s*(?:\/\*\*?|\*|\/\/+|--|#|\\\*)/;
const FENCE = /^(?:\s*(?:\*|\/\/+|--|#|\\\*))?\s*(?:```|~~~)/;
const DRAWING = /[\u2500-\u257f\u25b2\u25b6\u25bc\u25c0]/;

/** The numbers of the lines that draw outside of a fence. */
function drawnOutside(file) {
  const isPage = extname(file) === '.md';
  let inFence = false;
  return readFileSync(join(ROOT, file), 'utf8')
    .split('\n')
    .flatMap((line, index) => {
      if (!isPage && !COMMENTS.test(line)) {
        inFence = false;
        return [];
      }
      if (FENCE.test(line)) inFence = !inFence;
      return !inFence && DRAWING.test(line) ? [index + 1] : [];
    });
}

const READ = new Set([
  '.ts',
  '.cts',
  '.mjs',
  '.cjs',
  '.lua',
  '.proto',
  '.py',
  '.go',
  '.java',
  '.rs',
  '.c',
  '.sh',
  '.md',
]);

report(
  filesWith(READ)
    .filter((file) => !file.startsWith(join('.ci', 'documents')))
    .flatMap((file) =>
      drawnOutside(file).map((line) => `${file}:${line}: a drawing outside of a code fence`),
    ),
);
