import { Account } from './account';
import type { Clock } from './clock';
import { NO_QUOTAS, NOT_SHARED, type Quotas, type QuotaSource, type SharedUses } from './quotas';

/** Above this number of identities, accounts that are not used are forgotten. */
const MAX_UNUSED_ACCOUNTS = 10_000;
/**
 * The number of old accounts that are checked when an account is added. This number is above 1, so that unused
 * accounts are removed faster than accounts are added.
 */
const CHECKED_PER_CALL = 4;
/** The accounts that read a new policy in one turn: the quotas of an identity are found in well below 1 ms. */
const REJOINED_PER_TURN = 10;

/** The accounts of all callers of this server: one for each proven identity, or one for each connection without one. */
export class Accounts {
  private readonly ofIdentity = new Map<string, Account>();
  private readonly ofConnection = new WeakMap<object, Account>();

  constructor(
    private source: QuotaSource,
    private readonly clock: Clock,
  ) {}

  /** The number of identities with an account. */
  get size(): number {
    return this.ofIdentity.size;
  }

  /** Uses other quotas from now on. The counts stay. */
  replace(source: QuotaSource): void {
    this.source = source;
    this.rejoin([...this.ofIdentity.values()], source);
  }

  /** Also the leases of callers that are silent now count for the quotas that they share. */
  private rejoin(accounts: readonly Account[], source: QuotaSource, from = 0): void {
    if (source !== this.source) return;
    const end = Math.min(from + REJOINED_PER_TURN, accounts.length);
    for (const account of accounts.slice(from, end)) void account.shared;
    if (end < accounts.length) this.clock.after(0, () => this.rejoin(accounts, source, end));
  }

  of(identity: string, connection: object): Account {
    if (identity === '') return this.accountOfConnection(connection);
    let account = this.ofIdentity.get(identity);
    if (account === undefined) {
      account = this.newAccount(identity, identity);
      this.ofIdentity.set(identity, account);
      if (this.ofIdentity.size > MAX_UNUSED_ACCOUNTS) this.forgetSome();
    }
    return account;
  }

  private accountOfConnection(connection: object): Account {
    let account = this.ofConnection.get(connection);
    if (account === undefined) {
      account = this.newAccount('this connection', '');
      this.ofConnection.set(connection, account);
    }
    return account;
  }

  private newAccount(subject: string, identity: string): Account {
    let source: QuotaSource | undefined;
    let quotas: Quotas = NO_QUOTAS;
    let shared: SharedUses = NOT_SHARED;
    const read = (): void => {
      if (source === this.source) return;
      source = this.source;
      quotas = source.quotasOf(identity);
      shared = source.sharedOf?.(identity) ?? NOT_SHARED;
    };
    const readQuotas = (): Quotas => {
      read();
      return quotas;
    };
    const readShared = (): SharedUses => {
      read();
      return shared;
    };
    return new Account(subject, this.clock, readQuotas, readShared);
  }

  /** Forgets the oldest accounts that are not used. An account in use becomes the newest. */
  private forgetSome(): void {
    let checkedCount = 0;
    for (const [identity, account] of this.ofIdentity) {
      if (checkedCount++ === CHECKED_PER_CALL) return;
      this.ofIdentity.delete(identity);
      if (!account.isUnused) this.ofIdentity.set(identity, account);
    }
  }
}
