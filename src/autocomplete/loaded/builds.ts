import { ThreadLost } from '../../base/thread';
import { nextTurn } from '../../flow/turns';
import type { EntryChange } from '../entry-store';
import { collectorBytes, mostBuildBytes, sortBytes } from '../index/build/builder';
import type { ExpectedEntries } from '../index/build/collector';
import { openLayer, sizeOfLayer } from '../index/layer/layer-memory';
import type { Profile } from '../suggestion';
import type { Block, FreeSome, IndexMemory, Reservation } from './index-memory';
import { HeldLayer } from './levels';
import { buildAnswers, Builds } from './thread-builds';
import type { BuildCalls, CollectedEntry, LivingLayer } from './thread-calls';

/** How many smaller builds may overtake a waiting build. */
const MOST_OVERTAKING = 8;

interface Waiting {
  readonly bytes: number;
  overtakenBy: number;
  readonly begin: () => void;
}

/** The builds of one thread, one after another: the smallest waiting build first, and none is overtaken for ever. */
export class BuildTurns {
  #isBusy = false;
  /** In the order of arrival. */
  readonly #waiting: Waiting[] = [];

  async run<T>(bytes: number, build: () => Promise<T>): Promise<T> {
    if (this.#isBusy) {
      await new Promise<void>((begin) => this.#waiting.push({ bytes, overtakenBy: 0, begin }));
    }
    this.#isBusy = true;
    try {
      return await build();
    } finally {
      this.#beginNext();
    }
  }

  #beginNext(): void {
    const next = this.#next();
    // The turn passes on directly, so no build that comes meanwhile takes it.
    if (next === undefined) this.#isBusy = false;
    else next.begin();
  }

  #next(): Waiting | undefined {
    const [oldest] = this.#waiting;
    if (oldest === undefined) return undefined;
    const next =
      oldest.overtakenBy >= MOST_OVERTAKING
        ? oldest
        : this.#waiting.reduce((least, one) => (one.bytes < least.bytes ? one : least));
    const at = this.#waiting.indexOf(next);
    for (const overtaken of this.#waiting.slice(0, at)) overtaken.overtakenBy += 1;
    this.#waiting.splice(at, 1);
    return next;
  }
}

/** The memory that a running build may still take. */
interface BuildShare {
  /** The build needs this number of bytes in all. */
  set(bytes: number): void;
  end(): void;
}

/**
 * Lets builds run together as long as all of them fit into the budget by their largest possible needs. Other builds wait
 * for the end of earlier ones: a build that has begun must not fail because a later one has taken its memory.
 */
export class BuildShares {
  readonly #running = new Set<{ bytes: number }>();
  /** In the order of arrival. */
  readonly #waiting: { readonly bytes: number; readonly begin: (share: BuildShare) => void }[] = [];

  constructor(private readonly budgetBytes: number) {}

  /** A build alone may begin whatever it needs: whether it fits, only its entries can tell. */
  begin(bytes: number): Promise<BuildShare> {
    return new Promise((begin) => {
      this.#waiting.push({ bytes, begin });
      this.#admitWaiting();
    });
  }

  #shareOf(bytes: number): BuildShare {
    const share = { bytes };
    this.#running.add(share);
    return {
      set: (needed) => {
        share.bytes = needed;
        this.#admitWaiting();
      },
      end: () => {
        this.#running.delete(share);
        this.#admitWaiting();
      },
    };
  }

  #admitWaiting(): void {
    for (let [next] = this.#waiting; next && this.#hasRoom(next.bytes); [next] = this.#waiting) {
      this.#waiting.shift();
      next.begin(this.#shareOf(next.bytes));
    }
  }

  #hasRoom(bytes: number): boolean {
    if (this.#running.size === 0) return true;
    let sum = bytes;
    for (const running of this.#running) sum += running.bytes;
    return sum <= this.budgetBytes;
  }
}

/** Carries out the calls of builds, in another thread or here. */
interface BuildThread {
  /** How often the thread has ended. */
  readonly lossCount: number;
  call<Name extends keyof BuildCalls>(
    name: Name,
    value: BuildCalls[Name]['takes'],
    transfer?: readonly ArrayBuffer[],
  ): Promise<BuildCalls[Name]['answers']>;
}

/**
 * Builds very small layers on the main thread. A build of 1,000 short entries takes about 0.5 ms in all, and a call of
 * another thread takes longer than that on a busy machine.
 */
class BuildsHere implements BuildThread {
  readonly lossCount = 0;
  readonly #answers = buildAnswers(new Builds(1));

  async call<Name extends keyof BuildCalls>(
    name: Name,
    value: BuildCalls[Name]['takes'],
  ): Promise<BuildCalls[Name]['answers']> {
    // Each call is a step of its own, so that other calls run in between.
    await nextTurn();
    return this.#answers[name](value);
  }
}

/** The budget has no room for a build. */
export class NoMemory extends Error {
  override readonly name = 'NoMemory';

  constructor(
    /** The memory of the dictionary with this build, at least. */
    readonly neededBytes: number,
    /** The part of `neededBytes` that the dictionary had before the build. */
    readonly heldBytes: number,
  ) {
    super(`the dictionary needs at least ${neededBytes} bytes, ${heldBytes} of them before the build`);
  }
}

/** The part of the budget that one dictionary may use. */
export interface DictionaryRoom {
  /** Frees the indexes of other dictionaries; for a long build, only those that nobody has asked lately. */
  readonly freeSome: (isForLongBuild: boolean) => boolean;
  /** The bytes that the dictionary itself has in use. */
  readonly heldBytes: () => number;
}

export interface BuildRequest {
  readonly accents: Profile['accents'];
  readonly expected: ExpectedEntries;
  /** Queries of a loaded dictionary wait for the build. The feed bounds its size: some MiB. */
  readonly isOfChanges?: boolean;
  /** The bytes of the layer, as far as they are known before the build. Default: 0. */
  readonly layerBytes?: number;
  /** Set to 1 to cancel the build. */
  readonly cancelFlag: Int32Array;
  readonly room: DictionaryRoom;
}

/** Gives entries to a build. Each promise resolves when the thread has taken the entries. */
export interface BuildInput {
  /** The buffer belongs to the build now. */
  addBuckets(packed: Uint8Array): Promise<void>;
  /** Applies changes to the entries of the build, in their order. */
  addChanges(changes: readonly EntryChange[]): Promise<void>;
  addEntries(entries: readonly CollectedEntry[]): Promise<void>;
  addLayers(layers: readonly LivingLayer[]): Promise<void>;
}

/** A build that expects more bytes is small, and not very small. */
const MOST_BYTES_HERE = 32 * 1024;
/** A build that expects more bytes is medium, and takes seconds. */
const MEDIUM_BYTES = 2 ** 20;
/** A build that expects more bytes is large, and may take minutes. */
const LARGE_BYTES = 2 ** 24;

export interface BuildThreads {
  readonly small: BuildThread;
  readonly medium: BuildThread;
  readonly large: BuildThread;
  /** For very small layers. Default: the main thread. */
  readonly here?: BuildThread;
}

export function newCancelFlag(): Int32Array {
  return new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
}

/**
 * Builds layers: very small layers on the main thread, and small, medium and large layers each in a thread of their own,
 * one after another, the smallest first. So no build waits for a much larger one, as long as both fit into the memory.
 * Builds of changes are small builds, so that loaded dictionaries do not wait for loads.
 */
export class LayerBuilds {
  #lastBuild = 0;
  readonly #turns = new Map<BuildThread, BuildTurns>();
  /** The medium and large builds. Small builds are not counted, because they take little memory. */
  readonly #shares: BuildShares;
  readonly #here: BuildThread;

  constructor(
    private readonly threads: BuildThreads,
    private readonly memory: IndexMemory,
  ) {
    this.#here = threads.here ?? new BuildsHere();
    this.#shares = new BuildShares(memory.budgetBytes);
  }

  /**
   * Waits for earlier builds of the thread, and builds a layer of the entries that `fill` adds. Rejects with `NoMemory`, with
   * `ThreadLost`, or with the error of `fill`.
   */
  build(request: BuildRequest, fill: (input: BuildInput) => Promise<void>): Promise<HeldLayer> {
    const thread = this.#threadFor(request);
    // A very small build takes little memory, so this build need not wait for builds that read from the store.
    if (thread === this.#here) return this.#buildNow(thread, request, fill);
    const { bytes } = request.expected;
    const turns = this.#turns.get(thread) ?? new BuildTurns();
    this.#turns.set(thread, turns);
    return turns.run(bytes, () =>
      isLong(request) ? this.#buildInShare(thread, request, fill) : this.#buildNow(thread, request, fill),
    );
  }

  async #buildInShare(
    thread: BuildThread,
    request: BuildRequest,
    fill: (input: BuildInput) => Promise<void>,
  ): Promise<HeldLayer> {
    const share = await this.#shares.begin(mostBuildBytes(request.expected));
    try {
      return await this.#buildNow(thread, request, fill, share);
    } finally {
      share.end();
    }
  }

  #threadFor(request: BuildRequest): BuildThread {
    const { bytes } = request.expected;
    if (bytes <= MOST_BYTES_HERE) return this.#here;
    if (!isLong(request)) return this.threads.small;
    return bytes > LARGE_BYTES ? this.threads.large : this.threads.medium;
  }

  async #buildNow(
    thread: BuildThread,
    { accents, expected, layerBytes = 0, cancelFlag, room }: BuildRequest,
    fill: (input: BuildInput) => Promise<void>,
    share?: BuildShare,
  ): Promise<HeldLayer> {
    const build = ++this.#lastBuild;
    const { lossCount } = thread;
    const freeSome: FreeSome = () => room.freeSome(share !== undefined);
    const forEntries = collectorBytes(expected);
    const collected = this.#reserve(forEntries, forEntries + layerBytes, room, freeSome);
    let forBuild: Reservation | undefined;
    let block: Block | undefined;
    try {
      const started = thread.call('startBuild', { build, accents, expected, cancelFlag });
      await Promise.all([started, fill(inputOf(thread, build))]);
      const shape = await thread.call('planLayer', { build });
      const byteLength = sizeOfLayer(shape);
      const neededBytes = forEntries + sortBytes(shape) + byteLength;
      share?.set(neededBytes);
      forBuild = this.#reserve(sortBytes(shape), neededBytes, room, freeSome);
      block = this.memory.allocate(byteLength, freeSome);
      if (block === undefined) throw noMemory(neededBytes, room);
      await thread.call('writeLayer', { build, block });
      return this.#held(block, { ...block, shape });
    } catch (error) {
      if (block) this.memory.free(block);
      // A new thread does not know the build.
      if (thread.lossCount > lossCount)
        throw new ThreadLost('the thread of the build ended', { cause: error });
      thread.call('endBuild', { build }).catch(() => undefined);
      throw error;
    } finally {
      collected.free();
      forBuild?.free();
    }
  }

  /** `neededBytes`: all memory of the build, as far as it is known. */
  #reserve(byteLength: number, neededBytes: number, room: DictionaryRoom, freeSome: FreeSome): Reservation {
    // No dictionary is evicted for a build that does not fit into the budget even without all other dictionaries.
    const fits = neededBytes + room.heldBytes() <= this.memory.budgetBytes;
    const reservation = fits ? this.memory.reserve(byteLength, freeSome) : undefined;
    if (reservation === undefined) throw noMemory(neededBytes, room);
    return reservation;
  }

  #held(block: Block, memory: HeldLayer['memory']): HeldLayer {
    return new HeldLayer(openLayer(memory), memory, block.byteLength, () => this.memory.free(block));
  }
}

/** True: the build takes seconds or minutes, and no query of a loaded dictionary waits for it. */
function isLong({ expected, isOfChanges = false }: BuildRequest): boolean {
  return expected.bytes > MEDIUM_BYTES && !isOfChanges;
}

function noMemory(buildBytes: number, { heldBytes }: DictionaryRoom): NoMemory {
  return new NoMemory(buildBytes + heldBytes(), heldBytes());
}

function inputOf(thread: BuildThread, build: number): BuildInput {
  return {
    addBuckets: (packed) => thread.call('addBuckets', { build, packed }, transferableOf(packed)),
    addChanges: (changes) => thread.call('addChanges', { build, changes }),
    addEntries: (entries) => thread.call('addEntries', { build, entries }),
    addLayers: (layers) => thread.call('addLayers', { build, layers }),
  };
}

/** The buffer of the bytes, if it has no other bytes. Other bytes must not move to the thread. */
function transferableOf({ buffer, byteLength }: Uint8Array): ArrayBuffer[] {
  return buffer instanceof ArrayBuffer && buffer.byteLength === byteLength ? [buffer] : [];
}
