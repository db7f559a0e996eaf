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

/** The shim, or why there is none on this machine. */
export type Shim = { readonly path: string } | { readonly missing: string };

let known: Promise<Shim> | undefined;

/** Compiles the shim with the system's compiler, once for each text of it. */
export function clockShim(): Promise<Shim> {
  known ??= compile();
  return known;
}

async function compile(): Promise<Shim> {
  if (process.platform !== 'linux')
    return { missing: `${process.platform} has no LD_PRELOAD as Linux has it` };
  const digest = createHash('sha256').update(readFileSync(SOURCE)).digest('hex').slice(0, 16);
  const path = join(CACHE, `${digest}-${process.arch}.so`);
  if (existsSync(path)) return { path };
  mkdirSync(CACHE, { recursive: true });
  const made = `${path}.${process.pid}`;
  const problems: string[] = [];
  for (const compiler of COMPILERS) {
    try {
      await promisify(execFile)(compiler, [...FLAGS, '-o', made, SOURCE, '-ldl']);
      renameSync(made, path); // whole or not at all, for whoever compiles it at the same time
      return { path };
    } catch (error) {
      const { code, stderr = '' } = error as { code?: string; stderr?: string };
      if (code !== 'ENOENT') problems.push(`${compiler}: ${stderr}`);
    }
  }
  const why = problems.length === 0 ? `there is none of ${COMPILERS.join(', ')}` : problems.join('\n');
  return { missing: `no C compiler made the clock shim: ${why}` };
}
