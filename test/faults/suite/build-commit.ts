import { mkdir, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { runCommand } from '../../../src/dev/run-command';
import { ROOT } from '../../support/root';
import { makeScratchFolder } from '../../support/scratch-folder';

const BUILD_TIMEOUT_MS = 120_000;

export interface BuiltCommit {
  /** The hash. */
  readonly commit: string;
  /** The program of the server. */
  readonly server: string;
  remove(): Promise<void>;
}

/** Builds another commit of this repository, with the packages of this tree. `name`: a hash, a branch, `HEAD~3`. */
export async function buildCommit(name: string): Promise<BuiltCommit> {
  const folder = makeScratchFolder('commit');
  const remove = () => rm(folder, { recursive: true });
  const run = async (command: string, args: readonly string[], cwd: string): Promise<string> => {
    const { code, stdout, stderr } = await runCommand(command, args, { cwd, timeoutMs: BUILD_TIMEOUT_MS });
    if (code !== 0) throw new Error(`commit ${name} cannot be built: ${stderr.trim()}`);
    return stdout.trim();
  };
  try {
    const commit = await run('git', ['rev-parse', '--short=12', `${name}^{commit}`], ROOT);
    const sources = join(folder, 'sources');
    await mkdir(sources);
    const archive = join(folder, 'sources.tar');
    await run('git', ['archive', '--output', archive, commit], ROOT);
    await run('tar', ['-xf', archive, '-C', sources], folder);
    await symlink(join(ROOT, 'node_modules'), join(sources, 'node_modules'));
    await run(process.execPath, ['tools/build.mjs'], sources);
    return { commit, server: join(sources, 'dist', 'src', 'main.js'), remove };
  } catch (error) {
    await remove();
    throw error;
  }
}
