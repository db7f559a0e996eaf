import { InvalidRequestError, type MatchKind } from '../../../../clients/typescript';
import { DictionaryClient } from '../../../../clients/typescript/autocomplete/dictionary';
import { RecentsClient } from '../../../../clients/typescript/autocomplete/recents';
import { CallChannel } from '../../../../clients/typescript/calls/call-channel';
import { Servers } from '../../../../clients/typescript/connection/servers';
import { ElectionClient } from '../../../../clients/typescript/election';

// No server has this address, so a call that is sent is an UnavailableError.
const channel = new CallChannel({ servers: new Servers(['127.0.0.1:1']) });
afterAll(() => channel.close());

const towns = new DictionaryClient(channel, 'towns');
const recents = new RecentsClient(channel, 'user-7');
const short = { timeout: 500 };

test.each<[string, () => Promise<unknown>]>([
  ['limit', () => towns.suggest('b', { ...short, limit: 1.5 })],
  ['limit', () => towns.suggest('b', { ...short, limit: null as unknown as number })],
  ['matchKinds', () => towns.suggest('b', { ...short, matchKinds: ['SOUNDS_LIKE' as MatchKind] })],
  ['matchKinds', () => towns.suggest('b', { ...short, matchKinds: 'TYPO' as unknown as MatchKind[] })],
  ['recents', () => towns.suggest('b', { ...short, recents: 7 as unknown as string })],
  ['maxStaleness', () => towns.suggest('b', { ...short, maxStaleness: NaN })],
  ['count', () => towns.recordSelection('b', { ...short, count: 1.5 })],
  ['accents', () => towns.create({ ...short, profile: { accents: 'removed' as 'dropped' } })],
  ['typos', () => towns.create({ ...short, profile: { typos: 'no' as unknown as boolean } })],
  ['weight of "b"', () => towns.put([{ id: 'b', text: 'Bonn', weight: 1.5 }], short)],
  ['weight of "b"', () => towns.put([{ id: 'b', text: 'Bonn', weight: 2n ** 63n }], short)],
  ['timeout', () => towns.info({ timeout: 0 })],
  ['timeout', () => towns.import([], { timeout: '0s' })],
  ['limit', () => recents.suggest('b', { ...short, limit: -1 })],
  ['capacity', () => recents.add('b', { ...short, capacity: 2 ** 31 })],
])('a wrong %s is an InvalidRequestError, and nothing is sent', async (option, call) => {
  const calling = call();
  await expect(calling).rejects.toThrow(InvalidRequestError);
  await expect(calling).rejects.toThrow(`${option} must be`);
});

test.each<[string, (name: string) => unknown]>([
  ['a dictionary', (name) => new DictionaryClient(channel, name)],
  ['a list of recents', (name) => new RecentsClient(channel, name)],
  [
    'an election',
    (name) =>
      new ElectionClient(
        name,
        { lock: () => Promise.reject(new Error()), handle: (lease) => lease },
        channel,
      ),
  ],
])('%s needs a text as its name', (_, make) => {
  expect(() => make(undefined as unknown as string)).toThrow(InvalidRequestError);
  expect(() => make('caf\ud83d')).toThrow(InvalidRequestError);
});

test('`lead` needs a function as its last argument, and otherwise acquires nothing', async () => {
  const lock = jest.fn(() => Promise.reject(new Error('acquired')));
  const election = new ElectionClient('scheduler', { lock, handle: (lease) => lease }, channel);
  const lead = election.lead.bind(election) as (...given: unknown[]) => Promise<unknown>;
  const work = () => undefined;
  for (const given of [[], [{}], [{}, 5], [work, { wait: 5 }]]) {
    await expect(lead('a:1', ...given)).rejects.toThrow('the last argument must be a function');
  }
  expect(lock).not.toHaveBeenCalled();
});
