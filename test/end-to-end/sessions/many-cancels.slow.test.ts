import { cancel, lock, release, SessionStream } from '../../support/clients/session-stream';
import { eventually } from '../../support/eventually';
import { ServerPair } from '../server-pair';

const WAITS = 10_000;
const IN_MESSAGE = 1000;
const PATIENCE = { timeoutMs: 120_000 };

let pair: ServerPair;
let one: SessionStream;

beforeAll(async () => {
  // Half a second for a command is short for ten thousand withdrawals on a busy machine.
  pair = await ServerPair.start({ HOLDFAST_COMMAND_TIMEOUT: '500ms' });
  one = new SessionStream(pair.first.address);
});
afterAll(async () => {
  one?.close();
  await pair?.close();
});

test('ten thousand waits that are cancelled at once all end with cancelled, and the lease of the same session continues', async () => {
  const holder = new SessionStream(pair.second.address);
  const blocking = holder.run(lock('crowded', { ttlMs: 120_000 }));
  await holder.event(blocking, 'granted');
  const held = one.run(lock('beside', { ttlMs: 20_000 }));
  await one.event(held, 'granted');
  const ids: number[] = [];
  for (let sentCount = 0; sentCount < WAITS; sentCount += IN_MESSAGE) {
    const waits = Array.from({ length: IN_MESSAGE }, () => lock('crowded', { ttlMs: 20_000 }));
    const first = one.run(...waits);
    ids.push(...waits.map((_, index) => first + index));
  }
  const observer = pair.second.client();
  await eventually(
    'a long queue',
    async () => (await observer.get('crowded')).waiterCount > WAITS / 2,
    PATIENCE,
  );
  for (let at = 0; at < WAITS; at += IN_MESSAGE) one.run(...ids.slice(at, at + IN_MESSAGE).map(cancel));
  const ends = () =>
    one.events.filter(({ event }) => event.$case === 'cancelled' || event.$case === 'failed');
  await eventually('the end of every wait', () => ends().length === WAITS, PATIENCE);
  const unknown = ends().filter(
    ({ event }) => event.$case === 'failed' && event.value.reasonText === 'OUTCOME_UNKNOWN',
  );
  expect(unknown).toEqual([]);
  expect((await observer.get('crowded')).waiterCount).toBe(0);
  const releasing = one.run(release(held));
  expect(await one.event(releasing, 'released')).toMatchObject({ released: true });
  holder.close();
}, 240_000);
