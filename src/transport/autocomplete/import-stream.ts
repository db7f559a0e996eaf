import type {
  ImportCommit,
  ImportDictionaryRequest,
  ImportStart,
} from '../../../generated/typescript/holdfast/v1/autocomplete_service';
import { HoldfastError } from '../../engine/errors';
import type { AutocompleteEngine } from '../../engine/autocomplete/autocomplete-engine';
import type { DictionaryView, ImportSession } from '../../engine/autocomplete/suggestion';
import { timeSpan } from '../../engine/time-span';
import type { UndecodedMessage } from '../grpc/bounded-decoding';
import { checkName, throwIfInvalid, Violations } from '../grpc/fields';
import type { HandledCall } from '../grpc/call';
import type { RequestReader } from '../grpc/request-reader';
import type { ImportPart } from './entry-checks';
import type { EntryRequests } from './entry-requests';
import { checkProfile, checkSentCount } from './fields';

export type ImportMessage = ImportDictionaryRequest | UndecodedMessage;

/** Reads the next message, and checks the entries of a batch. Undefined: the stream has ended. */
type ReadNext = () => Promise<{ readonly part: ImportPart | undefined } | undefined>;

/** Carries out one import: a start, batches, a commit, and the client's half-close. */
export async function importDictionary(
  engine: AutocompleteEngine,
  call: Pick<HandledCall, 'checkNames' | 'identity' | 'quotas'>,
  messages: RequestReader<ImportMessage>,
  requests: EntryRequests,
  maxIdleMs: number,
): Promise<DictionaryView> {
  const next: ReadNext = async () => {
    const timer = setTimeout(() => messages.interrupt(idleFor(maxIdleMs)), maxIdleMs);
    const message = await messages.next().finally(() => clearTimeout(timer));
    if (message === undefined) return undefined;
    const part = await requests.importPart(message);
    call.checkNames({ part });
    return { part };
  };
  const { dictionary, profile } = readStart(await next());
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

function idleFor(ms: number): HoldfastError {
  return new HoldfastError(
    'QUOTA_EXCEEDED',
    `the import received no message for ${timeSpan(ms)}: nothing was changed; start the import again`,
  );
}

function readStart(request: Awaited<ReturnType<ReadNext>>) {
  const part = request?.part;
  if (part?.$case !== 'start') {
    return throwViolation(
      'start',
      `is required as the first part${part === undefined ? '' : `; ${part.$case} came instead`}`,
    );
  }
  return checkStart(part.value);
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
