import { userInfo } from 'node:os';
import { parseArgs } from 'node:util';
import { UsageError } from '../worker-typescript/options';

export interface Options {
  /** Servers over one and the same store; the next is tried when one is gone. */
  readonly servers: readonly string[];
  readonly dictionary: string;
  /** The name of the list of recents. */
  readonly recents: string;
  /** Undefined: type. Else what to import first; a file, or whatever list can be had. */
  readonly load: { readonly file: string | undefined } | undefined;
}

export const USAGE = `usage: npm run type-ahead -- [options]               complete what is typed, or each line of a pipe
       npm run type-ahead -- --load [FILE] [options]  import words, one a line; without FILE the system's
  --dictionary NAME          the dictionary           (words)
  --user NAME                whose recents            (the login name)
  --server HOST:PORT[,...]   servers over one store   (127.0.0.1:50051)`;

/** Containers run under user ids that have no name. */
function loginName(): string {
  try {
    return userInfo().username;
  } catch {
    return 'guest';
  }
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        load: { type: 'boolean', default: false },
        dictionary: { type: 'string', default: 'words' },
        user: { type: 'string' },
        server: { type: 'string', default: '127.0.0.1:50051' },
      },
    });
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}

export function readOptions(args: readonly string[]): Options {
  const { values, positionals } = parse(args);
  const [file] = positionals;
  if (positionals.length > 1) throw new UsageError('one FILE at most is wanted');
  if (file !== undefined && !values.load) throw new UsageError(`${file}: a FILE is wanted after --load only`);
  const servers = values.server.split(',').filter((server) => server !== '');
  if (servers.length === 0) throw new UsageError('--server names no server');
  const user = values.user ?? loginName();
  if (user === '') throw new UsageError('--user names nobody');
  return {
    servers,
    dictionary: values.dictionary,
    // With a prefix, since other programs over the same store may keep recents of the same people.
    recents: `type-ahead:${user}`,
    load: values.load ? { file } : undefined,
  };
}
