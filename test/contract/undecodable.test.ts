import { gzipSync } from 'node:zlib';
import { status } from '@grpc/grpc-js';
import { HealthCheckRequest } from '../../generated/typescript/grpc/health/v1/health';
import { ServerReflectionRequest } from '../../generated/typescript/grpc/reflection/v1/reflection';
import {
  ImportDictionaryRequest,
  SuggestStreamRequest,
} from '../../generated/typescript/holdfast/v1/autocomplete_service';
import { HoldLockRequest } from '../../generated/typescript/holdfast/v1/lock_service';
import { OpenSessionRequest } from '../../generated/typescript/holdfast/v1/session_service';
import { defaultAutocompleteLimits } from '../../src/autocomplete/suggestion';
import { eventually } from '../support/eventually';
import { start, suggestRequest } from './autocomplete-calls';
import { someLease } from './fake-engines';
import { Harness } from './harness';
import { sessionStart } from './session-calls';
import { frame, RawConnection, type RawOutcome } from './raw-call';

/**
 * A client sends good messages, and then bytes that grpc-js cannot decode. grpc-js chooses the status when it reads
 * these bytes, while the handler is still answering the earlier messages. The call must end with this status.
 */

interface StreamingCall {
  readonly path: string;
  /** A message that the call accepts as often as it comes. */
  readonly message: Buffer;
  /** Whether the server answers each message. Otherwise the answer comes after the client's half-close. */
  readonly answers: boolean;
  /** The status after two good messages, if the call reads only one. */
  readonly secondMessage?: status;
}

const CALLS: Readonly<Record<string, StreamingCall>> = {
  SuggestStream: {
    path: '/holdfast.v1.AutocompleteService/SuggestStream',
    message: SuggestStreamRequest.encode({ queryId: 1n, suggest: suggestRequest() }).finish() as Buffer,
    answers: true,
  },
  'SuggestStream with refused queries': {
    path: '/holdfast.v1.AutocompleteService/SuggestStream',
    message: SuggestStreamRequest.encode({ queryId: 1n, suggest: undefined }).finish() as Buffer,
    answers: true,
  },
  'reflection v1': {
    path: '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo',
    message: ServerReflectionRequest.encode({
      host: '',
      messageRequest: { $case: 'listServices', value: '' },
    }).finish() as Buffer,
    answers: true,
  },
  ImportDictionary: {
    path: '/holdfast.v1.AutocompleteService/ImportDictionary',
    message: ImportDictionaryRequest.encode({ part: start }).finish() as Buffer,
    answers: false,
    secondMessage: status.INVALID_ARGUMENT,
  },
  HoldLock: {
    path: '/holdfast.v1.LockService/HoldLock',
    message: HoldLockRequest.encode({
      start: { $case: 'leaseId', value: someLease.leaseId },
    }).finish() as Buffer,
    answers: false,
    secondMessage: status.UNIMPLEMENTED,
  },
  OpenSession: {
    path: '/holdfast.v1.SessionService/OpenSession',
    message: OpenSessionRequest.encode(sessionStart).finish() as Buffer,
    answers: false,
    secondMessage: status.INVALID_ARGUMENT,
  },
  'health Watch': {
    path: '/grpc.health.v1.Health/Watch',
    message: HealthCheckRequest.encode({ service: '' }).finish() as Buffer,
    answers: false,
    secondMessage: status.UNIMPLEMENTED,
  },
};

interface BadBytes {
  readonly bytes: Buffer;
  readonly code: status;
}

const BAD_BYTES: Readonly<Record<string, BadBytes>> = {
  'bytes that are not a message': { bytes: frame(Buffer.alloc(20, 0xff)), code: status.INTERNAL },
  'a frame header of 4 GiB': {
    bytes: Buffer.from([0, 255, 255, 255, 255, 1, 2, 3]),
    code: status.RESOURCE_EXHAUSTED,
  },
  'a truncated gzip body': {
    bytes: frame(gzipSync(Buffer.alloc(1000)).subarray(0, 15), true),
    code: status.INTERNAL,
  },
};

let harness: Harness;
let connection: RawConnection;
beforeEach(async () => {
  harness = await Harness.start({
    autocompleteLimits: { ...defaultAutocompleteLimits, maxSuggestStreams: 1, maxImports: 1 },
  });
  connection = new RawConnection(harness.target);
});
afterEach(async () => {
  connection.close();
  await harness.close();
});

/** One way to send the good messages and the bad bytes. */
interface Sending {
  readonly goodCount: number;
  readonly afterAnswer: boolean;
  readonly compressed: boolean;
  readonly oneFrame: boolean;
}

const BOTH = [false, true];
const SENDINGS: readonly Sending[] = [0, 1, 2, 3].flatMap((goodCount) =>
  BOTH.flatMap((afterAnswer) =>
    BOTH.flatMap((compressed) => BOTH.map((oneFrame) => ({ goodCount, afterAnswer, compressed, oneFrame }))),
  ),
);

async function send(
  { path, message, answers }: StreamingCall,
  { goodCount, afterAnswer, compressed, oneFrame }: Sending,
  bad: Buffer,
): Promise<RawOutcome> {
  const stream = connection.open({ path, headers: { 'grpc-encoding': 'gzip' } });
  const good = compressed ? frame(gzipSync(message), true) : frame(message);
  if (answers && afterAnswer) {
    stream.write(good);
    await eventually('the first answer', () => stream.receivedBytes > 0, { everyMs: 1 });
  } else {
    // The server reads a connection in order, so the answer to this call comes after the start of the stream.
    await connection.call({ path: '/grpc.health.v1.Health/Check', body: frame(Buffer.alloc(0)) });
  }
  const frames = [...Array.from({ length: goodCount }, () => good), bad];
  for (const bytes of oneFrame ? [Buffer.concat(frames)] : frames) stream.write(bytes);
  return stream.outcome;
}

const cases = Object.keys(CALLS).flatMap((name) => Object.keys(BAD_BYTES).map((bad) => [name, bad] as const));

// At most one stream of a kind may be open, so a handler that does not end fails the next call.
test.each(cases)('%s ends with a status after %s', async (name, bad) => {
  const { bytes, code } = BAD_BYTES[bad]!;
  const { secondMessage } = CALLS[name]!;
  for (const sending of SENDINGS) {
    const outcome = await eventuallyEnds(sending, send(CALLS[name]!, sending, bytes));
    const codes = sending.goodCount > 1 && secondMessage !== undefined ? [code, secondMessage] : [code];
    expect(codes).toContain(outcome.code);
  }
  expect(harness.logged).toEqual([]);
  expect(connection.closed).toBe(false);
});

test('a stream ends with DEADLINE_EXCEEDED if its handler writes at the deadline', async () => {
  harness.permits.answers.hold = (call, _service, _start, sink) => {
    let over = false;
    call.onCancelled(() => (over = true));
    const write = (): void => {
      if (over) return;
      for (let count = 0; count < 20; count++) sink.send({ kind: 'granted', lease: someLease });
      setImmediate(write);
    };
    write();
    return new Promise(() => undefined);
  };
  for (let round = 0; round < 5; round++) {
    const { path, message } = CALLS.HoldLock!;
    const pending = connection.call({ path, headers: { 'grpc-timeout': '20m' }, body: frame(message) });
    const outcome = await eventuallyEnds({}, pending);
    expect(outcome.code).toBe(status.DEADLINE_EXCEEDED);
  }
});

/** Rejects if the server does not end the call. */
async function eventuallyEnds(call: object, outcome: Promise<RawOutcome>): Promise<RawOutcome> {
  let ended: RawOutcome | undefined;
  void outcome.then((end) => (ended = end));
  return eventually(`the end of the call after ${JSON.stringify(call)}`, () => ended, { everyMs: 1 });
}
