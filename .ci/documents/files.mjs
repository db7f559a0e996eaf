// The text files of the tree that the document checks read.

import { readdirSync } from 'node:fs';
import { extname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = fileURLToPath(new URL('../..', import.meta.url));

const SKIPPED = new Set(['node_modules', 'dist', 'coverage', 'generated', '.git', '.holdfast']);

/** The files with one of these extensions, as paths from the root. */
export function filesWith(extensions, folder = ROOT) {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    if (SKIPPED.has(entry.name)) return [];
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return filesWith(extensions, path);
    return entry.isFile() && extensions.has(extname(entry.name)) ? [relative(ROOT, path)] : [];
  });
}

/** Prints the problems, one per line, and makes the process fail if there are any. */
export function report(problems) {
  for (const problem of problems) console.error(problem);
  if (problems.length > 0) process.exitCode = 1;
}
