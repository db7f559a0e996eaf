import type {
  ImportCommit,
  ImportDictionaryRequest,
  ImportStart,
} from '../../../generated/typescript/holdfast/v1/autocomplete_service';
import { HoldfastError } from '../../base/errors';
import type { AutocompleteEngine } from '../autocomplete';
import type { DictionaryView, ImportSession } from '../suggestion';
import { timeSpan } from '../../base/text';
import { MOST_SMALL_BYTES, UndecodedMessage } from '../../rpc/decoding';
import { checkName, throwIfInvalid, Violations } from '../../rpc/fields';
import type { HandledCall } from '../../rpc/service';
import type { RequestReader } from '../../rpc/streams';
import { checkImportPart, type EntryRequests, type ImportPart } from './large-requests';
import { checkProfile, checkSentCount } from './entry-fields';

const REQUIRED_FIRST = 'is required as the first part';

export type ImportMessage = ImportDictionaryRequest | UndecodedMessage;

/** Reads the next message, and checks the entries of a batch. Undefined: the stream has ended. */
type ReadNext = () => Promise<{ readonly part: ImportPart | undefined } | undefined>;

/** How long the server waits for the start of an import (ms). */
const START_WITHIN_MS = 10_000;

type CheckedCall = Pick<HandledCall, 'checkNames'>;
type Start = ReturnType<typeof checkStart>;

/** Reads the start of an import, and checks that the caller may import. A start is small, so no thread decodes it. */
export async function receiveStart(
  call: CheckedCall,
  messages: RequestReader<ImportMessage>,
): Promise<Start> {
  const message = await readWithin(messages, START_WITHIN_MS);
  if (message instanceof UndecodedMessage)
    throwViolation('start', `${REQUIRED_FIRST}, in a message of at most ${MOST_SMALL_BYTES} bytes`);
  const part = message && checkImportPart(message);
  call.checkNames({ part });
  if (part?.$case === 'start') return checkStart(part.value);
  return throwViolation(
    'start',
    part === undefined ? REQUIRED_FIRST : `${REQUIRED_FIRST}; ${part.$case} came instead`,
  );
}

/** Carries out one import after its start: batches, a commit, and the client's half-close. */
export async function importDictionary(
  engine: AutocompleteEngine,
  call: CheckedCall & Pick<HandledCall, 'identity' | 'quotas'>,
  { dictionary, profile }: Start,
  messages: RequestReader<ImportMessage>,
  requests: EntryRequests,
  maxIdleMs: number,
): Promise<DictionaryView> {
  const next: ReadNext = async () => {
    const message = await readWithin(messages, maxIdleMs);
    if (message === undefined) return undefined;
    const part = await requests.importPart(message);
    call.checkNames({ part });
    return { part };
  };
  const session = await engine.startImport(dictionary, profile, call);
  let entryCount: number;
  try {
    entryCount = await putBatches(session, next);
  } catch (error) {
    await session.abandon();
    throw error;
  }
  return session.commit(entryCount);
}

/** Resolves to the commit's entry count. Each batch is in the store before the next message is read. */
async function putBatches(session: ImportSession, next: ReadNext): Promise<number> {
  for (;;) {
    const request = await next();
    if (request === undefined) {
      throwViolation('commit', 'is required: the stream ended without a commit, and nothing was changed');
    }
    switch (request.part?.$case) {
      case 'batch':
        throwIfInvalid(request.part.value.violations);
        await session.put(request.part.value.entries);
        break;
      case 'commit': {
        const entryCount = readCommit(request.part.value);
        // The client must close its side of the stream after the commit.
        const extra = await next();
        if (extra !== undefined)
          throwViolation(extra.part?.$case ?? 'part', 'comes after commit, which must be the last part');
        return entryCount;
      }
      case 'start':
        return throwViolation('start', 'comes twice; only the first part may be a start');
      default:
        return throwViolation('part', 'is required: batch or commit');
    }
  }
}

async function readWithin(
  messages: RequestReader<ImportMessage>,
  ms: number,
): Promise<ImportMessage | undefined> {
  const timer = setTimeout(() => messages.interrupt(idleFor(ms)), ms);
  return messages.next().finally(() => clearTimeout(timer));
}

function idleFor(ms: number): HoldfastError {
  return new HoldfastError(
    'QUOTA_EXCEEDED',
    `the import received no message for ${timeSpan(ms)}: nothing was changed; start the import again`,
  );
}

function checkStart({ dictionary, profile: requested }: ImportStart) {
  const violations = new Violations();
  checkName(violations, 'start.dictionary', dictionary);
  const profile = requested && checkProfile(violations, 'start.profile', requested);
  violations.throwIfAny();
  return { dictionary, profile };
}

function readCommit(commit: ImportCommit): number {
  const violations = new Violations();
  const entryCount = checkSentCount(violations, 'commit.entry_count', commit.entryCount);
  violations.throwIfAny();
  return entryCount;
}

function throwViolation(field: string, description: string): never {
  const violations = new Violations();
  violations.add(field, description);
  return violations.throw();
}
