import type { Clock } from '../../base/clock';
import { IndexThread } from './index-thread';
import { CopySearch } from './search';
import type { LayerLimits } from './generation-copy';
import { IndexMemory } from './index-memory';
import { LayerBuilds } from './layer-builds';
import { LoadedDictionaries, type LoadedDictionariesOptions } from './loaded-dictionaries';

export interface OpenIndexesOptions {
  readonly store: LoadedDictionariesOptions['store'];
  /** The memory for all indexes (bytes). */
  readonly budgetBytes: number;
  /** The number of processor cores that this process may use. */
  readonly coreCount: number;
  readonly clock: Clock;
  /** Receives the defects of background work. */
  readonly onDefect: (error: unknown) => void;
  /** Receives texts for the operator. */
  readonly onWarning: (text: string) => void;
  /** Tests set smaller limits, so that few writes make many layers. */
  readonly layerLimits?: LayerLimits;
}

/** Searches have the priority of the process, because callers wait for them. */
const SEARCH_NICE = 0;
/** Small builds come before large builds, and after the main thread. */
const SMALL_BUILD_NICE = 5;
const MEDIUM_BUILD_NICE = 8;
const LARGE_BUILD_NICE = 10;
/** On a single core, a medium or large build runs for at most half of the time. */
const SINGLE_CORE_DUTY = 0.5;

/** The indexes of this server, with four threads that start when they are needed. */
export function openIndexes(options: OpenIndexesOptions): LoadedDictionaries {
  const { budgetBytes, coreCount } = options;
  const longDuty = coreCount < 2 ? SINGLE_CORE_DUTY : 1;
  const threads = {
    search: new IndexThread({ nice: SEARCH_NICE, dutyCycle: 1 }),
    small: new IndexThread({ nice: SMALL_BUILD_NICE, dutyCycle: 1 }),
    medium: new IndexThread({ nice: MEDIUM_BUILD_NICE, dutyCycle: longDuty }),
    large: new IndexThread({ nice: LARGE_BUILD_NICE, dutyCycle: longDuty }),
  };
  const memory = new IndexMemory(budgetBytes);
  return new LoadedDictionaries({
    ...options,
    memory,
    builds: new LayerBuilds(threads, memory),
    search: new CopySearch(threads.search),
    onClose: () => Object.values(threads).forEach((thread) => void thread.close()),
  });
}
