import { createHash } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isPrivateFolder } from './cache-directory';

/** The kernel takes 107 bytes (103 on macOS) and the end mark; a longer path is cut off without a word. */
const LONGEST_SOCKET_PATH_BYTES = 103;

/**
 * Where the socket of a folder's Redis is: in the folder, or where its path is too long, under a name made
 * from the folder's in the temporary folder, so that the next start finds the same one.
 */
export async function socketPath(folder: string): Promise<string> {
  const inside = join(folder, 'redis.sock');
  if (Buffer.byteLength(inside) <= LONGEST_SOCKET_PATH_BYTES) return inside;
  const outside = join(tmpdir(), `holdfast-${process.getuid?.() ?? 0}`);
  const name = createHash('sha256').update(folder).digest('hex').slice(0, 16);
  if (await isPrivateFolder(outside)) return join(outside, `${name}.sock`);
  throw new Error(
    `${inside} is too long for a socket (${LONGEST_SOCKET_PATH_BYTES} bytes), and ${outside} is not this ` +
      "user's own: start in a folder with a shorter path, or set HOLDFAST_REDIS_URL",
  );
}
