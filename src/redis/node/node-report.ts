import type { NodeAnswers, Topology } from './node-answers';
import { memoryShareOf, MOST_LAG_SECONDS, nodeWarnings, undurableBecause } from './node-warnings';

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
