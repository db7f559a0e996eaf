import type { Redis } from 'ioredis';
import { isSupportedRedis, OLDEST_REDIS } from '../../redis-version';
import type { ClockSample } from './server-clock';

/** What a quarantine has room for, beside the longest ttl: see `quarantineMs`. */
const MOST_LAG_SECONDS = 10;
const MOST_NODE_TIMEOUT_MS = 10_000;
/** Redis counts its replicas once a second, and their silence in whole seconds. */
const COUNTING_MS = 2000;

/** What a Redis says of itself, as far as it may be asked: INFO, and the settings that can change while it runs. */
export interface Answers {
  readonly info: ReadonlyMap<string, string>;
  /** Undefined: CONFIG is refused, as by many a managed Redis. */
  readonly settings: ReadonlyMap<string, string> | undefined;
}

/** What a Redis may be a part of. */
export type Topology = 'sentinel' | 'cluster';

export interface NodeReport {
  /** Of this very run of Redis, and of the time for which it has been master (`identityOf`); undefined: it may not be asked. */
  readonly runId: string | undefined;
  /**
   * Every write is on disk before it is answered, and no replica may lack some and take over: what comes after this run
   * with what it left has lost nothing.
   */
  readonly durable: boolean;
  /**
   * For how long after this run took over another one, cut off from it, may have gone on granting (ms); 0: there can be
   * none.
   */
  readonly overlapMs: number;
  /** For how long this run has gone on (s). */
  readonly uptimeSeconds: number;
  /** Sentences for the log and GetServerInfo. */
  readonly warnings: readonly string[];
  /** Leases will be lost in ordinary operation, not only when something breaks. */
  readonly unsuitable: boolean;
}

/** What in a Redis's configuration can lose leases. What cannot be read counts as unsafe. */
export function nodeReportOf(
  { info, settings }: Answers,
  topology?: Topology,
  /** No lease is believed for longer (ms). */
  quarantineMs = 0,
): NodeReport {
  const warnings: string[] = [];
  let unsuitable = false;
  const refuse = (sentence: string) => {
    warnings.push(sentence);
    unsuitable = true;
  };
  const runId = identityOf(info);
  if (runId === undefined) {
    refuse('this Redis user may not run INFO, without which nothing can be granted: allow +info');
    return { runId, durable: false, overlapMs: 0, uptimeSeconds: 0, warnings, unsuitable };
  }
  const version = info.get('redis_version') ?? 'unknown';
  if (!isSupportedRedis(version)) {
    refuse(`store version ${version} is older than ${OLDEST_REDIS}, which is needed`);
  }
  if (info.get('role') !== 'master') refuse('the store is a replica: nothing can be granted through it');

  const policy = settings?.get('maxmemory-policy') ?? info.get('maxmemory_policy');
  if (policy !== undefined && policy !== 'noeviction') {
    refuse(`maxmemory-policy ${policy} evicts leases when memory is short: set it to noeviction`);
  }
  if (topology !== 'cluster' && info.get('cluster_enabled') === '1') {
    refuse('the store is a node of a Cluster: set HOLDFAST_REDIS_URL to redis+cluster://…');
  }
  const unsafe = topology && whyUnsafe(topology, settings);
  if (unsafe !== undefined && topology === 'sentinel' && settings !== undefined) refuse(unsafe);
  else if (unsafe !== undefined) warnings.push(unsafe);
  const replicas = Number(info.get('connected_slaves') ?? 0);
  if (topology !== undefined && Number(settings?.get('min-replicas-to-write')) < replicas) {
    warnings.push(
      `min-replicas-to-write is less than the ${replicas} replicas there are: a master that is cut off together with as many goes on granting what is granted elsewhere too; set it to ${replicas}, or have fewer`,
    );
  }
  if (topology === 'cluster' && settings?.get('cluster-require-full-coverage') === 'yes') {
    warnings.push(
      'cluster-require-full-coverage is yes: when one node fails the others refuse to work too; set it to no',
    );
  }
  const backlogSeconds = Number(settings?.get('repl-backlog-ttl') ?? 0);
  if (topology !== undefined && backlogSeconds > 0 && backlogSeconds * 1000 < quarantineMs) {
    warnings.push(
      `repl-backlog-ttl is ${backlogSeconds}: a master without replicas forgets by then that it took over, while leases live on that another one granted before; set it to ${Math.ceil(quarantineMs / 1000)} or more, or to 0`,
    );
  }
  const undurable = whyUndurable({ info, settings });
  if (undurable !== undefined) warnings.push(undurable);
  const isAlone = info.get('role') === 'master' && info.get('connected_slaves') === '0';
  const uptimeSeconds = Number(info.get('uptime_in_seconds') ?? 0);
  // Where a replica may take over, another run may lack writes that were safe on this one's disk.
  const mayRestart = topology === undefined && isAlone;
  const durable = undurable === undefined && mayRestart;
  // Behind an address that moves a replica may take over unseen.
  const tookOver = topology !== undefined || hasTakenOver(runId);
  const overlapMs = tookOver ? overlapOf(topology, settings) : 0;
  return { runId, durable, overlapMs, uptimeSeconds, warnings, unsuitable };
}

/** Two bounds end a cut-off master's writes, as far as they are set: silent replicas, and a silent Cluster. */
function overlapOf(topology: Topology | undefined, settings: Answers['settings']): number {
  const number = (name: string) => Number(settings?.get(name));
  const lagMs = 1000 * number('min-replicas-max-lag');
  const bounds = [1000 * MOST_LAG_SECONDS];
  if (number('min-replicas-to-write') >= 1 && lagMs >= 1000) bounds.push(lagMs);
  if (topology === 'cluster' && number('cluster-node-timeout') > 0)
    bounds.push(number('cluster-node-timeout'));
  return Math.min(...bounds) + COUNTING_MS;
}

/** Between a run's id and what tells one time as master from another in it. */
const STINT_SEPARATOR = '/';
/** Of the id of a replication history; more would only make epochs longer. */
const STINT_DIGITS = 16;
const NO_HISTORY = /^0*$/;

/**
 * A Redis that was a master, became a replica and is a master again has the same run id, and may lack what was granted at
 * the other one meanwhile. Whenever a replica becomes a master, Redis begins a replication history of its own and keeps
 * the id of the one before; one that never was a replica has none before, also where its own gets a new id because
 * its first replica has come.
 */
function identityOf(info: Answers['info']): string | undefined {
  const runId = info.get('run_id');
  const wasMasterAlways = info.get('role') === 'master' && NO_HISTORY.test(info.get('master_replid2') ?? '');
  if (runId === undefined || wasMasterAlways) return runId;
  return `${runId}${STINT_SEPARATOR}${info.get('master_replid')?.slice(0, STINT_DIGITS) ?? ''}`;
}

/** Whether the run that is called so has been a replica before, or is one. */
export function hasTakenOver(runId: string): boolean {
  return runId.includes(STINT_SEPARATOR);
}

/**
 * A master that was cut off goes on granting until it notices: with `min-replicas-to-write` when its replicas fall silent,
 * in a Cluster also after `cluster-node-timeout`, else never.
 */
function whyUnsafe(topology: Topology, settings: Answers['settings']): string | undefined {
  const wanted = settings?.get('min-replicas-to-write');
  const lag = Number(settings?.get('min-replicas-max-lag'));
  if (Number(wanted) >= 1 && !(lag >= 1 && lag <= MOST_LAG_SECONDS)) {
    return `min-replicas-max-lag is ${settings?.get('min-replicas-max-lag') ?? 'not readable'}: a master that is cut off goes on granting for longer than a quarantine allows for, for ever with 0; set it to 1 to ${MOST_LAG_SECONDS}`;
  }
  const nodeTimeout = Number(settings?.get('cluster-node-timeout'));
  if (topology === 'cluster' && Number(wanted) >= 1 && !(nodeTimeout <= MOST_NODE_TIMEOUT_MS)) {
    return `cluster-node-timeout is ${settings?.get('cluster-node-timeout') ?? 'not readable'}: a master that is cut off may go on granting for longer than a quarantine allows for; set it to ${MOST_NODE_TIMEOUT_MS} or less`;
  }
  if (Number(wanted) >= 1) return undefined;
  return `min-replicas-to-write is ${wanted ?? 'not readable'}: a master that is cut off goes on granting what is granted elsewhere too; set it to 1 or more`;
}

function whyUndurable({ info, settings }: Answers): string | undefined {
  if ((settings?.get('appendonly') ?? (info.get('aof_enabled') === '1' ? 'yes' : 'no')) !== 'yes') {
    return 'appendonly is off: a restart of the store forgets leases, so grants pause after it';
  }
  const fsync = settings?.get('appendfsync');
  if (fsync !== 'always') {
    return `appendfsync is ${fsync ?? 'not readable'}: a crash of the store's machine can forget the last leases, so grants pause after a restart; set it to always`;
  }
  if (settings?.get('no-appendfsync-on-rewrite') !== 'no') {
    return 'no-appendfsync-on-rewrite is on: a crash while the store rewrites its file can forget the last leases, so grants pause after a restart; turn it off';
  }
  return undefined;
}

/** Rejects if Redis does not answer; one that may not be asked is answered for with nothing. */
export async function askInfo(client: Redis, section?: 'replication'): Promise<Answers['info']> {
  try {
    return parseInfo(await (section ? client.info(section) : client.info()));
  } catch (error) {
    if (isRefusal(error)) return new Map();
    throw error;
  }
}

export async function askSettings(client: Redis): Promise<Answers['settings']> {
  const names = [
    ...['appendonly', 'appendfsync', 'no-appendfsync-on-rewrite', 'maxmemory-policy'],
    ...[
      'min-replicas-to-write',
      'min-replicas-max-lag',
      'cluster-require-full-coverage',
      'cluster-node-timeout',
      'repl-backlog-ttl',
    ],
  ];
  try {
    const flat = (await client.call('CONFIG', 'GET', ...names)) as string[];
    return new Map(flat.flatMap((name, at) => (at % 2 === 0 ? [[name, flat[at + 1] ?? '']] : [])));
  } catch (error) {
    if (isRefusal(error)) return undefined;
    throw error;
  }
}

export async function askClock(client: Redis, now: () => number): Promise<ClockSample> {
  const sentAt = now();
  const [seconds, us] = await client.time();
  return { time: Number(seconds) * 1000 + Number(us) / 1000, sentAt, receivedAt: now() };
}

/** Not allowed, renamed or taken away, as against busy or gone. */
function isRefusal(error: unknown): boolean {
  return error instanceof Error && error.name === 'ReplyError' && /^(NOPERM|ERR)\b/.test(error.message);
}

function parseInfo(text: string): Map<string, string> {
  const fields = new Map<string, string>();
  for (const line of text.split('\r\n')) {
    const colon = line.indexOf(':');
    if (colon > 0) fields.set(line.slice(0, colon), line.slice(colon + 1));
  }
  return fields;
}
