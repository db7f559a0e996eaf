// Checks that every relative link in a Markdown file leads to an existing file, and every anchor to a heading.

import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { filesWith, report, ROOT } from './files.mjs';

const EXTERNAL = /^[a-z][a-z+.-]*:/i;

/** The lines of a Markdown text, with the lines of code blocks replaced by empty lines. */
function linesWithoutCode(text) {
  let fence;
  return text.split('\n').map((line) => {
    const mark = /^\s*(```+|~~~+)/.exec(line)?.[1];
    if (fence === undefined && mark === undefined) return line;
    if (fence === undefined) fence = mark;
    else if (mark?.startsWith(fence)) fence = undefined;
    return '';
  });
}

/** The anchors of a page, as GitHub makes them from its headings. */
function anchorsOf(text) {
  const counts = new Map();
  const headings = linesWithoutCode(text).flatMap((line) => /^#{1,6}\s+(.+?)\s*#*$/.exec(line)?.[1] ?? []);
  return new Set(
    headings.map((heading) => {
      const title = heading.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1').toLowerCase();
      const slug = title.replace(/[^\p{L}\p{N}\p{M}_\- ]/gu, '').replaceAll(' ', '-');
      const count = counts.get(slug) ?? 0;
      counts.set(slug, count + 1);
      return count === 0 ? slug : `${slug}-${count}`;
    }),
  );
}

/** The targets of inline links, images and reference definitions, with their line numbers. */
function linksOf(text) {
  return linesWithoutCode(text).flatMap((line, index) => {
    const prose = line.replace(/`[^`]*`/g, '``');
    const inline = [...prose.matchAll(/\]\(\s*<?([^)\s>]+)>?(?:\s+"[^"]*")?\s*\)/g)];
    const definitions = [...prose.matchAll(/^\s*\[[^\]]+\]:\s+<?(\S+?)>?\s*$/g)];
    return [...inline, ...definitions].map(([, target]) => ({ target, line: index + 1 }));
  });
}

function problemOf(page, target) {
  if (EXTERNAL.test(target)) return undefined;
  const [path, anchor] = decodeURIComponent(target).split('#');
  const file = path === '' ? page : normalize(join(dirname(page), path));
  if (!existsSync(join(ROOT, file))) return `there is no ${file}`;
  if (anchor === undefined || !file.endsWith('.md')) return undefined;
  const known = anchorsOf(readFileSync(join(ROOT, file), 'utf8'));
  return known.has(anchor) ? undefined : `${file} has no heading for #${anchor}`;
}

report(
  filesWith(new Set(['.md'])).flatMap((page) =>
    linksOf(readFileSync(join(ROOT, page), 'utf8')).flatMap(({ target, line }) => {
      const problem = problemOf(page, target);
      return problem === undefined ? [] : [`${page}:${line}: link to ${target}: ${problem}`];
    }),
  ),
);
