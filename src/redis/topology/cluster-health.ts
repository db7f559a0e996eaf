import { StoreFailure } from '../../base/errors';
import type { Quarantine, StoreHealth } from '../../base/store-state';
import { SLOT_COUNT } from '../buckets';
import type { Move } from './cluster-map';
import { askView } from './cluster-watch';
import type { RedisNode } from './node';

/** The state of all nodes together. */
export interface ClusterHealth {
  /** True if the nodes that answer have at least half of the slots. */
  readonly reachable: boolean;
  readonly suitable: boolean;
  readonly warnings: readonly string[];
  /** True if every slot has a node that answers. */
  readonly whole: boolean;
}

/** `new`: the node has not had enough time to answer. */
type NodeHealth = Pick<StoreHealth, 'reachable' | 'suitable' | 'warnings'> | 'new';

/**
 * The server stays ready while a node is down: calls for names on the other nodes succeed, and no other server could
 * serve the names of the lost node. If the nodes that answer own less than half of the slots, this server itself is
 * probably cut off.
 */
export function clusterHealth(
  owners: readonly (string | undefined)[],
  nodeAt: (address: string) => NodeHealth,
): ClusterHealth {
  const slots = new Map<string, number>();
  for (const owner of owners) if (owner !== undefined) slots.set(owner, (slots.get(owner) ?? 0) + 1);
  let answering = 0;
  let suitable = true;
  const down: string[] = [];
  const addressesByWarning = new Map<string, string[]>();
  for (const [address, count] of slots) {
    const node = nodeAt(address);
    if (node === 'new') continue;
    if (!node.reachable) {
      down.push(
        `the node ${address} of the store does not answer: ${percentOf(count)} of all names are unavailable; restart the node, or let a replica take over`,
      );
      continue;
    }
    answering += count;
    suitable &&= node.suitable;
    for (const warning of node.warnings) {
      const addresses = addressesByWarning.get(warning);
      if (addresses) addresses.push(address);
      else addressesByWarning.set(warning, [address]);
    }
  }
  const covered = [...slots.values()].reduce((sum, count) => sum + count, 0);
  if (owners.length > 0 && covered < SLOT_COUNT) {
    down.push(
      `no node of the store owns ${percentOf(SLOT_COUNT - covered)} of all names, which are unavailable; assign their slots to a node`,
    );
  }
  const ofNodes = [...addressesByWarning].map(([warning, addresses]) =>
    addresses.length === slots.size ? warning : `${warning} (${addresses.sort().join(', ')})`,
  );
  return {
    reachable: 2 * answering >= SLOT_COUNT,
    suitable,
    warnings: [...down.sort(), ...ofNodes],
    whole: answering === SLOT_COUNT,
  };
}

function percentOf(slots: number): string {
  return `${Math.max(1, Math.round((100 * slots) / SLOT_COUNT))} %`;
}

export function isSameHealth(a: ClusterHealth, b: ClusterHealth): boolean {
  return (
    a.reachable === b.reachable &&
    a.suitable === b.suitable &&
    a.warnings.join('\n') === b.warnings.join('\n')
  );
}

/** How far a node's clock may be ahead of a source run's clock. A clock may make a step of this size without effect. */
const MOST_AHEAD_MS = 100;

/** A node that answers, during one term as master. */
export interface MasterTerm {
  readonly runId: string;
  /** When all epochs of the node were first known to belong to this run (ms, monotonic clock). */
  readonly settledSince: number;
  /** The time of the node's clock now (ms). */
  readonly redisTimeMs: number;
}

/**
 * Source runs: the runs of Redis that may have moved buckets along this path to the node at `address` without a loss.
 * All nodes of the path must have kept their run since before the slot began to move, because a node that restarted or
 * took over meanwhile may have lost grants. A run with a slower clock than the target is no source run: leases would
 * end early at the target.
 */
export function sourceRunsAlong(
  path: readonly Move[],
  address: string,
  termAt: (address: string) => MasterTerm | undefined,
): string[] {
  const target = termAt(address);
  const sourceRuns: string[] = [];
  let next = target;
  for (const { from, knownAt } of path) {
    const source = termAt(from);
    if (!target || !next || !source) break;
    if (!(Math.max(next.settledSince, source.settledSince) <= knownAt)) break;
    if (target.redisTimeMs - source.redisTimeMs <= MOST_AHEAD_MS) sourceRuns.push(source.runId);
    next = source;
  }
  return sourceRuns;
}

/** The source runs that the target itself names as masters. A master that was replaced has no slots. */
export async function sourceRunsTo(
  address: string,
  path: () => readonly Move[],
  nodeAt: (address: string) => RedisNode | undefined,
): Promise<string[]> {
  const target = nodeAt(address);
  const sourceRuns = () => sourceRunsAlong(path(), address, (other) => masterTermOf(nodeAt(other)));
  if (!target || sourceRuns().length === 0) return [];
  const { connection } = target;
  const view = await askView({ address, ask: (...command) => connection.ask(...command) }).catch(
    (cause: unknown) => {
      throw new StoreFailure('no', 'unavailable', { cause });
    },
  );
  if (!view.working) return [];
  const masters = new Set([...new Set(view.owners)].flatMap((master) => runIdAt(master, nodeAt)));
  return sourceRuns().filter((runId) => masters.has(runId));
}

function runIdAt(address: string | undefined, nodeAt: (address: string) => RedisNode | undefined): string[] {
  const runId = address === undefined ? undefined : nodeAt(address)?.epochs.runId;
  return runId === undefined ? [] : [runId];
}

/** The present term of the node as master. Undefined: the node does not answer, or its last report is too old. */
function masterTermOf(node: RedisNode | undefined): MasterTerm | undefined {
  if (!node?.connection.isReady || !node.reachable || !node.epochs.isCurrent) return undefined;
  const { runId, settledSince, redisTimeMs } = node.epochs;
  return runId === undefined ? undefined : { runId, settledSince, redisTimeMs };
}

export function longestOf(all: readonly (Quarantine | undefined)[]): Quarantine | undefined {
  return all.reduce((a, b) => ((b?.remainingMs ?? 0) > (a?.remainingMs ?? 0) ? b : a), undefined);
}

/** Ends the quarantines of all nodes that answer. Returns the longest of these quarantines. */
export async function endQuarantines(
  nodes: readonly Pick<RedisNode, 'reachable' | 'endQuarantine'>[],
): Promise<Quarantine | undefined> {
  const answering = nodes.filter(({ reachable }) => reachable);
  if (answering.length === 0) throw new StoreFailure('no', 'unavailable');
  const outcomes = await Promise.allSettled(answering.map((node) => node.endQuarantine()));
  const failures = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason] : []));
  if (failures.length > 0) {
    // Also if a node has done nothing, the outcome is unknown, because the quarantines of other nodes may have ended.
    const kind = failures.every(isUnconfirmed) ? 'unconfirmed' : 'unavailable';
    throw new StoreFailure('unknown', kind, { cause: failures[0] });
  }
  return longestOf(outcomes.map((outcome) => (outcome.status === 'fulfilled' ? outcome.value : undefined)));
}

function isUnconfirmed(error: unknown): boolean {
  return error instanceof StoreFailure && error.kind === 'unconfirmed';
}
