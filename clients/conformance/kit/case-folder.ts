import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { ROOT } from '../../../test/support/root';
import { readCase, type Case, type CaseSet } from './case-file';

const FOLDERS: Readonly<Record<CaseSet, string>> = {
  scripted: join(ROOT, 'clients', 'conformance', 'cases'),
  faults: join(ROOT, 'clients', 'conformance', 'faults'),
};

/** All cases of a set, in order. Throws a BadCase for the first file that cannot be read. */
export function casesOf(set: CaseSet): Case[] {
  const folder = FOLDERS[set];
  return filesBelow(folder)
    .filter((file) => file.endsWith('.yaml'))
    .map((file) => {
      const id = relative(folder, file)
        .split(sep)
        .join('/')
        .replace(/\.yaml$/, '');
      return readCase(set === 'faults' ? `faults/${id}` : id, set, readFileSync(file, 'utf8'));
    });
}

function filesBelow(folder: string): string[] {
  return readdirSync(folder)
    .map((name) => join(folder, name))
    .flatMap((path) => (statSync(path).isDirectory() ? filesBelow(path) : [path]))
    .sort();
}
