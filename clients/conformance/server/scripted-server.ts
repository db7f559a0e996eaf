import { promisify } from 'node:util';
import { Server, ServerCredentials, type UntypedServiceImplementation } from '@grpc/grpc-js';
import { AutocompleteServiceService } from '../../../generated/typescript/holdfast/v1/autocomplete_service';
import { LockServiceService } from '../../../generated/typescript/holdfast/v1/lock_service';
import { SemaphoreServiceService } from '../../../generated/typescript/holdfast/v1/semaphore_service';
import { ServerServiceService } from '../../../generated/typescript/holdfast/v1/server_service';
import {
  OpenSessionResponse,
  SessionServiceService,
  type OpenSessionRequest,
} from '../../../generated/typescript/holdfast/v1/session_service';
import { TcpProxy } from '../../../test/support/proxy/tcp-proxy';
import { AutocompleteCalls } from './autocomplete-calls';
import { Behaviour } from './behaviour';
import type { Catalogue } from './catalogue';
import { connectionOf, cutConnectionOf, resetStreamOf } from './connections';
import { LockCalls } from './lock-calls';
import type { Records } from './records';
import { ServedCalls } from './served-calls';
import { ScriptedSession } from './session';
import type { SessionChecks } from './session-checks';
import type { RawResponse, SessionCall } from './session-output';
import { serviceError, type StatusSpec } from './status-spec';
import type { Store } from './store';
import { TlsCredentials, type ServerTls, type TlsFiles } from './tls-credentials';

export interface ScriptedServerOptions {
  readonly name: string;
  readonly store: Store;
  readonly catalogue: Catalogue;
  readonly records: Records;
  readonly checks: SessionChecks;
  readonly tls?: ServerTls;
  /** Default: a free port of 127.0.0.1. */
  readonly listen?: { readonly host: string; readonly port: number } | undefined;
}

/** OpenSession with responses that may have unknown fields. */
const openSession = {
  ...SessionServiceService.openSession,
  responseSerialize: ({ response, unknown }: RawResponse): Buffer =>
    Buffer.concat([OpenSessionResponse.encode(response).finish(), unknown]),
};

/** A correct small server in memory. A case leads it astray by its `behaviour` and its acts. */
export class ScriptedServer {
  readonly behaviour = new Behaviour();
  readonly sessions: { readonly session: ScriptedSession; readonly call: SessionCall }[] = [];
  private readonly server = new Server();
  private readonly lockCalls: LockCalls;
  private readonly autocompleteCalls: AutocompleteCalls;
  private readonly served: ServedCalls;
  private readonly credentials: TlsCredentials | undefined;
  private proxy: TcpProxy | undefined;

  private constructor(private readonly options: ScriptedServerOptions) {
    const { name: server, records, checks, store, catalogue, tls } = options;
    const { behaviour } = this;
    this.credentials = tls && new TlsCredentials(tls);
    this.served = new ServedCalls({ server, records, checks, behaviour });
    this.lockCalls = new LockCalls(store, this.served);
    this.autocompleteCalls = new AutocompleteCalls(catalogue, this.served);
  }

  static async start(options: ScriptedServerOptions): Promise<ScriptedServer> {
    const one = new ScriptedServer(options);
    const { getLock, releaseLock, watchLock } = LockServiceService;
    const { getSemaphore } = SemaphoreServiceService;
    const { getServerInfo } = ServerServiceService;
    const { lockCalls, server } = one;
    const locks = {
      getLock: lockCalls.getLock(),
      releaseLock: lockCalls.releaseLock(),
      watchLock: lockCalls.watchLock,
    };
    server.addService({ openSession }, { openSession: (call: SessionCall) => one.openSession(call) });
    server.addService({ getLock, releaseLock, watchLock }, locks);
    server.addService({ getSemaphore }, { getSemaphore: lockCalls.getSemaphore() });
    server.addService({ getServerInfo }, { getServerInfo: lockCalls.serverInfo() });
    const autocomplete = one.autocompleteCalls.handlers() as UntypedServiceImplementation;
    server.addService(AutocompleteServiceService, autocomplete);
    const bind = promisify(server.bindAsync.bind(server));
    const targetPort = await bind('127.0.0.1:0', one.credentials ?? ServerCredentials.createInsecure());
    one.proxy = await TcpProxy.open({ targetPort, protocol: 'tcp', listen: options.listen });
    return one;
  }

  get address(): string {
    return this.front.address;
  }

  /** The latest open session. */
  get latest(): ScriptedSession {
    const open = this.sessions.filter(({ session }) => session.isOpen).at(-1);
    if (!open) throw new Error(`server ${this.options.name} has no open session`);
    return open.session;
  }

  get connectionCount(): number {
    return this.front.openConnections;
  }

  endSessions(status: StatusSpec): void {
    for (const { session } of this.sessions) session.end(status);
  }

  endCalls(status: StatusSpec): void {
    this.lockCalls.endWatches(status);
    this.autocompleteCalls.cutStreams();
  }

  resetStreams(): void {
    for (const { session, call } of this.sessions) if (session.isOpen) resetStreamOf(call);
  }

  cut(): void {
    this.front.cutAll();
  }

  blackHole(): void {
    this.front.blackHole('both');
  }

  /** Ends all connections, and refuses new ones. */
  stop(): void {
    this.front.refuseNew();
    this.front.cutAll();
  }

  /** For the next connections. */
  useCertificate(files: TlsFiles): void {
    if (!this.credentials) throw new Error(`server ${this.options.name} has no TLS`);
    this.credentials.use(files);
  }

  restore(): void {
    this.front.passEverything();
  }

  async close(): Promise<void> {
    this.server.forceShutdown();
    await this.proxy?.close();
  }

  private get front(): TcpProxy {
    if (!this.proxy) throw new Error('the server is not started');
    return this.proxy;
  }

  private openSession(call: SessionCall): void {
    const { name: server, store, records, checks } = this.options;
    const { behaviour } = this;
    call.on('error', () => undefined);
    const problem = this.served.credentialProblem(call);
    const refused = problem ?? (behaviour.refuse && serviceError(behaviour.refuse));
    if (refused) {
      const authorization = String(call.metadata.get('authorization')[0] ?? '');
      records.add(server, 'refused', { authorization });
      call.on('data', () => undefined);
      return void call.emit('error', refused);
    }
    const cutIt = (): void => cutConnectionOf(call);
    const around = { server, store, records, checks, behaviour };
    const session = new ScriptedSession(call, connectionOf(call), cutIt, around);
    this.sessions.push({ session, call });
    call.on('data', (request: OpenSessionRequest) => session.request(request));
    call.on('end', () => session.halfClosed());
    call.on('close', () => session.closed());
    call.on('cancelled', () => session.closed());
  }
}
