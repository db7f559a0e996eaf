import { packBatch } from '../record';
import { answerTasks, setThreadPriority } from '../../base/thread';
import {
  type CheckedBatch,
  checkImportPart,
  checkPut,
  type EntryThreadCalls,
  type PackedBatch,
  requestDecoders,
  type Undecodable,
} from './large-requests';

/** The start of the thread that decodes and checks large requests. */

/** After the main thread, because the main thread serves all other calls. */
const NICE = 5;

type Answer = EntryThreadCalls[keyof EntryThreadCalls]['answers'];

function packed({ violations, entries }: CheckedBatch): PackedBatch {
  return { violations, packed: packBatch(entries) };
}

function decoded<Message>(decode: (bytes: Buffer) => Message, bytes: Uint8Array): Message | undefined {
  try {
    return decode(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length));
  } catch {
    return undefined;
  }
}

function putEntries(bytes: Uint8Array): EntryThreadCalls['putEntries']['answers'] {
  const message = decoded(requestDecoders.putEntries, bytes);
  if (message === undefined) return UNDECODABLE;
  const { dictionary, ...batch } = checkPut(message);
  return { $case: 'put', value: { dictionary, ...packed(batch) } };
}

function importDictionary(bytes: Uint8Array): EntryThreadCalls['importDictionary']['answers'] {
  const message = decoded(requestDecoders.importDictionary, bytes);
  if (message === undefined) return UNDECODABLE;
  const part = checkImportPart(message);
  if (part?.$case !== 'batch') return { $case: 'part', value: part };
  return { $case: 'part', value: { $case: 'batch', value: packed(part.value) } };
}

function buffersOf(answer: Answer): ArrayBuffer[] {
  if (answer.$case === 'put') return [answer.value.packed.buffer];
  if (answer.$case === 'part' && answer.value?.$case === 'batch') return [answer.value.value.packed.buffer];
  return [];
}

const UNDECODABLE: Undecodable = { $case: 'undecodable' };

setThreadPriority(NICE);
answerTasks<EntryThreadCalls>({ putEntries, importDictionary }, buffersOf);
