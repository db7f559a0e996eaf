import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { ServiceDefinition } from '@grpc/grpc-js';
import { GetServerInfoRequest } from '../../generated/typescript/holdfast/v1/server_service';
import { GenerationCopy } from '../../src/autocomplete/loaded/copy';
import type { OfferedService, Rows, UnaryRow } from '../../src/rpc/service';

/** The codec of an empty message, generated like the codecs of all messages of the contract. */
const nothing = {
  serialize: (): Buffer => Buffer.from(GetServerInfoRequest.encode({}).finish()),
  deserialize: (bytes: Buffer): GetServerInfoRequest => GetServerInfoRequest.decode(bytes),
};

function method(name: string) {
  return {
    path: `/holdfast.bench.BenchService/${name}`,
    requestStream: false,
    responseStream: false,
    requestSerialize: nothing.serialize,
    requestDeserialize: nothing.deserialize,
    responseSerialize: nothing.serialize,
    responseDeserialize: nothing.deserialize,
  } as const;
}

/** A method that takes nothing and answers a value. */
function asking<Answer>(name: string) {
  return {
    ...method(name),
    responseSerialize: (answer: Answer): Buffer => Buffer.from(JSON.stringify(answer)),
    responseDeserialize: (bytes: Buffer): Answer => JSON.parse(bytes.toString()) as Answer,
  };
}

/**
 * The event loop since the last time of asking: the time between two samples (ms), which is 1 ms and a little in an idle
 * server.
 */
export interface LoopDelay {
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
}

/** The memory of the server (bytes). */
export interface MemoryInUse {
  /** Values of JavaScript and buffers. Without garbage if read after `collectGarbage`. */
  readonly held: number;
  /** Resident memory: also the program, and pages that V8 keeps for later values. */
  readonly resident: number;
}

/** An additional service of the benchmark's server. Its empty call is the yardstick. */
export const BenchService = {
  empty: method('Empty'),
  collectGarbage: method('CollectGarbage'),
  loopDelay: asking<LoopDelay>('LoopDelay'),
  memoryInUse: asking<MemoryInUse>('MemoryInUse'),
  /** The largest number of layers of a dictionary since the last time of asking. */
  mostLayers: asking<number>('MostLayers'),
} satisfies ServiceDefinition;

/** A row that answers what `answer` returns. */
function row<Answer>(answer: () => Answer): UnaryRow<object, Answer> {
  return { names: () => undefined, load: 'low', handle: () => Promise.resolve(answer()) };
}

/** The calls are wrapped as all calls of the contract are. */
export function benchService(): OfferedService {
  const rows: Rows<typeof BenchService> = {
    empty: row(() => ({})),
    collectGarbage: row(() => {
      if (global.gc === undefined) throw new Error('the benchmark server runs without --expose-gc');
      global.gc();
      return {};
    }),
    loopDelay: row(loopDelayReader()),
    memoryInUse: row(() => {
      const { heapUsed, external, rss } = process.memoryUsage();
      return { held: heapUsed + external, resident: rss };
    }),
    mostLayers: row(layerCounter()),
  };
  return { definition: BenchService, rows };
}

/** Samples the event loop's delay each millisecond. The sampling starts with the first time of asking. */
function loopDelayReader(): () => LoopDelay {
  const histogram = monitorEventLoopDelay({ resolution: 1 });
  return () => {
    histogram.enable();
    const of = (percent: number) => histogram.percentile(percent) / 1e6;
    const delay = { p50: of(50), p99: of(99), max: histogram.max / 1e6 };
    histogram.reset();
    return delay;
  };
}

/** Counts the layers of dictionaries after each write that this server applies. */
function layerCounter(): () => number {
  let most = 0;
  const { apply } = GenerationCopy.prototype;
  GenerationCopy.prototype.apply = async function (writes) {
    await apply.call(this, writes);
    most = Math.max(most, this.levels.length);
  };
  return () => {
    const read = most;
    most = 0;
    return read;
  };
}
