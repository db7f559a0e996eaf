import { credentials } from '@grpc/grpc-js';
import {
  LockServiceClient,
  type GetLockRequest,
  type GetLockResponse,
} from '../../../generated/typescript/holdfast/v1/lock_service';
import { RedisProcess } from '../../../test/support/processes/redis-process';
import { ServerProcess } from '../../../test/support/processes/server-process';
import { TcpProxy } from '../../../test/support/proxy/tcp-proxy';
import { Records } from '../server/records';
import type { Case, Step, Values } from './case-file';
import type { CertificateKind } from './certificate-kinds';
import { serverFiles, writeClientFiles } from './certificates';
import { textOf } from './text';
import type { WaitFor, World } from './world';

type Environment = Readonly<Record<string, string>>;

interface Member {
  process: ServerProcess | undefined;
  readonly env: Environment;
  readonly listen: string;
  readonly proxy: TcpProxy;
}

const WITHIN_MS = 30_000;

/** Built servers over one Redis, each behind a TCP proxy. */
export class FaultWorld implements World {
  readonly records: Records;
  readonly leaseIds: ReadonlySet<string> = new Set();
  private readonly members = new Map<string, Member>();

  private constructor(
    private readonly redis: RedisProcess,
    private readonly folder: string,
    private readonly log: (line: string) => void,
  ) {
    this.records = new Records(log);
  }

  static async start(one: Case, folder: string, log: (line: string) => void): Promise<FaultWorld> {
    const world = new FaultWorld(await RedisProcess.start(), folder, log);
    try {
      for (const [name, settings] of one.servers) {
        const env = world.environment(settings ?? {});
        const process = await world.newServer(name, env);
        const targetPort = Number(process.listen.split(':').at(-1));
        const proxy = await TcpProxy.open({ targetPort, protocol: 'tcp' });
        world.members.set(name, { process, env, listen: process.listen, proxy });
      }
    } catch (error) {
      await world.close();
      throw error;
    }
    return world;
  }

  address(server: string): string {
    return this.member(server).proxy.address;
  }

  /** The servers do not say what a client may believe. */
  lease(): undefined {
    return undefined;
  }

  async run({ verb, value, options }: Step, waitFor: WaitFor): Promise<boolean> {
    const name = textOf(options['server'] ?? [...this.members.keys()][0]);
    const member = this.member(name);
    if (verb === 'kill') await member.process?.kill();
    // The drain goes on while the case continues.
    else if (verb === 'terminate') member.process?.signal('SIGTERM');
    else if (verb === 'pause') member.process?.stop();
    else if (verb === 'resume') member.process?.cont();
    else if (verb === 'flush_store') await this.redis.command('FLUSHALL');
    else if (verb === 'start') member.process = await this.newServer(name, member.env, member.listen);
    else if (verb === 'cut') member.proxy.cutAll();
    else if (verb === 'black_hole') member.proxy.blackHole('both');
    else if (verb === 'restore') member.proxy.passEverything();
    else if (verb === 'client_certificate') writeClientFiles(this.folder, value as CertificateKind);
    else if (verb === 'ended')
      await waitFor(`the end of ${name}`, () => member.process?.exit, within(options));
    else if (verb === 'holders' || verb === 'waiters')
      await this.count(verb, member, value as Values, options, waitFor);
    else if (verb === 'revoke') await this.revoke(member, value as Values);
    else return false;
    return true;
  }

  async close(): Promise<void> {
    for (const { process, proxy } of this.members.values()) {
      await process?.close();
      await proxy.close();
    }
    await this.redis.close();
  }

  /** With TLS, the server asks for a certificate of the client. */
  private environment({ tls }: Values): Environment {
    if (tls !== 'client') return {};
    writeClientFiles(this.folder, 'valid');
    const { ca, cert, key } = serverFiles('valid');
    return { HOLDFAST_TLS_CERT: cert, HOLDFAST_TLS_KEY: key, HOLDFAST_TLS_CLIENT_CA: ca };
  }

  private async newServer(name: string, env: Environment, listen?: string): Promise<ServerProcess> {
    return ServerProcess.start({
      redisUrl: this.redis.url,
      env,
      ...(listen !== undefined && { listen }),
      onLine: (line) => this.log(`${name} log: ${line}`),
    });
  }

  /** Waits until GetLock shows this number of holders or waiters. */
  private async count(
    what: 'holders' | 'waiters',
    member: Member,
    { name, count }: Values,
    options: Values,
    waitFor: WaitFor,
  ): Promise<void> {
    const client = this.client(member);
    const request: GetLockRequest = { name: String(name) };
    let latest: number | undefined;
    let isAsking = false;
    const ask = (): true | undefined => {
      if (!isAsking) {
        isAsking = true;
        client.getLock(request, (_error: unknown, response?: GetLockResponse) => {
          latest = (what === 'holders' ? response?.lock?.holderCount : response?.lock?.waiterCount) ?? latest;
          isAsking = false;
        });
      }
      return latest === count || undefined;
    };
    try {
      await waitFor(`${String(count)} ${what} of ${String(name)}`, ask, within(options));
    } finally {
      client.close();
    }
  }

  private async revoke(member: Member, { name, force = false }: Values): Promise<void> {
    const client = this.client(member);
    const target = { $case: 'allHolders' as const, value: true };
    const request = {
      name: String(name),
      target,
      force: force === true,
      reason: 'the case',
      enqueueTime: undefined,
    };
    try {
      await new Promise<void>((resolve, reject) => {
        client.revokeLock(request, (error) => (error ? reject(error) : resolve()));
      });
    } finally {
      client.close();
    }
  }

  /** Past the proxy, because the case speaks as an operator. */
  private client({ listen }: Member): LockServiceClient {
    return new LockServiceClient(listen, credentials.createInsecure());
  }

  private member(name: string): Member {
    const member = this.members.get(name);
    if (!member) throw new Error(`there is no server ${name}`);
    return member;
  }
}

function within({ within_ms: ms = WITHIN_MS }: Values): number {
  return Number(ms);
}
