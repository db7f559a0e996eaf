import { type Resource, resourceKey } from '../../../src/leases/lease';
import type { ModelWorld, SentCommand } from '../model-store';
import type { LeaseModel } from '../lease-model';
import { speakerOf } from '../lease-model-resource';
import type { ScenarioParts, ClientProcess } from './client-process';
import type { CommandRecord } from './session-record';
import { HEARTBEAT_TIMEOUT_MS } from './session-server';

/** The clocks count fractions. */
const ROUNDING_MS = 0.001;

/** Sees each command at the store, and each renewal before its journey. */
export class StoreWitness {
  /** The greatest token, and all tokens, by resource. */
  private readonly lastTokens = new Map<string, number>();
  private readonly tokens = new Map<string, Set<number>>();
  /** When a server has sent a release of a lease (ms, world's clock), by server and request. */
  private readonly releases = new Map<string, number>();

  constructor(
    private readonly parts: ScenarioParts,
    private readonly processes: readonly ClientProcess[],
  ) {
    parts.world.onRun = (resource, model) => {
      this.checkGrants(resource, model);
      parts.beliefs.check();
    };
    parts.world.onSend = (command) => this.sent(command);
  }

  private get world(): ModelWorld {
    return this.parts.world;
  }

  /** Expects that tokens rise, and that no more permits are taken than there are. */
  private checkGrants({ service, name }: Resource, model: LeaseModel): void {
    const { limit = 0, used } = model;
    if (used > limit) this.report(`${used} permits of ${name} are taken, and there are ${limit}`);
    const key = resourceKey({ service, name });
    const last = this.lastTokens.get(key) ?? 0;
    const known = this.tokens.get(key) ?? new Set<number>();
    this.tokens.set(key, known);
    const fresh = model.holders().filter(({ token }) => !known.has(token));
    for (const { token } of fresh) {
      if (token <= last) this.report(`${name} was granted with token ${token} after ${last}`);
      known.add(token);
    }
    this.lastTokens.set(key, Math.max(last, ...fresh.map(({ token }) => token)));
  }

  private sent(command: SentCommand): void {
    const { verb, server, requestId, attach } = command;
    const key = `${server} ${requestId}`;
    if (verb === 'release' && attach === undefined) this.releases.set(key, this.world.clock.now());
    if (verb !== 'renew' || attach === undefined) return;
    const record = this.recordOf(attach);
    if (record === undefined) return;
    if (record.session.isOver) record.report('was renewed after the end of its session');
    // A client that does not read learns of its grant late. The grant is a sign of life too.
    if (record.end !== 'granted') return;
    this.expectSignOfLife(record, command);
    if (record.grantedTime < (this.releases.get(key) ?? -Infinity)) {
      record.report('was renewed after a release was asked for');
    }
  }

  /** Expects that the client of a renewed lease was heard recently. */
  private expectSignOfLife(record: CommandRecord, { server, resource, requestId }: SentCommand): void {
    const { session } = record;
    const request = this.world.model(resource).requests.find(({ id }) => id === requestId);
    if (request === undefined) return;
    if (session.server.id !== server) record.report(`was renewed by ${server}`);
    const silentMs = this.world.clock.now() - Math.max(session.lastBeatAt, record.grantedTime);
    const allowedMs = Math.min(HEARTBEAT_TIMEOUT_MS, request.ttl / 1000);
    if (silentMs * session.server.clock.rate >= allowedMs + ROUNDING_MS) {
      record.report(
        `was renewed after ${silentMs} ms without a heartbeat, and its ttl is ${request.ttl / 1000} ms`,
      );
    }
  }

  /** The command that speaks for a lease. Undefined: a hold stream does. */
  private recordOf(attach: string): CommandRecord | undefined {
    const speaker = speakerOf(attach);
    if (speaker === undefined) return undefined;
    const process = this.processes.find(({ shortId }) => shortId === speaker.client);
    const record = process?.sessions[speaker.session - 1]?.commands.get(speaker.command);
    if (record === undefined) this.report(`a lease was renewed for the unknown speaker of ${attach}`);
    return record;
  }

  private report(what: string): void {
    this.parts.violations.push(what);
  }
}
