import type { Redis } from 'ioredis';
import { isNotOffered } from '../failure-class';
import type { MissingRights } from './rights';
import type { ClockSample } from './server-clock';

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
