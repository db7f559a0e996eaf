// Runs the programs of the generation. A failure throws with the output of the program.

import { spawnSync } from 'node:child_process';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('../..', import.meta.url));

export function run(program, args, options = {}) {
  const done = spawnSync(program, args, { cwd: root, encoding: 'utf8', ...options });
  if (done.error !== undefined) throw new Error(`${program}: ${done.error.message}`);
  if (done.status !== 0) {
    const said = `${done.stderr ?? ''}${done.stdout ?? ''}`.trim();
    throw new Error(`${program} ${args.join(' ')} failed${said ? `:\n${said}` : ''}`);
  }
  return done.stdout;
}

/** Runs the project's buf. Searches for plugins first in `bins`. */
export function buf(args, bins = []) {
  const modules = join(root, 'node_modules', '.bin');
  const path = [...bins, modules, process.env.PATH].join(delimiter);
  return run(join(modules, 'buf'), args, { env: { ...process.env, PATH: path } });
}
