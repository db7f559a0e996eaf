import type {
  ImportBatch,
  ImportCommit,
  ImportDictionaryRequest,
  ImportStart,
} from '../../../generated/typescript/holdfast/v1/autocomplete_service';
import { HoldfastError } from '../../engine/errors';
import type { AutocompleteEngine, DictionaryView, ImportSession } from '../../engine/autocomplete/suggestion';
import { checkSentCount, checkEntries, checkProfile } from './fields';
import { timeSpan } from '../../engine/time-span';
import { checkName, Violations } from '../grpc/fields';
import type { Incoming } from '../grpc/incoming';

/** The next message, undefined if there are no more. */
type Next = () => Promise<ImportDictionaryRequest | undefined>;

/** One import from its first message to its last: a start, batches, a commit, and then the client's half-close. */
export async function importDictionary(
  engine: AutocompleteEngine,
  requests: Incoming<ImportDictionaryRequest>,
  maxIdleMs: number,
): Promise<DictionaryView> {
  const next = (): ReturnType<Next> => {
    const timer = setTimeout(() => requests.interrupt(idleFor(maxIdleMs)), maxIdleMs);
    return requests.next().finally(() => clearTimeout(timer));
  };
  const { dictionary, profile } = readStart(await next());
  const session = await engine.startImport(dictionary, profile);
  let entryCount: number;
  try {
    entryCount = await putBatches(session, next);
  } catch (error) {
    await session.abandon();
    throw error;
  }
  return session.commit(entryCount);
}

/** Resolves to what the commit says; each batch is in the store before the next one is read. */
async function putBatches(session: ImportSession, next: Next): Promise<number> {
  for (;;) {
    const request = await next();
    if (request === undefined) {
      refuse('commit', 'is required: the stream ended without it, and nothing was changed');
    }
    switch (request.part?.$case) {
      case 'batch':
        await session.put(readBatch(request.part.value));
        break;
      case 'commit': {
        const entryCount = readCommit(request.part.value);
        // Not before it is certain that nothing follows.
        const more = await next();
        if (more !== undefined)
          refuse(more.part?.$case ?? 'part', 'comes after commit, which must be the last');
        return entryCount;
      }
      case 'start':
        return refuse('start', 'comes twice, and must be the first part only');
      default:
        return refuse('part', 'is required: batch or commit');
    }
  }
}

function idleFor(ms: number): HoldfastError {
  return new HoldfastError(
    'QUOTA_EXCEEDED',
    `nothing of the import came for ${timeSpan(ms)}, and its place is wanted; nothing was changed: import again`,
  );
}

function readStart(request: ImportDictionaryRequest | undefined) {
  const part = request?.part;
  if (part?.$case !== 'start') {
    return refuse(
      'start',
      `is required as the first part${part === undefined ? '' : `; ${part.$case} came`}`,
    );
  }
  return checkStart(part.value);
}

function checkStart({ dictionary, profile: asked }: ImportStart) {
  const violations = new Violations();
  checkName(violations, 'start.dictionary', dictionary);
  const profile = asked && checkProfile(violations, 'start.profile', asked);
  violations.throwIfAny();
  return { dictionary, profile };
}

function readBatch({ entries }: ImportBatch) {
  const violations = new Violations();
  const checked = checkEntries(violations, 'batch.entries', entries);
  violations.throwIfAny();
  return checked;
}

function readCommit(commit: ImportCommit): number {
  const violations = new Violations();
  const entryCount = checkSentCount(violations, 'commit.entry_count', commit.entryCount);
  violations.throwIfAny();
  return entryCount;
}

function refuse(field: string, description: string): never {
  const violations = new Violations();
  violations.add(field, description);
  return violations.refuse();
}
