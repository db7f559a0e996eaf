import type { Clock } from '../base/clock';
import type { EntryStore } from './entry-store';
import { reportDefect } from '../base/errors';
import { Reruns, Rounds } from '../flow/rerun';
import type { Identities } from '../base/runtime';

/** The pause between two rounds of sweeping. */
const ROUND_INTERVAL_MS = 15_000;
/** The number of dictionaries that one round sweeps. The next round continues with the next name. */
const NAMES_PER_ROUND = 64;
/**
 * The shortest delay of the first round. The longest delay is twice as long. The delay is short because a server often
 * starts after another server has died, and random because servers that start together should not sweep together.
 */
const FIRST_ROUND_DELAY_MS = 1000;

/**
 * Cleans up dictionaries: removes old generations, ends the imports of dead servers, and finishes their unfinished
 * changes. Every server sweeps all dictionaries, some in each round. Two servers may sweep the same dictionary.
 */
export class DictionarySweeper {
  /** A sweep that is in progress may have missed the change of a caller, so another sweep follows. */
  private readonly sweeps: Reruns;
  /** The names that a failed command may have removed, or may still remove, from the list of names. */
  private readonly maybeUnlisted = new Set<string>();
  private readonly rounds: Rounds;
  private lastName: string | undefined;
  private stopped = false;

  constructor(
    private readonly store: Pick<EntryStore, 'names' | 'register' | 'sweep' | 'unregister'>,
    clock: Clock,
    identities: Identities,
    private readonly onDefect: (error: unknown) => void,
  ) {
    const onError = (error: unknown): void => reportDefect(error, onDefect);
    this.sweeps = new Reruns(onError);
    const firstMs = FIRST_ROUND_DELAY_MS * (1 + identities.random());
    const rounds = { clock, firstMs, pauseMs: ROUND_INTERVAL_MS, onError };
    this.rounds = new Rounds(rounds, () => this.runRound());
  }

  /** Sweeps one dictionary now, in the background. */
  sweepSoon(name: string): void {
    this.sweeps.run(name, async () => {
      if (!this.stopped) await this.sweep(name);
    });
  }

  stop(): void {
    this.stopped = true;
    this.rounds.end();
  }

  private async runRound(): Promise<void> {
    const names = await this.store.names('', this.lastName, NAMES_PER_ROUND);
    this.lastName = names.length < NAMES_PER_ROUND ? undefined : names[names.length - 1];
    for (const name of new Set([...this.maybeUnlisted, ...names])) {
      if (this.stopped) return;
      // A failure of one dictionary must not stop the others.
      await this.sweep(name).catch((error: unknown) => reportDefect(error, this.onDefect));
    }
  }

  private async sweep(name: string): Promise<void> {
    let isMaybeUnlisted = this.maybeUnlisted.delete(name);
    try {
      let state = await this.store.sweep(name);
      while (state === 'more' && !this.stopped) state = await this.store.sweep(name);
      if (state === 'gone') {
        isMaybeUnlisted = true;
        await this.store.unregister(name);
        // Another call may have created the dictionary again, and registered its name just before this server removed it.
        state = await this.store.sweep(name);
      }
      if (isMaybeUnlisted && state !== 'gone') await this.store.register(name);
    } catch (error) {
      if (isMaybeUnlisted) this.maybeUnlisted.add(name);
      throw error;
    }
  }
}
