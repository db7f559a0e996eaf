import type { Clock } from '../../base/clock';
import type { OwnershipStore } from '../ownership';

/** Another server may have deleted the dictionary, and another identity may have created it again. */
const KEEP_MS = 5000;
const MOST_OWNERS = 1000;

/** The owners of the dictionaries that were written last. */
export class DictionaryOwners {
  private readonly known = new Map<string, { readonly owner: string; readonly readAt: number }>();

  constructor(
    private readonly store: Pick<OwnershipStore, 'usage'>,
    private readonly clock: Clock,
  ) {}

  /** Empty: nobody. Undefined: the dictionary does not exist. Rejects with a `StoreFailure`. */
  async ownerOf(name: string): Promise<string | undefined> {
    const readAt = this.clock.now();
    const known = this.known.get(name);
    if (known !== undefined && readAt - known.readAt <= KEEP_MS) return known.owner;
    const usage = await this.store.usage(name);
    this.known.delete(name);
    if (usage.kind !== 'used') return undefined;
    const oldest = this.known.keys().next();
    if (this.known.size >= MOST_OWNERS && !oldest.done) this.known.delete(oldest.value);
    this.known.set(name, { owner: usage.owner, readAt });
    return usage.owner;
  }

  /** Called when this server has deleted the dictionary. */
  forget(name: string): void {
    this.known.delete(name);
  }
}
