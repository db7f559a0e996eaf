import { type Clock, systemClock } from '../../../src/base/clock';
import { type Command, type EpochGuard, type FollowUp, HIGH } from '../../../src/redis/commands';
import { script, type Script } from '../../../src/redis/script';
import { readHint } from '../../../src/leases/redis/lease-keys';
import { leaseScripts, RedisLeaseStore } from '../../../src/leases/redis/redis-lease-store';
import type { CallRef, Granted } from '../../../src/leases/lease-store';
import { RedisNode } from '../../../src/redis/topology/node';
import { Notifications } from '../../../src/redis/topology/notifications';
import { FROZEN_CLOCK } from './lease-stored';

export const PREFIX = 'test';

const READ_CLOCK = "local clock = redis.call('TIME')\n";

/** Epoch scripts keep the real clock, because servers compare their replies with their own clocks. */
export function withFrozenClock(text: string): string {
  if (!text.includes('now_text')) return text;
  if (!text.includes(READ_CLOCK)) throw new Error('the script does not read the clock');
  return text.replace(
    READ_CLOCK,
    `local clock = redis.call('HMGET', '${FROZEN_CLOCK}', 's', 'us')
`,
  );
}

/** The functions of the embedded scripts, and the places in them, that decide what is in the head (shared/layout.lua). */
const HEAD_BOUNDS: readonly [string, string, string][] = [
  ['set_end', '#lease_ids < 16', '#lease_ids < 2'],
  ['remove_end', 'meta.ends <= 8', 'meta.ends <= 1'],
  ['shrink_head', '#tombs - 16 * 45', '#tombs - 2 * 45'],
  ['shrink_head', 'excess / 45 + 8', 'excess / 45 + 1'],
];

/** The script with room for two leases and two tombstones in the head, so that random histories pass these bounds often. */
export function withSmallHead(text: string): string {
  const has = (name: string): boolean => text.includes(`local function ${name}(`);
  return HEAD_BOUNDS.reduce((changed, [name, usual, small]) => {
    // Every script that purges reaches all of the functions.
    if ((has(name) || has('purge')) && !changed.includes(usual))
      throw new Error(`the script has no "${usual}"`);
    return changed.replace(usual, small);
  }, text);
}

export interface TestServerOptions {
  /** The head of a resource has room for two leases and two tombstones. */
  readonly smallHead?: boolean;
  /** Scripts read the time from the hash FROZEN_CLOCK, so that time passes only if a test moves stored times. */
  readonly frozenClock?: boolean;
  readonly url: string;
  readonly commandTimeoutMs: number;
  readonly retentionMs: number;
  readonly quarantineMs?: number;
  readonly storeIsNew?: boolean;
  readonly clock?: Clock;
}

const TURNED_BACK = ['LAYOUT', 'STALE', 'EPOCH', 'QUARANTINED'];

/** The default quarantine, which is longer than every test. */
const QUARANTINE_MS = 60_000;

/** The store of one server, with records of its replies and hints. */
export class TestServer {
  readonly store: RedisLeaseStore;
  readonly node: RedisNode;
  /** The request ids in replies that the server must recheck. `hinted` has the request ids of pub/sub hints. */
  rechecks: string[] = [];
  /** The direct grants in replies. */
  grants: { readonly call: CallRef; readonly grant: Granted }[] = [];
  readonly hinted: string[] = [];
  /** The names in replies whose watches must be read again. Pub/sub hints of this kind are in `hinted`. */
  readonly changed: string[] = [];
  mores = 0;
  /** How many replies may be lost. */
  missed = 0;
  /** If set, replaces the epoch arguments of scripts: the expected epoch, and the deadline in Redis's time (us). */
  epochArguments: readonly [string, number] | undefined;
  /** The reply words of scripts that the epoch check refused. */
  readonly turnedBack: string[] = [];
  /** The reply word of each script, with the number of requests that the server must recheck, and the next step. */
  readonly answers: { word: string; told: number; followUp: FollowUp }[] = [];
  private notifications: Notifications | undefined;

  constructor(
    readonly id: string,
    private readonly options: TestServerOptions,
  ) {
    this.node = new RedisNode({
      quarantineMs: QUARANTINE_MS,
      storeIsNew: true,
      clock: systemClock,
      ...options,
      endpoint: options.url,
      prefix: PREFIX,
      scripts: leaseScripts.map((given) => this.variantOf(given)),
      onError: () => undefined,
    });
    const { epochs } = this.node;
    const { commands } = this.node.connection;
    const guard: EpochGuard = {
      epochArguments: (deadline, keys) => this.epochArguments ?? epochs.epochArguments(deadline, keys),
      epochCheck: (reply, keys) => {
        if (!this.epochArguments) return epochs.epochCheck(reply, keys);
        if (!TURNED_BACK.includes(reply.word)) return undefined;
        this.turnedBack.push(reply.word);
        return Promise.resolve({ kind: 'quarantined', forMs: reply.pauseMs });
      },
    };
    const send = commands.send.bind(commands);
    commands.send = <T>(command: Command<T>) => {
      const run = typeof command.run === 'string' ? command.run : this.variantOf(command.run);
      if (command.guard === undefined) return send({ ...command, run });
      const read: typeof command.read = (reply, ...rest) => {
        const { word, followUp } = reply;
        this.answers.push({ word, told: reply.news.length, followUp });
        return command.read(reply, ...rest);
      };
      // The tests of scripts send thousands of commands at once, and none may be refused for lack of time.
      return send({ ...command, run, read, turn: HIGH });
    };
    this.store = new RedisLeaseStore({
      ...options,
      commands,
      guard,
      prefix: PREFIX,
      serverId: id,
    });
    this.store.listen({
      recheck: (_resource, requestId) => void this.rechecks.push(requestId),
      granted: (_resource, call, grant) => void this.grants.push({ call, grant }),
      changed: ({ name }) => void this.changed.push(name),
      mayHaveMissedNews: () => void (this.missed += 1),
      workLeft: () => void (this.mores += 1),
    });
  }

  private variantOf(given: Script): Script {
    const { frozenClock = false, smallHead = false } = this.options;
    if (!frozenClock && !smallHead) return given;
    const change = (text: string) => {
      const clocked = frozenClock ? withFrozenClock(text) : text;
      return smallHead ? withSmallHead(clocked) : clocked;
    };
    const { operation } = given;
    const changed = operation && { ...operation, library: change(operation.library) };
    return script(change(given.text), { ...given, operation: changed });
  }

  /** Subscribes to the hints of other servers. */
  listen(): void {
    this.notifications ??= new Notifications({
      ...this.options,
      endpoint: this.options.url,
      clock: systemClock,
      prefix: PREFIX,
      serverId: this.id,
      onMessage: (message) => {
        const hint = readHint(PREFIX, message);
        if (hint) this.hinted.push(hint.requestId);
      },
      onError: () => undefined,
    });
  }

  close(): void {
    this.notifications?.close();
    this.node.close();
  }
}
