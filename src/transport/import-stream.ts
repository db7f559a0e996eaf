import type {
  ImportBatch,
  ImportCommit,
  ImportDictionaryRequest,
  ImportStart,
} from '../../generated/typescript/holdfast/v1/autocomplete_service';
import type { AutocompleteEngine, DictionaryView, ImportSession } from '../engine/suggestion';
import { checkSentCount, checkEntries, checkProfile } from './autocomplete-fields';
import { checkName, Violations } from './fields';
import type { Incoming } from './incoming';

/** One import from its first message to its last: a start, batches, a commit, and then the client's half-close. */
export async function importDictionary(
  engine: AutocompleteEngine,
  requests: Incoming<ImportDictionaryRequest>,
): Promise<DictionaryView> {
  const { dictionary, profile } = readStart(await requests.next());
  const session = await engine.startImport(dictionary, profile);
  let entryCount: number;
  try {
    entryCount = await putBatches(session, requests);
  } catch (error) {
    await session.abandon();
    throw error;
  }
  return session.commit(entryCount);
}

/** Resolves to what the commit says; each batch is in the store before the next one is read. */
async function putBatches(
  session: ImportSession,
  requests: Incoming<ImportDictionaryRequest>,
): Promise<number> {
  for (;;) {
    const request = await requests.next();
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
        const more = await requests.next();
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
