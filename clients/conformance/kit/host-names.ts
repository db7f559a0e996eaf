import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Names } from './case-file';

/** This machine does not let a process have a file /etc/hosts of its own. */
export class NoNames extends Error {
  override readonly name = 'NoNames';
}

const FILE = 'hosts';
/** As root, or as a user who may map himself to root in a namespace. */
const NAMESPACES = [
  ['unshare', '--mount'],
  ['unshare', '--map-root-user', '--mount'],
];
const WITH_HOSTS = 'mount --bind "$0" /etc/hosts && exec "$@"';

let namespace: readonly string[] | undefined | null;

/** The command in a mount namespace, where `hosts` of the folder is /etc/hosts. Throws NoNames. */
export function withNames(command: readonly string[], folder: string): readonly string[] {
  namespace ??= NAMESPACES.find(isAllowed) ?? null;
  if (!namespace)
    throw new NoNames(
      'a name of several servers needs a mount namespace (unshare), which this machine refuses',
    );
  return [...namespace, 'sh', '-c', WITH_HOSTS, join(folder, FILE), ...command];
}

function isAllowed([program = '', ...args]: readonly string[]): boolean {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-hosts-'));
  try {
    const file = join(folder, FILE);
    writeFileSync(file, 'probe\n');
    const command = [...args, 'sh', '-c', WITH_HOSTS, file, 'cat', '/etc/hosts'];
    return execFileSync(program, command, { stdio: 'pipe', timeout: 10_000 }).toString() === 'probe\n';
  } catch {
    return false;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The names of a case. With names, its servers have one port, and each has a loopback address of its own. */
export class HostNames {
  private readonly hosts = new Map<string, string>();
  private port = 0;

  constructor(
    private readonly folder: string,
    private readonly names: Names,
    servers: Iterable<string>,
  ) {
    if (Object.keys(names).length === 0) return;
    for (const server of servers) this.hosts.set(server, `127.0.0.${this.hosts.size + 2}`);
  }

  /** Where a server must listen. Undefined: anywhere. */
  listen(server: string): { host: string; port: number } | undefined {
    const host = this.hosts.get(server);
    return host === undefined ? undefined : { host, port: this.port };
  }

  listens(server: string, address: string): void {
    if (this.hosts.has(server)) this.port = Number(address.split(':').at(-1));
  }

  /** Undefined: this is no name. */
  address(name: string): string | undefined {
    return name in this.names ? `${name}:${this.port}` : undefined;
  }

  /** A name without a server is not found. The file stays the same, because the driver has it mounted. */
  write(names: Names): void {
    if (Object.keys(this.names).length === 0) return;
    const lines = Object.entries({ ...this.names, ...names }).flatMap(([name, servers]) =>
      servers.map((server) => `${this.hosts.get(server) ?? ''} ${name}`),
    );
    writeFileSync(join(this.folder, FILE), ['127.0.0.1 localhost', ...lines, ''].join('\n'));
  }
}
