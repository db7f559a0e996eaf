import { userInfo } from 'node:os';
import { parseArgs } from 'node:util';
import { UsageError } from '../worker-typescript/options';

export interface Options {
  /** Servers that share one store. The program uses the next server when a server does not answer. */
  readonly servers: readonly string[];
  readonly dictionary: string;
  /** The name of the list of recents. */
  readonly recents: string;
  /**
   * The import of words from `file`; without a `file`, from a word list of the system. Undefined: the program completes
   * queries.
   */
  readonly load: { readonly file: string | undefined } | undefined;
}

export const USAGE = `usage: npm run type-ahead -- [options]               complete the typed text, or each line of a pipe
       npm run type-ahead -- --load [FILE] [options]  import words, one per line; default: the system's words
  --dictionary NAME          the dictionary              (words)
  --user NAME                the owner of the recents    (the login name)
  --server HOST:PORT[,...]   servers of one store        (127.0.0.1:50051)`;

/** The name of the user, or `guest` for a user id without a name, as in many containers. */
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
  if (positionals.length > 1) throw new UsageError('expected at most one FILE');
  if (file !== undefined && !values.load)
    throw new UsageError(`${file}: a FILE is accepted only after --load`);
  const servers = values.server.split(',').filter((server) => server !== '');
  if (servers.length === 0) throw new UsageError('--server names no server');
  const user = values.user ?? loginName();
  if (user === '') throw new UsageError('--user is empty');
  return {
    servers,
    dictionary: values.dictionary,
    // The prefix separates the list from the lists of other programs for the same user.
    recents: `type-ahead:${user}`,
    load: values.load ? { file } : undefined,
  };
}
