import type { Clock } from '../../base/clock';
import { pause } from '../../flow/waiting';
import type { OwnershipStore } from '../entry-store';
import { type EntryAmount, LocalWrites, NOTHING, plus } from './amount';

/** The shortest pause between two reads. */
export const MIN_PAUSE_MS = 100;
/**
 * A pause is this many times as long as the read before, because reads of many dictionaries must not take all time of
 * the store.
 */
const PAUSE_FACTOR = 4;

/** Lets the reads of one account run one after another, with pauses. */
class ReadTurns {
  private last: Promise<unknown> = Promise.resolve();
  private pauseEnd = -Infinity;
  /** The pause after the last read (ms). */
  pauseMs = MIN_PAUSE_MS;

  constructor(private readonly clock: Clock) {}

  run<T>(read: () => Promise<T>): Promise<T> {
    const turn = this.last.then(() => this.runAfterPause(read));
    this.last = turn.catch(() => undefined);
    return turn;
  }

  private async runAfterPause<T>(read: () => Promise<T>): Promise<T> {
    const waitMs = this.pauseEnd - this.clock.now();
    if (waitMs > 0) await pause(this.clock, waitMs);
    const startedAt = this.clock.now();
    try {
      return await read();
    } finally {
      const now = this.clock.now();
      this.pauseMs = Math.max(MIN_PAUSE_MS, PAUSE_FACTOR * (now - startedAt));
      this.pauseEnd = now + this.pauseMs;
    }
  }
}

/** How long a sum is used. The sum does not have the writes of other servers during this time. */
const KEEP_MS = 5000;

interface Reading {
  readonly amount: EntryAmount;
  readonly startedAt: number;
  /** The place among the writes of this server at the start of the read. */
  readonly mark: EntryAmount;
}

/**
 * A sum of entries that the server keeps, because a read of the sum costs the store time. Calls that need a new sum
 * share a read.
 */
export class KeptUsage {
  private last: Reading | undefined;
  private inProgress: Promise<void> | undefined;

  constructor(
    private readonly read: () => Promise<EntryAmount>,
    private readonly writes: LocalWrites,
    private readonly turns: ReadTurns,
    private readonly clock: Clock,
  ) {}

  /** A sum is too old if its read began at this time or earlier. */
  get oldestStart(): number {
    return this.clock.now() - Math.max(KEEP_MS, this.turns.pauseMs);
  }

  /** The last sum, and all that this server has written since. Only after `refresh`. */
  get amount(): EntryAmount {
    if (this.last === undefined) throw new Error('the sum was not read');
    return plus(this.last.amount, this.writes.since(this.last.mark));
  }

  /** Resolves when the sum is of a read that began after this time. Rejects with a `StoreFailure`. */
  async refresh(time: number): Promise<void> {
    while (this.last === undefined || this.last.startedAt <= time) {
      this.inProgress ??= this.readNow().finally(() => (this.inProgress = undefined));
      await this.inProgress;
    }
  }

  private readNow(): Promise<void> {
    return this.turns.run(async () => {
      const startedAt = this.clock.now();
      const mark = this.writes.mark();
      this.last = { amount: await this.read(), startedAt, mark };
    });
  }
}

/** The dictionaries that one step reads at the same time. */
const NAMES_PER_STEP = 64;
/**
 * How many names each creation examines. A creation adds one name and examines two, so at most about half of the names
 * in a list belong to dictionaries that are gone.
 */
const NAMES_PER_CREATION = 2;
const MOST_POSITIONS = 1000;

/** Adds up the dictionaries of an owner. Removes the names of other dictionaries from the list of the owner. */
export class OwnedDictionaries {
  /** By owner: the names that a failed command may have removed, or may still remove, from the list of the owner. */
  private readonly maybeUnlisted = new Map<string, Set<string>>();
  /** By owner: the last examined name. */
  private readonly positions = new Map<string, string>();

  constructor(private readonly store: OwnershipStore) {}

  /** The sum of all dictionaries of the owner except one. Rejects with a `StoreFailure`. */
  async usage(owner: string, except?: string): Promise<EntryAmount> {
    for (const name of this.maybeUnlisted.get(owner) ?? []) await this.listAgain(owner, name);
    let sum = NOTHING;
    let after: string | undefined;
    for (;;) {
      const names = await this.store.owned(owner, after, NAMES_PER_STEP);
      const wanted = names.filter((name) => name !== except);
      const amounts = await Promise.all(wanted.map((name) => this.amountOf(owner, name)));
      sum = amounts.reduce(plus, sum);
      if (names.length < NAMES_PER_STEP) return sum;
      after = names.at(-1);
    }
  }

  /**
   * Examines the next names in the list of an owner. Called after each creation, because the list of an owner without a
   * quota is never added up.
   */
  async examineSome(owner: string): Promise<void> {
    const names = await this.store.owned(owner, this.positions.get(owner), NAMES_PER_CREATION);
    this.positions.delete(owner);
    const last = names.at(-1);
    if (last !== undefined && names.length === NAMES_PER_CREATION) {
      const oldest = this.positions.keys().next();
      if (this.positions.size >= MOST_POSITIONS && !oldest.done) this.positions.delete(oldest.value);
      this.positions.set(owner, last);
    }
    for (const name of names) await this.amountOf(owner, name);
  }

  private async amountOf(owner: string, name: string): Promise<EntryAmount> {
    const usage = await this.store.usage(name);
    if (usage.kind === 'used' && usage.owner === owner) return usage.amount;
    // An import that is in progress may create the dictionary, so its name stays.
    if (usage.kind !== 'unknown') await this.unlist(owner, name);
    return NOTHING;
  }

  private async unlist(owner: string, name: string): Promise<void> {
    const names = this.maybeUnlisted.get(owner) ?? new Set();
    this.maybeUnlisted.set(owner, names.add(name));
    await this.store.unregisterOwned(owner, name);
    // Another call may have created the dictionary, and listed its name just before this server removed the name.
    await this.listAgain(owner, name);
  }

  private async listAgain(owner: string, name: string): Promise<void> {
    const usage = await this.store.usage(name);
    if (usage.kind === 'used' && usage.owner === owner) await this.store.registerOwned(owner, name);
    const names = this.maybeUnlisted.get(owner);
    names?.delete(name);
    if (names?.size === 0) this.maybeUnlisted.delete(owner);
  }
}

/** Accounts in memory. An account takes a few hundred bytes. A forgotten account is read again. */
const MOST_ACCOUNTS = 1000;

/** The dictionaries of one owner, or one dictionary without an owner. */
export class UsageAccount {
  readonly writes = new LocalWrites();
  private readonly turns: ReadTurns;
  /** The sum of all dictionaries of the account. */
  readonly whole: KeptUsage;

  constructor(
    private readonly read: (except?: string) => Promise<EntryAmount>,
    private readonly clock: Clock,
  ) {
    this.turns = new ReadTurns(clock);
    this.whole = new KeptUsage(() => read(), this.writes, this.turns, clock);
  }

  /** The sum of all dictionaries of the account except one. */
  without(dictionary: string): KeptUsage {
    return new KeptUsage(() => this.read(dictionary), this.writes, this.turns, this.clock);
  }
}

/** The accounts of the callers that have written last. */
export class UsageAccounts {
  private readonly accounts = new Map<string, UsageAccount>();

  constructor(
    private readonly store: Pick<OwnershipStore, 'usage'>,
    private readonly owned: OwnedDictionaries,
    private readonly clock: Clock,
  ) {}

  ofOwner(owner: string): UsageAccount {
    return this.account(`owner ${owner}`, (except) => this.owned.usage(owner, except));
  }

  /** The account of a dictionary without an owner. */
  ofUnowned(name: string): UsageAccount {
    return this.account(`dictionary ${name}`, async (except) => {
      if (name === except) return NOTHING;
      const usage = await this.store.usage(name);
      return usage.kind === 'used' ? usage.amount : NOTHING;
    });
  }

  private account(key: string, read: (except?: string) => Promise<EntryAmount>): UsageAccount {
    const account = this.accounts.get(key) ?? new UsageAccount(read, this.clock);
    this.accounts.delete(key);
    if (this.accounts.size >= MOST_ACCOUNTS) this.forgetOldest();
    this.accounts.set(key, account);
    return account;
  }

  /** Forgets the account that was not used for the longest time. An account with a write in flight must stay. */
  private forgetOldest(): void {
    for (const [key, { writes }] of this.accounts) {
      if (!writes.isIdle) continue;
      this.accounts.delete(key);
      return;
    }
  }
}
