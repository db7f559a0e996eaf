import { amountOf, type EntryAmount, NOTHING, plus } from '../../src/autocomplete/quota/amount';
import type { OwnershipStore, StoredUsage } from '../../src/autocomplete/entry-store';
import { StoreFailure } from '../../src/base/errors';
import type { StoredEntry } from '../../src/autocomplete/suggestion';

/** Entries with ids of one byte and records of three bytes. */
export function fourByteEntries(count: number, from = 0): StoredEntry[] {
  return Array.from({ length: count }, (_, index) => ({
    entryId: String.fromCharCode(0x21 + from + index),
    record: Buffer.from('abc'),
  }));
}

interface Dictionary {
  readonly owner: string;
  entries: Map<string, StoredEntry>;
}

/** Dictionaries with owners, without Redis. Tests can count the commands, and let the store fail. */
export class ModelOwnership implements OwnershipStore {
  readonly dictionaries = new Map<string, Dictionary>();
  /** Names of dictionaries that an import may create. */
  readonly imported = new Set<string>();
  readonly lists = new Map<string, Set<string>>();
  readonly commands: string[] = [];
  isDown = false;
  /** Called before each command, with its name. */
  before: (command: string) => void | Promise<void> = () => undefined;

  create(name: string, owner: string, entries: readonly StoredEntry[] = []): void {
    if (!this.dictionaries.has(name)) this.dictionaries.set(name, { owner, entries: new Map() });
    if (owner !== '') this.listOf(owner).add(name);
    this.put(name, entries);
  }

  put(name: string, entries: readonly StoredEntry[]): void {
    const stored = this.dictionaries.get(name)?.entries;
    for (const entry of entries) stored?.set(entry.entryId, entry);
  }

  /** As the commit of an import. */
  replace(name: string, owner: string, entries: readonly StoredEntry[]): void {
    this.create(name, owner);
    this.dictionaries.get(name)?.entries.clear();
    this.put(name, entries);
  }

  amount(name: string): EntryAmount {
    return amountOf([...(this.dictionaries.get(name)?.entries.values() ?? [])]);
  }

  /** The sum over all dictionaries of the owner. */
  total(owner: string, except?: string): EntryAmount {
    return [...this.dictionaries]
      .filter(([name, one]) => one.owner === owner && name !== except)
      .map(([name]) => this.amount(name))
      .reduce(plus, NOTHING);
  }

  async usage(name: string): Promise<StoredUsage> {
    await this.began('usage');
    const found = this.dictionaries.get(name);
    if (found === undefined) return { kind: this.imported.has(name) ? 'unknown' : 'gone' };
    return { kind: 'used', owner: found.owner, amount: this.amount(name) };
  }

  async owned(owner: string, after: string | undefined, limit: number): Promise<readonly string[]> {
    await this.began('owned');
    const names = [...this.listOf(owner)].sort().filter((name) => after === undefined || name > after);
    return names.slice(0, limit);
  }

  async registerOwned(owner: string, name: string): Promise<void> {
    await this.began('registerOwned');
    this.listOf(owner).add(name);
  }

  async unregisterOwned(owner: string, name: string): Promise<void> {
    await this.began('unregisterOwned');
    this.listOf(owner).delete(name);
  }

  listOf(owner: string): Set<string> {
    const list = this.lists.get(owner) ?? new Set();
    this.lists.set(owner, list);
    return list;
  }

  private async began(command: string): Promise<void> {
    this.commands.push(command);
    await this.before(command);
    if (this.isDown) throw new StoreFailure('unknown', 'unavailable');
  }
}
