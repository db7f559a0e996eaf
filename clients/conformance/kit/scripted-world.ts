import { randomUUID } from 'node:crypto';
import { Catalogue } from '../server/catalogue';
import { Records } from '../server/records';
import type { Wanted } from '../server/resource';
import { ScriptedServer } from '../server/scripted-server';
import { SessionChecks } from '../server/session-checks';
import { statusSpec } from '../server/status-spec';
import type { Holding } from '../server/resource';
import { Store } from '../server/store';
import { takeover } from '../server/takeovers';
import { changeBehaviour, sendResponse } from './acts';
import { LATEST, type Case, type Names, type Step, type Values } from './case-file';
import type { CertificateKind } from './certificate-kinds';
import { serverFiles, writeClientFiles } from './certificates';
import { HostNames } from './host-names';
import type { World } from './world';

const STRANGER = randomUUID();

/** Scripted servers over one store. */
export class ScriptedWorld implements World {
  readonly store = new Store();
  private readonly catalogue = new Catalogue();
  private readonly checks: SessionChecks;
  private readonly servers = new Map<string, ScriptedServer>();
  private readonly hosts: HostNames;

  private constructor(
    private readonly folder: string,
    { names, servers }: Case,
    readonly records: Records,
  ) {
    this.checks = new SessionChecks(records);
    this.hosts = new HostNames(folder, names, servers.keys());
  }

  static async start(one: Case, folder: string, log: (line: string) => void): Promise<ScriptedWorld> {
    const world = new ScriptedWorld(folder, one, new Records(log));
    for (const [name, settings] of one.servers) await world.startServer(name, settings ?? {});
    world.hosts.write(one.names);
    return world;
  }

  get leaseIds(): ReadonlySet<string> {
    return this.store.leaseIds;
  }

  address(server: string): string {
    return this.hosts.address(server) ?? this.server(server).address;
  }

  lease(name: string, token: string): Holding | undefined {
    return this.store.find(name, token);
  }

  run({ verb, value, options }: Step): Promise<boolean> {
    const chosen = options['server'] as string | undefined;
    const targets = chosen === undefined ? [...this.servers.values()] : [this.server(chosen)];
    const one = this.server(chosen ?? this.firstName);
    if (verb === 'set') {
      const { expire, ...behaviour } = value as Values;
      if (expire !== undefined) this.store.expires = expire === true;
      for (const target of targets) changeBehaviour(target, behaviour);
    } else if (verb === 'on')
      for (const target of targets) target.behaviour.takeovers.add(takeover(value as Values));
    else if (verb === 'send') sendResponse(one.latest, this.store, value as Values);
    else if (verb === 'send_unknown')
      one.latest.output.unknownEvent(one.latest.numberOf(String(value)) ?? 4711n);
    else if (verb === 'names') this.hosts.write(value as Names);
    else if (verb === 'leave') one.latest.output.leaving(Number((value as Values)['retry_ms'] ?? 0));
    else if (verb === 'end_sessions') one.endSessions(statusSpec(value));
    else if (verb === 'end_calls') one.endCalls(statusSpec(value));
    else if (verb === 'reset_streams') one.resetStreams();
    else if (verb === 'cut') one.cut();
    else if (verb === 'black_hole') one.blackHole();
    else if (verb === 'stop') one.stop();
    else if (verb === 'restore') one.restore();
    else if (verb === 'server_certificate') one.useCertificate(serverFiles(value as CertificateKind));
    else if (verb === 'client_certificate') writeClientFiles(this.folder, value as CertificateKind);
    else return Promise.resolve(this.runOnStore(verb, value as Values));
    return Promise.resolve(true);
  }

  async close(): Promise<void> {
    this.store.close();
    await Promise.all([...this.servers.values()].map((one) => one.close()));
  }

  private runOnStore(verb: string, value: Values): boolean {
    if (verb === 'end_lease' && value['quiet'] === true)
      this.store.endQuietly(this.held(value), String(value['cause']));
    else if (verb === 'end_lease') this.store.endByCase(this.held(value), value['cause'] as string | number);
    else if (verb === 'take_over') {
      const held = this.held(value);
      const owner = held.place;
      if (owner) this.checks.superseded(owner.clientId, held.leaseId);
      held.place = undefined;
      owner?.ended('SUPERSEDED');
    } else if (verb === 'hold') {
      this.store.hold(stranger(value));
      this.store.resource('permits', String(value['name'])).isPaused = value['paused'] === true;
    } else if (verb === 'free') this.store.end(this.held(value), 'RELEASED');
    else return false;
    return true;
  }

  /** The holder of the name, or the one with the given label. */
  private held({ name, holder }: Values): Holding {
    const held = this.store.heldBy(
      String(name),
      (one) => holder === undefined || one.wanted.holderId === holder,
    );
    if (!held) throw new Error(`nobody holds ${String(name)}`);
    return held;
  }

  private get firstName(): string {
    return [...this.servers.keys()][0] ?? '';
  }

  private server(name: string): ScriptedServer {
    const server = name === LATEST ? this.latest : this.servers.get(name);
    if (!server) throw new Error(`there is no server ${name}`);
    return server;
  }

  /** The server of the session with the greatest number. */
  private get latest(): ScriptedServer | undefined {
    const numberOf = (one: ScriptedServer): number =>
      Math.max(0, ...one.sessions.map(({ session }) => session.number));
    return [...this.servers.values()].sort((a, b) => numberOf(b) - numberOf(a))[0];
  }

  private async startServer(name: string, settings: Values): Promise<void> {
    const { tls, down, ...behaviour } = settings;
    const { store, catalogue, records, checks } = this;
    const options = { name, store, catalogue, records, checks };
    const withTls = tls !== undefined && { tls: { ...serverFiles('valid'), clients: tls === 'client' } };
    if (withTls) writeClientFiles(this.folder, 'valid');
    const server = await ScriptedServer.start({ ...options, ...withTls, listen: this.hosts.listen(name) });
    this.servers.set(name, server);
    this.hosts.listens(name, server.address);
    changeBehaviour(server, behaviour);
    if (down === true) server.stop();
  }
}

function stranger({ name, holder = 'stranger', permits = 1, limit = 0, mode }: Values): Wanted {
  return {
    kind: Number(limit) > 0 ? 'permits' : 'lock',
    ...{ name: String(name), requestId: `${STRANGER} ${String(holder)}`, ttlMs: 30_000, waitMs: 0 },
    ...{ shared: mode === 'shared', permits: Number(permits), limit: Number(limit) },
    ...{ holderId: String(holder), metadata: new Map() },
  };
}
