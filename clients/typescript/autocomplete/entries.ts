import { Entry as EntryMessage } from '../../../generated/typescript/holdfast/v1/autocomplete_service';
import { NUMBERS } from '../numbers';
import { invalidOption, textOfValue } from '../time-span';

/** An entry of a dictionary. */
export interface Entry {
  /** 1 to 512 bytes. */
  readonly id: string;
  /** The text that is shown and searched: 1 to 512 bytes. */
  readonly text: string;
  /** Other texts that find the entry. */
  readonly aliases?: readonly string[] | undefined;
  /** A greater weight ranks earlier. Default: 0. Maximum: 2^52, so a number is exact. */
  readonly weight?: number | bigint | undefined;
  /** Data for the program that shows the entry: at most 1 KiB. */
  readonly payload?: Uint8Array | undefined;
}

/** Entries in any order. A source can also be an async generator that reads a file or a database. */
export type EntrySource = Iterable<Entry> | AsyncIterable<Entry>;

const { maxEntriesInMessage, maxEntryBytesInMessage } = NUMBERS.entries;

export function entryMessage({ id, text, aliases = [], weight = 0, payload }: Entry): EntryMessage {
  return EntryMessage.create({
    entryId: id,
    text,
    aliases: [...aliases],
    weight: weightOf(id, weight),
    ...(payload && { payload: Buffer.from(payload) }),
  });
}

function weightOf(id: string, weight: number | bigint): bigint {
  const isWhole = typeof weight === 'bigint' || Number.isInteger(weight);
  const whole = isWhole ? BigInt(weight) : undefined;
  if (whole !== undefined && BigInt.asIntN(64, whole) === whole) return whole;
  throw invalidOption(
    `weight of ${JSON.stringify(id)}`,
    `a whole number of 64 bits, not ${textOfValue(weight)}`,
  );
}

/** Batches that fit into a message. At most one batch is in memory. */
export async function* batches(entries: EntrySource): AsyncGenerator<EntryMessage[], void, undefined> {
  let batch: EntryMessage[] = [];
  let bytes = 0;
  for await (const entry of entries) {
    const message = entryMessage(entry);
    const size = EntryMessage.encode(message).finish().length + 8;
    if (batch.length >= maxEntriesInMessage || (batch.length > 0 && bytes + size > maxEntryBytesInMessage)) {
      yield batch;
      batch = [];
      bytes = 0;
    }
    batch.push(message);
    bytes += size;
  }
  if (batch.length > 0) yield batch;
}
