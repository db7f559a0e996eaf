import { connect, constants, type ClientHttp2Session, type ClientHttp2Stream } from 'node:http2';
import {
  OpenSessionRequest,
  SessionServiceService,
} from '../../../generated/typescript/holdfast/v1/session_service';
import { eventually } from '../../support/eventually';
import { release } from '../../support/clients/session-stream';
import { Harness } from '../harness';
import { frame } from '../raw-call';
import { sessionStart } from '../session-calls';

/** A client of a session that reads nothing, on a real connection. */

let harness: Harness;
let connection: ClientHttp2Session;
beforeEach(async () => {
  harness = await Harness.start({ sessionLimits: { heartbeatTimeoutMs: 300 } });
  connection = connect(`http://${harness.target}`).on('error', () => undefined);
});
afterEach(async () => {
  connection.destroy();
  await harness.close();
});

function open(): ClientHttp2Stream {
  const stream = connection.request({
    ':method': 'POST',
    ':path': SessionServiceService.openSession.path,
    'content-type': 'application/grpc',
    te: 'trailers',
  });
  stream.on('error', () => undefined);
  send(stream, sessionStart);
  return stream;
}

function send(stream: ClientHttp2Stream, fields: Partial<OpenSessionRequest>): void {
  const message = { ...OpenSessionRequest.create(), ...fields };
  if (!stream.destroyed) stream.write(frame(OpenSessionRequest.encode(message).finish()));
}

/** Asks for more answers than the window of the stream takes. */
function ask(stream: ClientHttp2Stream): void {
  const command = release(1_000_000);
  const commands = Array.from({ length: 900 }, (_, index) => ({ commandId: BigInt(index + 1), command }));
  send(stream, { commands });
}

function beat(stream: ClientHttp2Stream): NodeJS.Timeout {
  let id = 1n;
  return setInterval(() => send(stream, { heartbeatId: (id += 1n) }), 10);
}

test.each([
  ['and sends heartbeats', true],
  ['and has fallen silent', false],
])(
  'the stream of a client that reads nothing %s is reset, and other streams of the connection continue',
  async (_, beats) => {
    const [unread, other] = [open(), open()];
    other.resume();
    ask(unread);
    const timers = [beat(other), ...(beats ? [beat(unread)] : [])];
    try {
      await eventually('the end of the stream', () => unread.destroyed);
    } finally {
      timers.forEach((timer) => clearInterval(timer));
    }
    expect(unread.rstCode).toBe(constants.NGHTTP2_CANCEL);
    expect(other.destroyed).toBe(false);
  },
);
