import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ROOT } from '../../../support/root';

const SOURCE = join(ROOT, 'test', 'faults', 'suite', 'clock-shim', 'shim.c');
const CACHE = join(ROOT, '.holdfast', 'clock-shim');
const COMPILERS = ['cc', 'gcc', 'clang'];
const FLAGS = ['-shared', '-fPIC', '-O2', '-Wall', '-Wextra', '-Werror'];

/** The path of the shim, or the reason why this machine cannot build the shim. */
export type Shim = { readonly path: string } | { readonly missing: string };

let known: Promise<Shim> | undefined;

/** Compiles the shim with the system's C compiler, once for each version of the source. */
export function clockShim(): Promise<Shim> {
  known ??= compile();
  return known;
}

async function compile(): Promise<Shim> {
  if (process.platform !== 'linux')
    return { missing: `the clock shim needs LD_PRELOAD of Linux, and this is ${process.platform}` };
  const digest = createHash('sha256').update(readFileSync(SOURCE)).digest('hex').slice(0, 16);
  const path = join(CACHE, `${digest}-${process.arch}.so`);
  if (existsSync(path)) return { path };
  mkdirSync(CACHE, { recursive: true });
  const made = `${path}.${process.pid}`;
  const problems: string[] = [];
  for (const compiler of COMPILERS) {
    try {
      await promisify(execFile)(compiler, [...FLAGS, '-o', made, SOURCE, '-ldl']);
      renameSync(made, path); // The rename is atomic, because another process may compile the shim at the same time.
      return { path };
    } catch (error) {
      const { code, stderr = '' } = error as { code?: string; stderr?: string };
      if (code !== 'ENOENT') problems.push(`${compiler}: ${stderr}`);
    }
  }
  const why = problems.length === 0 ? `none of ${COMPILERS.join(', ')} is installed` : problems.join('\n');
  return { missing: `the clock shim was not compiled: ${why}` };
}
