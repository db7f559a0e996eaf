import type { ServerArguments } from './commands';
import type { Expiring } from './deadlines';
import { TIMED_OUT } from './failure-class';
import { commandText, type Entry, type LibraryOperation, type OnOutcome, type Reply } from './script';

/** The most operations of one command. Redis does nothing else meanwhile. */
export const MOST_TOGETHER = 32;
/** The answer to an operation that had to leave the time of its command to the others. It has done nothing. */
export const LATER = 'LATER';

/** What the operations of one command share (leases/scripts/lease-library.lua): those of the server, and those of the guard. */
export type SharedArguments = readonly [
  ...ServerArguments,
  /** '': the operation has no guard, and goes with any. */
  expectedEpoch: string,
  /** By the clock of Redis (us). 0: nothing may be granted. */
  notAfter: number,
];

export interface BatchedOptions {
  /** The function of the library that carries out the operation. */
  readonly functionName: string;
  readonly operation: LibraryOperation;
  /** The state of the resource, the epoch of its bucket, and in a Cluster a key that never exists. */
  readonly keys: readonly string[];
  readonly shared: SharedArguments;
  readonly args: readonly (string | number)[];
  readonly deadline: number;
  /** True: little time is left, which would make the command late for others. */
  readonly isLate: boolean;
  readonly onOutcome: OnOutcome;
}

/** An operation as a part of a command. Each part has its own deadline and its own outcome. */
export class BatchedOperation implements Expiring {
  settled = false;

  constructor(readonly options: BatchedOptions) {}

  get deadline(): number {
    return this.options.deadline;
  }

  get stateKey(): string {
    return this.options.keys[0] as string;
  }

  get epochKey(): string {
    return this.options.keys[1] as string;
  }

  get hasGuard(): boolean {
    return this.options.shared[2] !== '';
  }

  settle(error: Error | undefined, reply: Reply[] | undefined): void {
    if (this.settled) return;
    this.settled = true;
    this.options.onOutcome(error, reply);
  }

  expire(): void {
    this.settle(new Error(TIMED_OUT), undefined);
  }
}

/** Some operations of one entry, in the order in which they were asked for. */
export type Group = readonly BatchedOperation[];

/** The order of the commands: first what must work when memory is full, then what takes memory, then what only reads. */
const ORDER: readonly Entry[] = ['keep', 'grow', 'read'];

/**
 * The operations of one turn of the event loop, until they leave. They become one command for each entry of the library. In a
 * Cluster, a command is for one bucket. Operations that change one resource leave in the order in which they were asked for.
 */
export class Batch {
  private groups = newGroups();
  /** The resources of the operations in `grow`. */
  private growing = new Set<string>();
  /** The first operation with a guard. */
  private first: BatchedOperation | undefined;

  constructor(
    private readonly byBucket: boolean,
    private readonly send: (group: Group) => void,
  ) {}

  add(part: BatchedOperation): void {
    const { entry } = part.options.operation;
    const overtakes = entry === 'keep' && this.growing.has(part.stateKey);
    const differs = part.hasGuard && this.first !== undefined && !areAlike(this.first, part);
    if (overtakes || differs) this.flush();
    if (part.hasGuard) this.first ??= part;
    if (entry === 'grow') this.growing.add(part.stateKey);
    const bucket = this.byBucket ? part.epochKey : '';
    const group = this.groups[entry].get(bucket);
    if (group === undefined) this.groups[entry].set(bucket, [part]);
    else if (group.push(part) === MOST_TOGETHER) this.flush();
  }

  /** Sends all operations. A send that fails at once may add others. */
  flush(): void {
    const { groups } = this;
    this.groups = newGroups();
    this.growing = new Set();
    this.first = undefined;
    forAll(
      ORDER.flatMap((entry) => [...groups[entry].values()]),
      (group) => this.send(group),
    );
  }
}

function newGroups(): Readonly<Record<Entry, Map<string, BatchedOperation[]>>> {
  return { keep: new Map(), grow: new Map(), read: new Map() };
}

/** Whether both may be in one command: the shared arguments are equal, apart from the time after which nothing may be granted. */
function areAlike(one: BatchedOperation, other: BatchedOperation): boolean {
  const [server, retentionMs, epoch, notAfter] = one.options.shared;
  const { shared, isLate } = other.options;
  const isSame = server === shared[0] && retentionMs === shared[1] && epoch === shared[2];
  return isSame && notAfter > 0 === shared[3] > 0 && one.options.isLate === isLate;
}

/** The call of a function for these operations, in Redis's protocol. The call is late if it is late for one of them. */
export function callText(group: Group): string {
  const guarded = group.filter(({ hasGuard }) => hasGuard);
  const [{ options: first }] = [...guarded, ...group] as [BatchedOperation, ...BatchedOperation[]];
  const [server, retentionMs, epoch, latest] = first.shared;
  const notAfter = Math.min(latest, ...guarded.map(({ options }) => options.shared[3]));
  const places = new Map<string, number>();
  const args = [server, retentionMs, epoch, notAfter, group.length];
  for (const { options, epochKey } of group) {
    let place = places.get(epochKey);
    if (place === undefined) places.set(epochKey, (place = places.size + 1));
    args.push(options.operation.name, place, ...options.args);
  }
  const keys = [...group.map(({ stateKey }) => stateKey), ...places.keys(), ...first.keys.slice(2)];
  return commandText('fcall', first.functionName, keys, args);
}

/**
 * Gives each operation of a command its reply, or the error that the whole command has. A defect of one operation does not keep
 * the others from their outcomes.
 */
export function settleAll(
  group: Group,
  error: Error | undefined,
  replies: readonly Reply[] | undefined,
): void {
  forAll(group, (part, at) => {
    const reply = replies?.[at] as Reply[] | Error | undefined;
    if (reply instanceof Error) part.settle(reply, undefined);
    else part.settle(error, reply);
  });
}

/** Does the work for all, and then throws the first defect. */
function forAll<Item>(items: readonly Item[], work: (item: Item, at: number) => void): void {
  const defects: unknown[] = [];
  items.forEach((item, at) => {
    try {
      work(item, at);
    } catch (defect) {
      defects.push(defect);
    }
  });
  if (defects.length > 0) throw defects[0];
}
