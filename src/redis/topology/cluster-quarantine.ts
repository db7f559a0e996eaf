import { StoreFailure } from '../../engine/errors';
import type { Quarantine } from '../../engine/store-health';
import type { Move } from './cluster-map';
import { askView } from './cluster-watch';
import type { RedisNode } from './node';

/** By so much a node's clock may be ahead of another's whose buckets it is given: what is tolerated of a step, too. */
const MOST_AHEAD_MS = 100;

/** A node that can be asked, as far as it counts here. */
export interface MasterTerm {
  /** Of Redis, and as master. */
  readonly run: string;
  /** Since when this server knows it as one whose epochs are all in force. */
  readonly knownSince: number;
  /** What its clock shows now. */
  readonly clock: number;
}

/**
 * Runs of Redis whose buckets may have been moved to the node at `address` along this path as they were: all nodes on it
 * have been there without a break since before the slot began to move, so none of them can have lost what was granted
 * there meanwhile. One that took over since, or was restarted, may have: it says nothing of what came through it. A
 * clock that is behind this node's would let leases end early here.
 */
export function sourceRunsAlong(
  path: readonly Move[],
  address: string,
  stintAt: (address: string) => MasterTerm | undefined,
): string[] {
  const target = stintAt(address);
  const givers: string[] = [];
  let next = target;
  for (const { from, knownAt } of path) {
    const giver = stintAt(from);
    if (!target || !next || !giver || !(Math.max(next.knownSince, giver.knownSince) <= knownAt)) break;
    if (target.clock - giver.clock <= MOST_AHEAD_MS) givers.push(giver.run);
    next = giver;
  }
  return givers;
}

/** Of those, the ones that the node itself names as masters; whose place it has taken has no slots any more. */
export async function sourceRunsTo(
  address: string,
  path: () => readonly Move[],
  nodeAt: (address: string) => RedisNode | undefined,
): Promise<string[]> {
  const target = nodeAt(address);
  const givers = () => sourceRunsAlong(path(), address, (other) => stintOf(nodeAt(other)));
  if (!target || givers().length === 0) return [];
  const { connection } = target;
  const view = await askView({ address, ask: (...command) => connection.ask(...command) }).catch(
    (cause: unknown) => {
      throw new StoreFailure('no', 'unavailable', { cause });
    },
  );
  if (!view.working) return [];
  const masters = new Set([...new Set(view.owners)].flatMap((master) => runAt(master, nodeAt)));
  return givers().filter((run) => masters.has(run));
}

function runAt(address: string | undefined, nodeAt: (address: string) => RedisNode | undefined): string[] {
  const run = address === undefined ? undefined : nodeAt(address)?.epochs.run;
  return run === undefined ? [] : [run];
}

/** Undefined: it does not answer, or has not said who it is, or not lately. */
function stintOf(node: RedisNode | undefined): MasterTerm | undefined {
  if (!node?.connection.isReady || !node.reachable || node.epochs.run === undefined) return undefined;
  if (!node.epochs.isCurrent) return undefined;
  const { run, knownSince, clock } = node.epochs;
  return { run, knownSince, clock };
}

export function longestOf(all: readonly (Quarantine | undefined)[]): Quarantine | undefined {
  return all.reduce((a, b) => ((b?.remainingMs ?? 0) > (a?.remainingMs ?? 0) ? b : a), undefined);
}

/** At all nodes that answer: what had the longest to go. */
export async function endQuarantines(nodes: readonly RedisNode[]): Promise<Quarantine | undefined> {
  const answering = nodes.filter(({ reachable }) => reachable);
  if (answering.length === 0) throw new StoreFailure('no', 'unavailable');
  const settled = await Promise.allSettled(answering.map((node) => node.endQuarantine()));
  return longestOf(
    settled.map((one) => {
      if (one.status === 'fulfilled') return one.value;
      // What one refused others have done.
      throw new StoreFailure('unknown', 'unavailable', { cause: one.reason });
    }),
  );
}
