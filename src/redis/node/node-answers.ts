import type { Redis } from 'ioredis';
import { libraryNote, rightsMissing } from '../../../generated/redis/scripts';
import type { Script } from '../script';
import { isNotOffered, isNotPermitted, isReplyError } from '../failure-class';
import type { ClockSample } from './server-clock';

/** The page that lists the rights of the server's Redis user. */
const PAGE = 'docs/operations/deploy.md#redis-user';
/** The commands that the server itself sends, except those without which the server works with a warning. */
const OWN_COMMANDS = ['PING', 'TIME', 'EVAL', 'EVALSHA', 'SCRIPT|LOAD'];
/** Without this command only hints are lost, so the server works with a warning. */
const HINTS = 'SPUBLISH';
/** Without one of these commands, operations run by scripts and not by functions, so the server works with a warning. */
const OF_LIBRARIES = ['FCALL', 'FUNCTION|LOAD'];
/** Without one of these commands, unused libraries stay in Redis, so the server works with a warning. */
const OF_OLD_LIBRARIES = ['FUNCTION|LIST', 'FUNCTION|DELETE'];
const NOT_NEEDED = [HINTS, ...OF_LIBRARIES, ...OF_OLD_LIBRARIES];
const CALL = /redis\.p?call\(\s*'([A-Z]+)'(?:,\s*'([A-Z]+)')?/g;
const WITH_PARTS = new Set(['MEMORY']);
const MOST_SHOWN = 5;

/** The rights that a connection needs. */
export interface NeededRights {
  readonly prefix: string;
  readonly commands: readonly string[];
}

/** The rights to run these scripts or their library, and all commands in them. */
export function rightsFor(prefix: string, scripts: readonly Script[], inCluster: boolean): NeededRights {
  const called = scripts.flatMap(({ text }) => commandsIn(text));
  const hasLibrary = scripts.some(({ operation }) => operation);
  const ofLibrary = hasLibrary ? [...OF_LIBRARIES, ...OF_OLD_LIBRARIES, ...commandsIn(libraryNote)] : [];
  const commands = [...OWN_COMMANDS, ...(inCluster ? ['ASKING'] : []), ...ofLibrary, ...called];
  return { prefix, commands: [...new Set(commands)] };
}

/** The commands in the text of a script, such as `GET` and `MEMORY|USAGE`. */
export function commandsIn(text: string): string[] {
  return [...text.matchAll(CALL)].map(([, name = '', part]) =>
    WITH_PARTS.has(name) && part !== undefined ? `${name}|${part}` : name,
  );
}

/** Sentences for the operator about rights that a Redis user lacks. */
export interface MissingRights {
  /** About rights without which calls fail. Undefined: the user has these rights, or it is not known. */
  readonly fault: string | undefined;
  /** About rights without which the server does less, one sentence each. */
  readonly risks: readonly string[];
  /** False: the user may not load or call functions. */
  readonly mayUseLibrary: boolean;
}

/** Undefined: Redis cannot say now. Rejects if Redis does not answer. */
export async function askMissing(client: Redis, needed: NeededRights): Promise<MissingRights | undefined> {
  const { prefix, commands } = needed;
  const command = ['EVAL_RO', rightsMissing, '0', `${prefix}:{0}:rights`, ...commands] as const;
  try {
    const missing = (await client.call(...command)) as string[];
    const mayUseLibrary = !missing.some((command) => OF_LIBRARIES.includes(command));
    return {
      fault: faultText(missing, prefix),
      risks: [
        ...(missing.includes(HINTS) ? [hintsText(prefix)] : []),
        ...(mayUseLibrary ? [] : [libraryText(missing)]),
        ...(missing.some((command) => OF_OLD_LIBRARIES.includes(command)) ? [oldLibrariesText(missing)] : []),
      ],
      mayUseLibrary,
    };
  } catch (error) {
    if (isNotPermitted(error)) return { fault: undefined, risks: [UNCHECKED], mayUseLibrary: true };
    if (isReplyError(error)) return undefined; // loading, busy, or a replica without its master
    throw error;
  }
}

const UNCHECKED = `this Redis user may not run EVAL_RO, so the server cannot find out which other rights are missing; give the user the rights of ${PAGE}`;

function hintsText(prefix: string): string {
  return `this Redis user may not publish to channels, so a waiter on another server may wait up to a second longer for its grant; allow +spublish and the channels &${prefix}:* to the user`;
}

function libraryText(missing: readonly string[]): string {
  return `this Redis user may not run ${listOf(OF_LIBRARIES, missing)}, so locks and semaphores run as scripts in place of functions, which cost Redis more; give the user the rights of ${PAGE}`;
}

function oldLibrariesText(missing: readonly string[]): string {
  return `this Redis user may not run ${listOf(OF_OLD_LIBRARIES, missing)}, so libraries of earlier versions stay in Redis; give the user the rights of ${PAGE}`;
}

function listOf(commands: readonly string[], missing: readonly string[]): string {
  const names = commands.filter((command) => missing.includes(command));
  return names.map((command) => command.replace('|', ' ')).join(' and ');
}

function faultText(missing: readonly string[], prefix: string): string | undefined {
  const needed = missing.filter((command) => !NOT_NEEDED.includes(command));
  if (needed.length === 0) return undefined;
  const shown = needed.slice(0, MOST_SHOWN).map((command) => command.replace('|', ' '));
  const others = needed.length - shown.length;
  const list = `${shown.join(', ')}${others > 0 ? ` and ${others} other commands` : ''}`;
  return `this Redis user may not run ${list} on the keys ${prefix}:*, so calls fail; give the user the rights of ${PAGE}`;
}

/** The server's Redis user lacks rights without which calls fail. The message is for the operator. */
export class NotPermitted extends Error {
  override readonly name = 'NotPermitted';
}

/** The kind of deployment with several Redis processes. */
export type Topology = 'sentinel' | 'cluster';

/** The answers of a Redis about itself, as far as this Redis user may ask. */
export interface NodeAnswers {
  /** The fields of INFO. Empty: the server's Redis user may not run INFO. */
  readonly info: ReadonlyMap<string, string>;
  /** Settings that can change while Redis runs. Undefined: CONFIG is not permitted, as in many managed services. */
  readonly settings: ReadonlyMap<string, string> | undefined;
  /** What this Redis user may not do. Undefined: not known. */
  readonly missing?: MissingRights | undefined;
}

const SETTINGS = [
  'appendonly',
  'appendfsync',
  'no-appendfsync-on-rewrite',
  'maxmemory-policy',
  'min-replicas-to-write',
  'min-replicas-max-lag',
  'cluster-require-full-coverage',
  'cluster-node-timeout',
  'repl-backlog-ttl',
  'repl-backlog-size',
  'client-output-buffer-limit',
];

/** A part of INFO that changes while Redis runs. */
export type InfoSection = 'replication' | 'memory';

/** Without sections: the whole INFO. Rejects if Redis does not answer. */
export async function askInfo(client: Redis, ...sections: InfoSection[]): Promise<NodeAnswers['info']> {
  try {
    return parseInfo((await client.call('INFO', ...sections)) as string);
  } catch (error) {
    if (isNotOffered(error)) return new Map();
    throw error;
  }
}

/** Rejects if Redis does not answer. */
export async function askSettings(client: Redis): Promise<NodeAnswers['settings']> {
  try {
    const flat = (await client.call('CONFIG', 'GET', ...SETTINGS)) as string[];
    return new Map(flat.flatMap((name, at) => (at % 2 === 0 ? [[name, flat[at + 1] ?? '']] : [])));
  } catch (error) {
    if (isNotOffered(error)) return undefined;
    throw error;
  }
}

export async function askClock(client: Redis, now: () => number): Promise<ClockSample> {
  const sentAt = now();
  const [seconds, us] = await client.time();
  return { time: Number(seconds) * 1000 + Number(us) / 1000, sentAt, receivedAt: now() };
}

function parseInfo(text: string): Map<string, string> {
  const fields = new Map<string, string>();
  for (const line of text.split('\r\n')) {
    const colon = line.indexOf(':');
    if (colon > 0) fields.set(line.slice(0, colon), line.slice(colon + 1));
  }
  return fields;
}
