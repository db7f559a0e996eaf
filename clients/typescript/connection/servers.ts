import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import { either, unlessAborted } from '../calls/abort';
import { isLoopback } from './transport-security';

/** One address of a server. */
export interface Server {
  /** The "host:port" of the caller. A certificate must be valid for it. */
  readonly given: string;
  /** The "ip:port" to connect to. Undefined: gRPC looks the host up. */
  readonly address?: string;
}

export interface Turn {
  readonly server: Server;
  /** The addresses that were never taken before, this one included, or all after the first round. */
  readonly leftCount: number;
}

/** The addresses of a host. Rejects, or gives none, if the host is not found. */
export type LookUp = (host: string) => Promise<readonly string[]>;

/** The longest wait of a connection for the look-up of a name. */
const LOOKUP_MS = 1000;
/** Look-ups of one client at one time, because each has one of the four threads of Node, and may hang for long. */
const MAX_LOOKUPS = 2;
const HOST_AND_PORT = /^([^:[\]]+):(\d+)$/;

/**
 * The servers of one store. A name may mean several of them, as that of a headless Service does. Each address has its turn,
 * because a process that hangs still accepts connections, and gRPC would come back to it.
 */
export class Servers {
  /** The turn in which an address was last taken, by `textOf`. Absent: never. */
  private turns = new Map<string, number>();
  private turn = 0;

  constructor(
    addresses: readonly string[],
    private readonly names = addresses.map((given) => new HostName(given)),
    private readonly lookUps = new LookUps(),
  ) {}

  /** For other connections to the same servers. Begins with the server that was taken last here. */
  again(): Servers {
    const servers = new Servers([], this.names, this.lookUps);
    for (const [text, turn] of this.turns) servers.turns.set(text, turn === this.turn ? -1 : turn);
    servers.turn = this.turn;
    return servers;
  }

  /**
   * Looks all names up anew, and takes the address that was not taken for the longest time. A look-up that fails or takes
   * longer than 1 s leaves the addresses of the one before. The end of `ends` ends the wait.
   */
  async next(ends: AbortSignal): Promise<Turn> {
    await this.lookUps.all(this.names, ends);
    const all = this.all();
    const turns = new Map(all.map((one) => [textOf(one), this.turns.get(textOf(one)) ?? 0]));
    const untakenCount = [...turns.values()].filter((turn) => turn === 0).length;
    const earliest = Math.min(...turns.values());
    const server = all.find((one) => turns.get(textOf(one)) === earliest) ?? { given: '' };
    this.turn += 1;
    this.turns = turns.set(textOf(server), this.turn);
    return { server, leftCount: untakenCount || all.length };
  }

  /** The number of known addresses. */
  get count(): number {
    return this.all().length;
  }

  private all(): Server[] {
    return this.names.flatMap((name) => name.servers);
  }
}

/** For logs and errors. */
export function textOf({ given, address }: Server): string {
  return address === undefined ? given : `${given} at ${address}`;
}

/** The host of "host:port". */
export function hostOf(given: string): string {
  return given.replace(/:\d+$/, '');
}

/** What one given address means. */
class HostName {
  /** Those of the last look-up that has found any, in random order. */
  addresses: readonly string[] = [];

  constructor(readonly given: string) {}

  get servers(): Server[] {
    const { given } = this;
    // The error of gRPC says why the name is not found.
    if (this.addresses.length === 0) return [{ given }];
    const port = HOST_AND_PORT.exec(given)?.[2] ?? '';
    return this.addresses.map((ip) => ({ given, address: `${isIP(ip) === 6 ? `[${ip}]` : ip}:${port}` }));
  }

  /** Whether the host is looked up here. Both addresses of localhost are those of one server. */
  get isLookedUp(): boolean {
    const host = HOST_AND_PORT.exec(this.given)?.[1];
    return host !== undefined && isIP(host) === 0 && !isLoopback(this.given) && !isProxied(host);
  }

  found(addresses: readonly string[]): void {
    const found = [...new Set(addresses)];
    const isKnown =
      found.length === this.addresses.length && found.every((one) => this.addresses.includes(one));
    if (found.length > 0 && !isKnown) this.addresses = mixed(found);
  }
}

/** The look-ups of one client. Node cannot cancel one, so that a late one serves a later connection. */
export class LookUps {
  private readonly startedAt = new Map<HostName, number>();
  private readonly running = new Map<HostName, Promise<void>>();
  private readonly lanes: Promise<void>[] = Array.from({ length: MAX_LOOKUPS }, () => Promise.resolve());

  constructor(private readonly lookUp: LookUp = addressesOf) {}

  /** Waits for the look-ups of all names, and for none that has kept a connection waiting before. */
  async all(names: readonly HostName[], ends: AbortSignal): Promise<void> {
    const looked = names.filter((name) => name.isLookedUp);
    if (looked.length === 0) return;
    looked.forEach((name, index) => this.begin(name, index));
    const latest = Math.max(...looked.map((name) => this.startedAt.get(name) ?? 0));
    const leftMs = latest + LOOKUP_MS - performance.now();
    if (leftMs <= 0) return;
    const bounded = either(undefined, ends, leftMs);
    const ended = Promise.all(looked.flatMap((name) => this.running.get(name) ?? []));
    await unlessAborted(ended, bounded.signal).catch(() => undefined);
    bounded.dispose();
  }

  private begin(name: HostName, index: number): void {
    if (this.running.has(name)) return;
    const lane = index % MAX_LOOKUPS;
    const run = (this.lanes[lane] ?? Promise.resolve()).then(() => this.one(name));
    this.lanes[lane] = run;
    this.running.set(name, run);
    this.startedAt.set(name, performance.now());
  }

  private async one(name: HostName): Promise<void> {
    try {
      name.found(await this.lookUp(hostOf(name.given)));
    } catch {
      // The addresses found last may still be right.
    } finally {
      this.running.delete(name);
    }
  }
}

async function addressesOf(host: string): Promise<string[]> {
  return (await lookup(host, { all: true })).map(({ address }) => address);
}

/**
 * Mixes the addresses, so that clients spread. The two families take turns and the resolver's first one stays first, because
 * one of them may lead nowhere.
 */
function mixed(found: readonly string[]): string[] {
  const first = isIP(found[0] ?? '');
  const random = found.map((ip) => ({ ip, at: Math.random() })).sort((one, other) => one.at - other.at);
  const ours = random.filter(({ ip }) => isIP(ip) === first);
  const others = random.filter(({ ip }) => isIP(ip) !== first);
  return random.flatMap((_, at) => [ours[at], others[at]]).flatMap((one) => (one ? [one.ip] : []));
}

/** A proxy looks names up itself. The variables are those of @grpc/grpc-js. */
function isProxied(host: string): boolean {
  const { grpc_proxy, https_proxy, http_proxy, no_grpc_proxy, no_proxy } = process.env;
  if (!(grpc_proxy || https_proxy || http_proxy)) return false;
  const direct = no_grpc_proxy || no_proxy;
  return !direct?.split(',').some((ending) => host.endsWith(ending));
}
