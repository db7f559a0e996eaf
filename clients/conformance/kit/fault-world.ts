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
import { textOf } from './text';
import type { WaitFor, World } from './world';

interface Member {
  process: ServerProcess | undefined;
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
    private readonly log: (line: string) => void,
  ) {
    this.records = new Records(log);
  }

  static async start(one: Case, log: (line: string) => void): Promise<FaultWorld> {
    const world = new FaultWorld(await RedisProcess.start(), log);
    try {
      for (const name of one.servers.keys()) {
        const process = await world.newServer(name);
        const targetPort = Number(process.listen.split(':').at(-1));
        const proxy = await TcpProxy.open({ targetPort, protocol: 'tcp' });
        world.members.set(name, { process, listen: process.listen, proxy });
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
    else if (verb === 'start') member.process = await this.newServer(name, member.listen);
    else if (verb === 'cut') member.proxy.cutAll();
    else if (verb === 'black_hole') member.proxy.blackHole('both');
    else if (verb === 'restore') member.proxy.passEverything();
    else if (verb === 'holders') await this.holders(member, value as Values, options, waitFor);
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

  private async newServer(name: string, listen?: string): Promise<ServerProcess> {
    return ServerProcess.start({
      redisUrl: this.redis.url,
      ...(listen !== undefined && { listen }),
      onLine: (line) => this.log(`${name} log: ${line}`),
    });
  }

  private async holders(member: Member, value: Values, options: Values, waitFor: WaitFor): Promise<void> {
    const client = this.client(member);
    const name = String(value['name']);
    let latest = -1;
    let isAsking = false;
    const ask = (): true | undefined => {
      if (!isAsking) {
        isAsking = true;
        const request: GetLockRequest = { name };
        client.getLock(request, (_error: unknown, response?: GetLockResponse) => {
          latest = response?.lock?.holderCount ?? latest;
          isAsking = false;
        });
      }
      return latest === value['count'] || undefined;
    };
    try {
      const within = Number(options['within_ms'] ?? WITHIN_MS);
      await waitFor(`${String(value['count'])} holders of ${name}`, ask, within);
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
