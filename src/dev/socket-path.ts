import { createHash } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isPrivateFolder } from './cache-directory';

/** The longest socket path on macOS. Linux accepts 107 bytes. Both truncate a longer path without an error. */
const MAX_SOCKET_PATH_BYTES = 103;

/**
 * The path of the Redis socket for a folder. The socket lies in this folder, or in the temporary folder if the path is
 * too long. Its name there is a digest of the folder's path, so that the next start finds the same socket.
 */
export async function socketPath(folder: string): Promise<string> {
  const inside = join(folder, 'redis.sock');
  if (Buffer.byteLength(inside) <= MAX_SOCKET_PATH_BYTES) return inside;
  const outside = join(tmpdir(), `holdfast-${process.getuid?.() ?? 0}`);
  const name = createHash('sha256').update(folder).digest('hex').slice(0, 16);
  if (await isPrivateFolder(outside)) return join(outside, `${name}.sock`);
  throw new Error(
    `${inside} is too long for a socket (at most ${MAX_SOCKET_PATH_BYTES} bytes), and ${outside} is not private ` +
      'to this user: start in a folder with a shorter path, or set HOLDFAST_REDIS_URL',
  );
}
