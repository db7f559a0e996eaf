import type { Clock, Timer } from '../clock';
import type { DictionaryStore } from './dictionary-store';
import { reportDefect } from '../errors';
import type { Identities } from '../identities';

/** How often dictionaries are looked at for what others have left undone ... */
const ROUND_MS = 15_000;
/** ... how many each time, in turn ... */
const NAMES_A_ROUND = 64;
/**
 * ... and how soon after a start: a server is often started because another one has died. Up to twice as long, so that
 * those that start together do not look together.
 */
const FIRST_ROUND_MS = 1000;

/**
 * Does what dictionaries leave to do: takes old generations apart, gives up imports whose server is gone, and finishes
 * changes that one left half done. Every server looks at all dictionaries, a few at a time; what happens twice does no
 * harm.
 */
export class DictionarySweeper {
  private readonly tidying = new Set<string>();
  private timer: Timer | undefined;
  private last: string | undefined;
  private stopped = false;

  constructor(
    private readonly store: Pick<DictionaryStore, 'names' | 'register' | 'sweep' | 'unregister'>,
    private readonly clock: Clock,
    identities: Identities,
    private readonly onDefect: (error: unknown) => void,
  ) {
    this.wait(FIRST_ROUND_MS * (1 + identities.random()));
  }

  /** Cleans up after one dictionary now, in the background. */
  tidy(name: string): void {
    if (this.stopped || this.tidying.has(name)) return;
    this.tidying.add(name);
    this.sweep(name)
      .catch((error: unknown) => reportDefect(error, this.onDefect))
      .finally(() => this.tidying.delete(name))
      .catch(this.onDefect);
  }

  stop(): void {
    this.stopped = true;
    this.timer?.cancel();
  }

  private wait(ms: number): void {
    this.timer = this.clock.after(ms, () => {
      this.round()
        .catch((error: unknown) => reportDefect(error, this.onDefect))
        .finally(() => {
          if (!this.stopped) this.wait(ROUND_MS);
        })
        .catch(this.onDefect);
    });
  }

  private async round(): Promise<void> {
    const names = await this.store.names('', this.last, NAMES_A_ROUND);
    this.last = names.length < NAMES_A_ROUND ? undefined : names[names.length - 1];
    for (const name of names) {
      if (this.stopped) return;
      // What is wrong with one must not keep us from the others.
      await this.sweep(name).catch((error: unknown) => reportDefect(error, this.onDefect));
    }
  }

  private async sweep(name: string): Promise<void> {
    let state = await this.store.sweep(name);
    while (state === 'more' && !this.stopped) state = await this.store.sweep(name);
    if (state !== 'gone') return;
    await this.store.unregister(name);
    // It may have been made anew in between, or be imported; whoever does that registers it, too, but perhaps before
    // we took it out.
    const since = await this.store.sweep(name).catch(() => undefined);
    if (since !== 'gone') await this.store.register(name);
  }
}
