import { SessionEndCause } from '../../../generated/typescript/holdfast/v1/session_service';
import { lock } from '../../support/clients/session-stream';
import { ConversationFixture } from './conversation-fixture';

/** Events that wait for a client that reads slowly, and the causes of ends. */

let one: ConversationFixture;
beforeEach(async () => {
  one = new ConversationFixture();
  await one.start();
});
afterEach(() => one.close());

const say = (position: number): void =>
  one.engine.takes[0]?.owner.send({
    kind: 'queued',
    requestId: '',
    position,
    waiterCount: 9,
    holder: undefined,
  });

/** The client stops reading, and the answer to a heartbeat fills the stream. */
async function stopReading(): Promise<void> {
  one.stream.reads = false;
  await one.heartbeat();
}

async function readOn(): Promise<void> {
  one.stream.read();
  await one.turns();
}

test('a client that reads slowly gets the latest position, once', async () => {
  await one.run(lock('a'));
  say(9);
  await one.turns();
  await stopReading();
  for (const position of [8, 7, 5]) say(position);
  await readOn();
  const positions = one.events.map(({ event }) => event?.$case === 'queued' && event.value.position);
  expect(positions).toEqual([9, 5]);
});

test('a position that was not sent is dropped when the grant comes', async () => {
  const first = await one.run(lock('a'));
  await stopReading();
  say(2);
  await one.engine.takes[0]?.grant({ sentAt: one.clock.now(), remainingMs: 30_000 });
  await readOn();
  expect(one.kinds(first)).toEqual(['granted']);
});

test.each([
  ['expired', SessionEndCause.SESSION_END_CAUSE_EXPIRED],
  ['revoked', SessionEndCause.SESSION_END_CAUSE_REVOKED],
  ['store-reset', SessionEndCause.SESSION_END_CAUSE_STORE_RESET],
  ['store-unavailable', SessionEndCause.SESSION_END_CAUSE_STORE_UNAVAILABLE],
] as const)('a lease that was lost as %s ends with that cause', async (cause, expected) => {
  await one.hold();
  one.held[0]?.owner.send({ kind: 'lost', cause });
  await one.turns();
  expect(one.events.at(-1)?.event).toEqual({ $case: 'ended', value: { cause: expected } });
});
