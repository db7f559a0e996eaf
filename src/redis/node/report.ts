import { isSupportedRedis, OLDEST_REDIS } from '../../base/redis-address';
import type { NodeAnswers, Topology } from './node-answers';

/** The longest `min-replicas-max-lag` that the length of a quarantine allows for (`quarantineMs`). */
const MOST_LAG_SECONDS = 10;
/** Twice the bytes that a replica may lack while dictionaries are written (writes.ts). */
const LEAST_BACKLOG_BYTES = 16 * 2 ** 20;
const LEAST_OUTPUT_BYTES = 64 * 2 ** 20;
/** The share of `maxmemory` from which the operator is warned. */
const NEARLY_FULL = 0.95;
/** The longest `cluster-node-timeout` that the length of a quarantine allows for. */
const MOST_NODE_TIMEOUT_MS = 10_000;

interface NodeWarnings {
  readonly warnings: readonly string[];
  readonly unsuitable: boolean;
}

/** Warnings about settings that can lose leases. Each warning says the fault, its effect and the value to set. */
function nodeWarnings(
  answers: NodeAnswers,
  topology: Topology | undefined,
  quarantineMs: number,
): NodeWarnings {
  const { info, settings, missing } = answers;
  if (missing?.fault !== undefined) return { warnings: [missing.fault], unsuitable: true };
  if (!info.has('run_id')) {
    const sentence =
      'this Redis user may not run INFO, so the server cannot tell one run of Redis from another and grants nothing; allow +info to the user';
    return { warnings: [sentence], unsuitable: true };
  }
  const unsafe = topology && unboundedMasterBecause(topology, settings);
  // A risk only: a Cluster also bounds a cut-off master by its node timeout, and unread settings may be right.
  const isUnsuitable = topology === 'sentinel' && settings !== undefined;
  const faults = [...faultsOf(answers, topology), isUnsuitable ? unsafe : undefined].filter(isSet);
  const risks = [
    isUnsuitable ? undefined : unsafe,
    ...(topology ? replicationRisks(answers, topology, quarantineMs) : []),
    nearlyFullBecause(answers),
    undurableBecause(answers),
    ...(missing?.risks ?? []),
  ];
  return { warnings: [...faults, ...risks.filter(isSet)], unsuitable: faults.length > 0 };
}

/** The reasons why a Redis is unsuitable. Undefined elements are reasons that do not apply. */
function faultsOf({ info, settings }: NodeAnswers, topology: Topology | undefined): (string | undefined)[] {
  const version = info.get('redis_version') ?? 'unknown';
  const policy = settings?.get('maxmemory-policy') ?? info.get('maxmemory_policy');
  return [
    isSupportedRedis(version)
      ? undefined
      : `store version ${version} is older than ${OLDEST_REDIS}, and scripts may fail; upgrade the store to ${OLDEST_REDIS} or newer`,
    info.get('role') === 'master'
      ? undefined
      : 'the store is a replica, which takes no writes, so nothing is granted; connect to the master',
    policy === undefined || policy === 'noeviction'
      ? undefined
      : `maxmemory-policy is ${policy}: the store may evict leases when its memory is full; set it to noeviction`,
    topology !== 'cluster' && info.get('cluster_enabled') === '1'
      ? 'the store is a node of a Cluster, and has only some of the names; set HOLDFAST_REDIS_URL to redis+cluster://…'
      : undefined,
  ];
}

/**
 * Why a cut-off master may go on granting for longer than a quarantine lasts. Such a master stops writes when its
 * replicas are silent for `min-replicas-max-lag`, in a Cluster also after `cluster-node-timeout`.
 */
function unboundedMasterBecause(topology: Topology, settings: NodeAnswers['settings']): string | undefined {
  const shown = (name: string) => settings?.get(name) ?? 'not readable';
  if (!(Number(settings?.get('min-replicas-to-write')) >= 1)) {
    return `min-replicas-to-write is ${shown('min-replicas-to-write')}: a master that is cut off keeps granting names that the new master grants too; set it to 1 or more`;
  }
  const lag = Number(settings?.get('min-replicas-max-lag'));
  if (!(lag >= 1 && lag <= MOST_LAG_SECONDS)) {
    return `min-replicas-max-lag is ${shown('min-replicas-max-lag')}: a master that is cut off keeps granting for longer than a quarantine lasts, with 0 for ever; set it to 1 to ${MOST_LAG_SECONDS}`;
  }
  if (topology === 'cluster' && !(Number(settings?.get('cluster-node-timeout')) <= MOST_NODE_TIMEOUT_MS)) {
    return `cluster-node-timeout is ${shown('cluster-node-timeout')}: a master that is cut off may keep granting for longer than a quarantine lasts; set it to ${MOST_NODE_TIMEOUT_MS} or less`;
  }
  return undefined;
}

function replicationRisks(
  { info, settings }: NodeAnswers,
  topology: Topology,
  quarantineMs: number,
): (string | undefined)[] {
  const replicas = Number(info.get('connected_slaves') ?? 0);
  const backlogSeconds = Number(settings?.get('repl-backlog-ttl') ?? 0);
  const backlogBytes = Number(settings?.get('repl-backlog-size') ?? Infinity);
  const outputBytes = replicaOutputBytes(settings?.get('client-output-buffer-limit'));
  return [
    Number(settings?.get('min-replicas-to-write')) < replicas
      ? `min-replicas-to-write is less than the ${replicas} replicas of the master: a master that is cut off together with enough replicas keeps granting names that the new master grants too; set it to ${replicas}, or remove replicas`
      : undefined,
    topology === 'cluster' && settings?.get('cluster-require-full-coverage') === 'yes'
      ? 'cluster-require-full-coverage is yes: when one node fails, all other nodes refuse commands too; set it to no'
      : undefined,
    backlogSeconds > 0 && backlogSeconds * 1000 < quarantineMs
      ? `repl-backlog-ttl is ${backlogSeconds}: a master without replicas no longer shows after ${backlogSeconds} s that it took over, while clients may still believe in leases of the earlier master; set it to ${Math.ceil(quarantineMs / 1000)} or more, or to 0`
      : undefined,
    replicas > 0 && backlogBytes < LEAST_BACKLOG_BYTES
      ? `repl-backlog-size is ${backlogBytes}: a replica that loses its connection while a dictionary is imported needs a copy of all data, which slows leases; set it to ${LEAST_BACKLOG_BYTES} or more`
      : undefined,
    replicas > 0 && outputBytes < LEAST_OUTPUT_BYTES
      ? `client-output-buffer-limit of replicas is ${outputBytes}: Redis disconnects a replica that lacks so many bytes, for example while a dictionary is imported, and then copies all data to it; set it to ${LEAST_OUTPUT_BYTES} or more, or to 0`
      : undefined,
  ];
}

/** The hard limit in `… slave 268435456 67108864 60 …`; Infinity: no limit, or not readable. */
function replicaOutputBytes(limits: string | undefined): number {
  const [, hardLimit] = /\b(?:slave|replica) (\d+)/.exec(limits ?? '') ?? [];
  return Number(hardLimit ?? 0) || Infinity;
}

/** How much of `maxmemory` Redis uses: 1 is all; 0: there is no limit. */
function memoryShareOf(info: NodeAnswers['info']): number {
  const limit = Number(info.get('maxmemory') ?? 0);
  return limit === 0 ? 0 : Number(info.get('used_memory') ?? 0) / limit;
}

/** The sentence has no exact share, because each change of a warning is logged. */
function nearlyFullBecause({ info }: NodeAnswers): string | undefined {
  if (memoryShareOf(info) < NEARLY_FULL) return undefined;
  return 'the store uses more than 95 % of its maxmemory: when it is full, nothing new is granted or stored (STORE_FULL), and leases are still renewed and released; raise maxmemory, or delete dictionaries';
}

/** Why a restart of this Redis may forget leases. */
function undurableBecause({ info, settings }: NodeAnswers): string | undefined {
  if ((settings?.get('appendonly') ?? (info.get('aof_enabled') === '1' ? 'yes' : 'no')) !== 'yes') {
    return 'appendonly is off: a restart of the store forgets all leases, so grants pause after a restart; set it to yes';
  }
  const fsync = settings?.get('appendfsync');
  if (fsync !== 'always') {
    return `appendfsync is ${fsync ?? 'not readable'}: a crash of the store's machine may forget the last leases, so grants pause after a restart; set it to always`;
  }
  if (settings?.get('no-appendfsync-on-rewrite') !== 'no') {
    return 'no-appendfsync-on-rewrite is on: a crash while the store rewrites its file may forget the last leases, so grants pause after a restart; set it to no';
  }
  return undefined;
}

function isSet(sentence: string | undefined): sentence is string {
  return sentence !== undefined;
}

/** The facts about a Redis that matter for leases. */
export interface NodeReport {
  /** The run of Redis and its master term (`runIdOf`). Undefined: this user may not run INFO. */
  readonly runId: string | undefined;
  /**
   * True if every write is on disk before its reply, and no replica can take over with fewer writes. A restart with
   * this disk then loses nothing.
   */
  readonly durable: boolean;
  /** How long another master may have gone on granting after this run took over (ms); 0: there is no other master. */
  readonly overlapMs: number;
  readonly uptimeSeconds: number;
  /** How many replicas must have a change of a setting before the change is acknowledged; 0: none. */
  readonly confirmingReplicas: number;
  /** How much of `maxmemory` Redis uses: 1 is all; 0: there is no limit. */
  readonly memoryShare: number;
  /**
   * The bytes of writes that the slowest replica lacks; 0: there is no replica. A replica that receives a copy of all
   * data lacks the writes since the beginning of the copy.
   */
  readonly replicaLagBytes: number;
  /** A sentence about rights of the Redis user without which calls fail. Undefined: the user has all, or is not known. */
  readonly missingRights: string | undefined;
  /** False: the Redis user may not load or call functions. */
  readonly mayUseLibrary: boolean;
  /** Sentences for the log and for GetServerInfo. */
  readonly warnings: readonly string[];
  /** True if this Redis can lose leases in ordinary operation, not only in a failure. */
  readonly unsuitable: boolean;
}

/**
 * Redis counts its replicas once a second, and measures their silence in whole seconds. The rest covers the different
 * rates of the masters' clocks: 6 ms in 12 s.
 */
const REPLICA_CHECK_MS = 2000;

/** A setting that cannot be read counts as unsafe. */
export function nodeReportOf(
  answers: NodeAnswers,
  topology?: Topology,
  /** The longest time for which a client may believe in a lease after the store has lost the lease (ms). */
  quarantineMs = 0,
): NodeReport {
  const { info, settings } = answers;
  const runId = runIdOf(info);
  const { warnings, unsuitable } = nodeWarnings(answers, topology, quarantineMs);
  const confirmingReplicas = confirmingReplicasOf(answers);
  const memoryShare = memoryShareOf(info);
  const replicaLagBytes = replicaLagBytesOf(info);
  const missingRights = answers.missing?.fault;
  const mayUseLibrary = answers.missing?.mayUseLibrary ?? true;
  if (runId === undefined) {
    return {
      runId,
      durable: false,
      overlapMs: 0,
      uptimeSeconds: 0,
      confirmingReplicas,
      memoryShare,
      replicaLagBytes,
      missingRights,
      mayUseLibrary,
      warnings,
      unsuitable,
    };
  }
  // If a replica may take over, the next run may lack writes that are on this run's disk.
  const isAlone =
    topology === undefined && info.get('role') === 'master' && info.get('connected_slaves') === '0';
  // A replica can also take over unseen behind the address of a single Redis.
  const mayHaveTakenOver = topology !== undefined || hasTakenOver(runId);
  return {
    runId,
    durable: isAlone && undurableBecause(answers) === undefined,
    overlapMs: mayHaveTakenOver ? overlapMsOf(topology, settings) : 0,
    uptimeSeconds: Number(info.get('uptime_in_seconds') ?? 0),
    confirmingReplicas,
    memoryShare,
    replicaLagBytes,
    missingRights,
    mayUseLibrary,
    warnings,
    unsuitable,
  };
}

/** Without CONFIG, one replica must confirm a change if there are replicas: more could be more than Redis asks for. */
function confirmingReplicasOf({ info, settings }: NodeAnswers): number {
  const asked = settings?.get('min-replicas-to-write');
  if (asked !== undefined) return Number(asked);
  return Number(info.get('connected_slaves') ?? 0) >= 1 ? 1 : 0;
}

/**
 * INFO has a line for each replica: `slave0:ip=10.0.0.2,port=6379,state=online,offset=1234,lag=0`. The offset is 0 until
 * the replica has all data. Redis keeps the writes meanwhile, and `mem_clients_slaves` is the memory of kept writes.
 */
function replicaLagBytesOf(info: NodeAnswers['info']): number {
  const written = Number(info.get('master_repl_offset') ?? 0);
  let lagBytes = Number(info.get('mem_clients_slaves') ?? 0);
  for (let index = 0; index < Number(info.get('connected_slaves') ?? 0); index += 1) {
    const [, offset] = /,offset=(\d+)/.exec(info.get(`slave${index}`) ?? '') ?? [];
    if (Number(offset) > 0) lagBytes = Math.max(lagBytes, written - Number(offset));
  }
  return lagBytes;
}

/** A cut-off master stops writes when its replicas are silent for too long; in a Cluster also its fellow masters. */
function overlapMsOf(topology: Topology | undefined, settings: NodeAnswers['settings']): number {
  const number = (name: string) => Number(settings?.get(name));
  const lagMs = 1000 * number('min-replicas-max-lag');
  const bounds = [1000 * MOST_LAG_SECONDS];
  if (number('min-replicas-to-write') >= 1 && lagMs >= 1000) bounds.push(lagMs);
  const nodeTimeoutMs = number('cluster-node-timeout');
  if (topology === 'cluster' && nodeTimeoutMs > 0) bounds.push(nodeTimeoutMs);
  return Math.min(...bounds) + REPLICA_CHECK_MS;
}

const MASTER_TERM_SEPARATOR = '/';
/** How many digits of the replication history's id a run id takes. More digits would only make epochs longer. */
const MASTER_TERM_DIGITS = 16;
const NO_HISTORY = /^0*$/;

/**
 * Tells one master term of a run from another: a Redis that was master, became a replica and is master again has the
 * same run id, but may lack grants of the master in between. A replica that becomes master begins a new replication
 * history. A Redis that was never a replica has no earlier history, and is identified by its run id alone.
 */
export function runIdOf(info: NodeAnswers['info']): string | undefined {
  const runId = info.get('run_id');
  const wasMasterAlways = info.get('role') === 'master' && NO_HISTORY.test(info.get('master_replid2') ?? '');
  if (runId === undefined || wasMasterAlways) return runId;
  return `${runId}${MASTER_TERM_SEPARATOR}${info.get('master_replid')?.slice(0, MASTER_TERM_DIGITS) ?? ''}`;
}

/** True if this run is or was a replica. */
export function hasTakenOver(runId: string): boolean {
  return runId.includes(MASTER_TERM_SEPARATOR);
}
