import { NO_QUOTAS } from '../../base/accounts';
import type { Call } from '../../base/call';
import type { StoredEntry } from '../suggestion';

/** A number of entries, and the bytes of their ids and records. */
export interface EntryAmount {
  readonly entries: number;
  readonly bytes: number;
}

export const NOTHING: EntryAmount = { entries: 0, bytes: 0 };

export function plus(one: EntryAmount, other: EntryAmount): EntryAmount {
  return { entries: one.entries + other.entries, bytes: one.bytes + other.bytes };
}

function minus(one: EntryAmount, other: EntryAmount): EntryAmount {
  return { entries: one.entries - other.entries, bytes: one.bytes - other.bytes };
}

export function amountOf(entries: readonly StoredEntry[]): EntryAmount {
  let bytes = 0;
  for (const { entryId, record } of entries) bytes += Buffer.byteLength(entryId) + record.length;
  return { entries: entries.length, bytes };
}

/** What this server has written to the dictionaries of one owner. All entries count as new. */
export class LocalWrites {
  private inFlight = NOTHING;
  private ended = NOTHING;

  /** True: no write is in flight. */
  get isIdle(): boolean {
    return this.inFlight.entries === 0;
  }

  /** Begins a write. The caller must call the result once, at the end of the write. */
  begin(amount: EntryAmount): () => void {
    this.inFlight = plus(this.inFlight, amount);
    return () => {
      this.inFlight = minus(this.inFlight, amount);
      this.ended = plus(this.ended, amount);
    };
  }

  /** A place among the ended writes, for `since`. */
  mark(): EntryAmount {
    return this.ended;
  }

  /** The writes in flight, and the writes that have ended since the mark. */
  since(mark: EntryAmount): EntryAmount {
    return plus(this.inFlight, minus(this.ended, mark));
  }
}

/** The caller of a write. An empty identity owns nothing, and has no quota of entries or bytes. */
export type Writer = Pick<Call, 'identity' | 'quotas'>;

/** The caller of a server without authentication. */
export const NO_WRITER: Writer = { identity: '', quotas: NO_QUOTAS };

export function hasEntryQuota({ identity, quotas }: Writer): boolean {
  return identity !== '' && (quotas.entries !== undefined || quotas.bytes !== undefined);
}
