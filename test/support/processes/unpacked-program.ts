import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readdir, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { fetchPackages, machineName } from '../../../src/dev/debian-packages';
import { runCommand } from '../../../src/dev/run-command';
import { cached } from '../toolchains';

export interface UnpackedProgram {
  readonly command: string;
  readonly env: NodeJS.ProcessEnv;
}

const TRY_TIMEOUT_MS = 30_000;

/**
 * A program of a Debian package: from the PATH, or unpacked into the user's cache without root. Nothing is installed.
 * Resolves to the reason if neither is possible.
 *
 * @param path the program inside of the package
 * @param versionFlag an argument with which the program ends successfully
 */
export async function unpackedProgram(
  packageName: string,
  path: string,
  versionFlag: string,
): Promise<UnpackedProgram | { readonly missing: string }> {
  const runs = async (program: UnpackedProgram): Promise<boolean> =>
    (await runCommand(program.command, [versionFlag], { env: program.env, timeoutMs: TRY_TIMEOUT_MS }))
      .code === 0;
  const installed = { command: basename(path), env: process.env };
  if (await runs(installed)) return installed;
  try {
    const folder = await cached(`${packageName}-${await machineName()}`, async (target) => {
      const scratch = join(target, `fetch-${randomUUID()}`);
      const problem = await fetchPackages([[packageName]], process.env, scratch, target);
      await rm(scratch, { recursive: true, force: true });
      if (problem !== undefined) throw new Error(problem);
    });
    const program = { command: join(folder, path), env: await withLibraries(folder) };
    if (existsSync(program.command) && (await runs(program))) return program;
    return { missing: `${program.command} does not run` };
  } catch (error) {
    return { missing: `the package ${packageName} could not be unpacked: ${(error as Error).message}` };
  }
}

async function withLibraries(folder: string): Promise<NodeJS.ProcessEnv> {
  const files = await readdir(folder, { recursive: true });
  const libraries = files.filter((file) => /\.so(\.|$)/.test(basename(file)));
  const paths = [...new Set(libraries.map((file) => join(folder, dirname(file))))];
  return { ...process.env, LD_LIBRARY_PATH: paths.join(':') };
}
