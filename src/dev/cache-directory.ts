import { randomUUID } from 'node:crypto';
import { lstat, mkdir, rm, writeFile } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { isAbsolute, join } from 'node:path';

/** Containers run under user ids that have no name: then there is no home either, and asking for it throws. */
function homeFolder(): string {
  try {
    return homedir();
  } catch {
    return '';
  }
}

function userId(): number {
  return process.getuid?.() ?? 0;
}

/** Where a user's caches go, the usual place first; the last one is there for users without a home. */
function candidates(env: NodeJS.ProcessEnv): string[] {
  const { XDG_CACHE_HOME: xdg, HOME: home = homeFolder() } = env;
  return [
    ...(xdg !== undefined && isAbsolute(xdg) ? [join(xdg, 'holdfast')] : []),
    ...(isAbsolute(home) ? [join(home, '.cache', 'holdfast')] : []),
    join(tmpdir(), `holdfast-${userId()}`),
  ];
}

/**
 * Makes a folder and says whether it can be written and is ours alone. What is put there will be trusted, so one
 * that another user made in advance, in the shared temporary folder say, does not do.
 */
export async function isPrivateFolder(folder: string): Promise<boolean> {
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const found = await lstat(folder);
    if (!found.isDirectory() || found.uid !== userId() || (found.mode & 0o022) !== 0) return false;
    const probe = join(folder, `.probe-${randomUUID()}`);
    await writeFile(probe, '');
    await rm(probe);
    return true;
  } catch {
    return false;
  }
}

/** A folder of this user's for what can be fetched again; undefined when there is none to be had. */
export async function cacheDirectory(env: NodeJS.ProcessEnv): Promise<string | undefined> {
  for (const folder of candidates(env)) if (await isPrivateFolder(folder)) return folder;
  return undefined;
}
