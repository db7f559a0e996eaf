import { createServer, type Http2Server, type ServerHttp2Stream } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { ErrorReason } from '../../../generated/typescript/holdfast/v1/error_reason';
import { eventually } from '../eventually';
import { FrameConnection, type FrameConnectionOptions, type Outcome } from './frame-connection';

/** A server of Node's own HTTP/2, which answers as a gRPC server does. */
let server: Http2Server;
let address: string;
let answer: (stream: ServerHttp2Stream) => void;

beforeAll(async () => {
  server = createServer();
  server.on('stream', (stream: ServerHttp2Stream) => {
    stream.on('error', () => undefined);
    answer(stream);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
});

afterAll(() => new Promise((resolve) => server.close(resolve)));

const HEADERS = { ':status': 200, 'content-type': 'application/grpc+proto' };
const CALL = { path: '/holdfast.v1.LockService/AcquireLock', body: Buffer.alloc(30) };

/** Answers each call with an error and no message, or with a message and OK. */
function answerWith(reasonOf: () => string | undefined): void {
  answer = (stream) => {
    const reason = reasonOf();
    const trailers =
      reason === undefined
        ? { 'grpc-status': '0', 'grpc-message': 'OK' }
        : { 'grpc-status': '8', 'grpc-message': 'a text <"{|}~>', 'holdfast-reason': reason };
    stream.resume().on('end', () => {
      if (reason !== undefined) return stream.respond({ ...HEADERS, ...trailers }, { endStream: true });
      stream.respond(HEADERS, { waitForTrailers: true });
      stream.on('wantTrailers', () => stream.sendTrailers(trailers));
      stream.end(Buffer.alloc(20));
    });
  };
}

/** A connection with its outcomes so far. */
function connect(options: FrameConnectionOptions = {}) {
  const outcomes: Outcome[] = [];
  const onOutcome = (outcome: Outcome): void => void outcomes.push(outcome);
  const connection = new FrameConnection(address, { ...options, onOutcome });
  const count = async (expected: number): Promise<Outcome[]> => {
    await eventually(`${expected} outcomes`, () => outcomes.length >= expected);
    return outcomes;
  };
  return { connection, outcomes, count };
}

test('reads every reason, and OK', async () => {
  const reasons = Object.keys(ErrorReason)
    .filter((name) => name.startsWith('ERROR_REASON_'))
    .map((name) => name.replace('ERROR_REASON_', ''));
  const left = [...reasons];
  answerWith(() => left.shift());
  const { connection, count } = connect();
  for (let call = 0; call <= reasons.length; call += 1) connection.call(CALL);
  const all = await count(reasons.length + 1);
  expect([...all].sort()).toEqual([...reasons, 'OK'].sort());
  expect(connection.openCalls).toBe(0);
  connection.close();
});

test('sends more messages than the window of the connection, once the server has read the first', async () => {
  answerWith(() => undefined);
  const { connection, count } = connect();
  const calls = 5000;
  for (let call = 0; call < calls; call += 1) connection.call(CALL);
  expect(connection.writable).toBe(false);
  expect(new Set(await count(calls))).toEqual(new Set(['OK']));
  expect(connection.writable).toBe(true);
  connection.close();
});

test('resets a call in the same write, and a call that is open', async () => {
  const opened: ServerHttp2Stream[] = [];
  answer = (stream) => opened.push(stream.resume());
  const { connection, outcomes } = connect();
  connection.call({ ...CALL, reset: true });
  const stream = connection.call(CALL);
  await eventually('the call to arrive', () => opened.some(({ id }) => id === stream));
  expect(connection.reset(stream)).toBe(true);
  expect(connection.reset(stream)).toBe(false);
  await eventually('the reset to arrive', () => opened.every(({ rstCode }) => rstCode === 8));
  expect(outcomes).toEqual(['reset', 'reset']);
  connection.close();
});

test('keeps the server from sending a message, but not an answer without a message', async () => {
  const reasons = [undefined, 'CONTENDED'];
  answerWith(() => reasons.shift());
  const { connection, count } = connect({ reads: 'no-messages' });
  connection.call(CALL);
  connection.call(CALL);
  expect(await count(1)).toEqual(['CONTENDED']);
  expect(connection.openCalls).toBe(1);
  connection.close();
  expect(await count(2)).toEqual(['CONTENDED', 'no answer']);
});

test('leaves a call open that is not half-closed', async () => {
  let ended = false;
  let received = 0;
  answer = (stream) => {
    stream.on('data', (bytes: Buffer) => (received += bytes.length)).on('end', () => (ended = true));
  };
  const { connection } = connect();
  connection.call({ ...CALL, halfClose: false });
  await eventually('the message to arrive', () => received === CALL.body.length);
  expect(ended).toBe(false);
  connection.close();
});

test('tells of the end of its connection', async () => {
  answer = (stream) => stream.session?.destroy();
  let ended = 0;
  const { connection, count } = connect({ onEnd: () => (ended += 1) });
  connection.call(CALL);
  expect(await count(1)).toEqual(['connection ended']);
  expect([ended, connection.ended]).toEqual([1, true]);
});

test.each([126, 127, 128, 254, 255, 300, 8000])('sends a header of %i bytes', async (length) => {
  const value = 'x'.repeat(length);
  let received: unknown;
  answer = (stream) => stream.respond({ ...HEADERS, 'grpc-status': '0' }, { endStream: true });
  server.once('stream', (_stream, headers) => (received = headers['authorization']));
  const { connection, count } = connect();
  connection.call({ ...CALL, headers: [['authorization', value]] });
  expect(await count(1)).toEqual(['OK']);
  expect(received).toBe(value);
  connection.close();
});
