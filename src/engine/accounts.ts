import { Account } from './account';
import type { Clock } from './clock';
import { NO_QUOTAS, type Quotas, type QuotaSource } from './quotas';

/** Above this number of identities, accounts that are not used are forgotten. */
const MAX_UNUSED_ACCOUNTS = 10_000;
/**
 * The number of old accounts that are checked when an account is added. This number is above 1, so that unused
 * accounts are removed faster than accounts are added.
 */
const CHECKED_PER_CALL = 4;

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
    return new Account(subject, this.clock, () => {
      if (source !== this.source) {
        source = this.source;
        quotas = source.quotasOf(identity);
      }
      return quotas;
    });
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
