import { randomUUID } from 'node:crypto';
import { lstat, mkdir, rm, writeFile } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { isAbsolute, join } from 'node:path';

/** The home folder. Empty in a container with an unknown user id, where homedir() throws. */
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

/** Folders for a user's cache, in order of preference. The last folder is for users without a home folder. */
function candidates(env: NodeJS.ProcessEnv): string[] {
  const { XDG_CACHE_HOME: xdg, HOME: home = homeFolder() } = env;
  return [
    ...(xdg !== undefined && isAbsolute(xdg) ? [join(xdg, 'holdfast')] : []),
    ...(isAbsolute(home) ? [join(home, '.cache', 'holdfast')] : []),
    join(tmpdir(), `holdfast-${userId()}`),
  ];
}

/**
 * Creates the folder if necessary. Returns true if this user owns the folder and no other user can write to the folder.
 * Programs from this folder are run later, so a folder of another user in the shared temporary folder is refused.
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

/** A private folder for files that can be downloaded again. Undefined: no folder is suitable. */
export async function cacheDirectory(env: NodeJS.ProcessEnv): Promise<string | undefined> {
  for (const folder of candidates(env)) if (await isPrivateFolder(folder)) return folder;
  return undefined;
}
