import { createHash, type Hash } from 'node:crypto';
import type { Profile } from '../../../clients/typescript';
import { UsageError } from '../terminal';
import { atLine, checkedEntry, EntryProblem, objectOf } from './entry-formats';
import { type Bytes, linesOf } from './records';
import { type Counts, EXPORT_VERSION, type ExportPart, noCounts } from './export';

/**
 * Reads an export, and checks each line. The counts and the checksum are compared before the last part is given, and the
 * count of a dictionary before its end. Rejects with a UsageError that names the line. At most one line is in memory.
 */
export async function* readExport(input: Bytes, name: string): AsyncGenerator<ExportPart, Counts, undefined> {
  const reader = new ExportReader(name);
  for await (const { number, text } of linesOf(input, name)) {
    const part = atLine(number, name, () => reader.read(number, text));
    if (part) yield part;
  }
  return reader.end();
}

class ExportReader {
  private readonly sum: Hash = createHash('sha256');
  private readonly counts = noCounts();
  private hasHeader = false;
  private hasEnded = false;
  /** The number of entries of the open dictionary. */
  private openCount: number | undefined;

  constructor(private readonly name: string) {}

  read(number: number, text: string): ExportPart | undefined {
    if (this.hasEnded) throw new EntryProblem('comes after the end of the export');
    const [first, ...others] = Object.entries(objectOf(text));
    if (first === undefined || others.length > 0) throw new EntryProblem('must have one key');
    const [kind, value] = first;
    const part = record(value, kind);
    if (this.hasHeader && kind === 'end') return this.last(part);
    this.sum.update(`${text}\n`);
    if (!this.hasHeader) return this.header(kind, part);
    if ((kind === 'entry' || kind === 'dictionaryEnd') === (this.openCount === undefined)) {
      throw new EntryProblem(`"${kind}" is at the wrong place`);
    }
    switch (kind) {
      case 'semaphore':
        return this.semaphore(part);
      case 'dictionary':
        return this.dictionary(part);
      case 'entry':
        return this.entry(number, part);
      case 'dictionaryEnd':
        return this.dictionaryEnd(part);
      default:
        throw new EntryProblem(`"${kind}" is no part of an export`);
    }
  }

  end(): Counts {
    if (!this.hasHeader) throw new UsageError(`${this.name} is empty, and no export`);
    if (!this.hasEnded) throw new UsageError(`${this.name} has no last line: the export was cut short`);
    return this.counts;
  }

  private header(kind: string, { version }: Record<string, unknown>): undefined {
    if (kind !== 'holdfastExport')
      throw new EntryProblem('it is not the first line of an export of holdfast');
    if (version !== EXPORT_VERSION) {
      throw new EntryProblem(
        `the export has version ${String(version)}, and this program reads version ${EXPORT_VERSION}`,
      );
    }
    this.hasHeader = true;
  }

  private semaphore({ name, limit, keptLimit = 0 }: Record<string, unknown>): ExportPart {
    this.counts.semaphoreCount += 1;
    const part = { limit: limitOf(limit, 'limit'), keptLimit: limitOf(keptLimit, 'keptLimit') };
    if (part.limit > 0 && part.keptLimit > 0) throw new EntryProblem('"keptLimit" must have the "limit" 0');
    return { kind: 'semaphore', name: nameOf(name), ...part };
  }

  private dictionary({ name, profile }: Record<string, unknown>): ExportPart {
    this.openCount = 0;
    this.counts.dictionaryCount += 1;
    return { kind: 'dictionary', name: nameOf(name), profile: profileOf(record(profile, 'profile')) };
  }

  private entry(line: number, value: Record<string, unknown>): ExportPart {
    this.openCount = (this.openCount ?? 0) + 1;
    this.counts.entryCount += 1;
    return { kind: 'entry', line, entry: checkedEntry(value) };
  }

  private dictionaryEnd({ entryCount }: Record<string, unknown>): ExportPart {
    if (entryCount !== this.openCount) {
      throw new EntryProblem(`the dictionary has ${this.openCount} entries instead of ${String(entryCount)}`);
    }
    this.openCount = undefined;
    return { kind: 'dictionaryEnd' };
  }

  private last({ sha256, ...counts }: Record<string, unknown>): undefined {
    if (this.openCount !== undefined) throw new EntryProblem('the last dictionary has no end');
    for (const [key, count] of Object.entries(this.counts)) {
      if (counts[key] !== count) {
        throw new EntryProblem(`"${key}" is ${String(counts[key])}, but the file has ${String(count)}`);
      }
    }
    if (sha256 !== this.sum.digest('hex')) {
      throw new EntryProblem('the checksum differs: the file was changed after the export');
    }
    this.hasEnded = true;
  }
}

const MAX_LIMIT = 2 ** 31 - 1;

function limitOf(limit: unknown, key: string): number {
  if (Number.isInteger(limit) && Number(limit) >= 0 && Number(limit) <= MAX_LIMIT) return Number(limit);
  throw new EntryProblem(`"${key}" must be a whole number from 0 to ${MAX_LIMIT}`);
}

function record(value: unknown, key: string): Record<string, unknown> {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    return value as Record<string, unknown>;
  }
  throw new EntryProblem(`"${key}" must be an object`);
}

function nameOf(name: unknown): string {
  if (typeof name === 'string' && name !== '' && Buffer.byteLength(name) <= MAX_NAME_BYTES) return name;
  throw new EntryProblem(`"name" must be a text of 1 to ${MAX_NAME_BYTES} bytes`);
}

const MAX_NAME_BYTES = 512;

function profileOf({ accents, typoMatching }: Record<string, unknown>): Profile {
  return {
    accents: oneOf(accents, { ACCENT_HANDLING_KEPT: 'kept', ACCENT_HANDLING_DROPPED: 'dropped' }, 'accents'),
    typos: oneOf(typoMatching, { TYPO_MATCHING_ON: true, TYPO_MATCHING_OFF: false }, 'typoMatching'),
  };
}

/** A newer server may have other values, with another meaning. */
function oneOf<T>(value: unknown, known: Readonly<Record<string, T>>, key: string): T {
  const found = typeof value === 'string' && Object.hasOwn(known, value) ? known[value] : undefined;
  if (found === undefined) throw new EntryProblem(`"${key}" has the unknown value ${JSON.stringify(value)}`);
  return found;
}
