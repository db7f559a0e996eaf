import { setTimeout as sleep } from 'node:timers/promises';
import { status } from '@grpc/grpc-js';
import {
  AutocompleteServiceService,
  ImportDictionaryRequest,
} from '../../generated/typescript/holdfast/v1/autocomplete_service';
import { holdfastError } from '../../clients/typescript';
import { defaultAutocompleteLimits } from '../../src/engine/autocomplete/limits';
import { HoldfastError } from '../../src/engine/errors';
import { eventually } from '../support/eventually';
import { batch, commit, entries, entry, ImportCall, start } from './autocomplete-calls';
import { failureOf, Harness } from './harness';
import { frame, RawConnection } from './raw-call';

let harness: Harness;
beforeEach(async () => {
  harness = await Harness.start();
});
afterEach(() => harness.close());

const importing = () => new ImportCall(harness.completions());
const came = (verb: string) => eventually(`${verb} to come`, () => harness.autocomplete.verbs.includes(verb));

/** What the test lets go on, when it wants to. */
function gate() {
  let open: () => void = () => undefined;
  let refuse: (error: Error) => void = () => undefined;
  const passed = new Promise<void>((resolve, reject) => {
    open = resolve;
    refuse = reject;
  });
  return { passed, open: () => open(), refuse: (error: Error) => refuse(error) };
}

test('a batch is in the store before the next one is put', async () => {
  const first = gate();
  harness.autocomplete.onPut = () => first.passed;
  const call = importing();
  const answer = call.all(start, batch([entry()]), batch([entry()]), commit(2));
  await came('put');
  await sleep(50);
  expect(harness.autocomplete.verbs).toEqual(['startImport', 'put']);
  first.open();
  await answer;
  expect(harness.autocomplete.verbs).toEqual(['startImport', 'put', 'put', 'commit']);
});

test('a client that sends faster than the store takes it has to wait', async () => {
  const first = gate();
  harness.autocomplete.onPut = () => first.passed;
  const call = importing();
  call.send(start);
  // About 1 MB each: more than two of them fit into no window on the way.
  const large = batch(entries(1000).map((one) => ({ ...one, payload: Buffer.alloc(1000) })));
  let taken = 0;
  for (let sent = 0; sent < 12; sent++) call.stream.write({ part: large }, () => (taken += 1));
  await came('put');
  await sleep(300);
  // The one that is put, the one that is read ahead, and what the sockets hold.
  expect(taken).toBeLessThan(8);
  first.open();
  call.send(commit(12_000));
  call.stream.end();
  await call.answer;
  expect(taken).toBe(12);
});

test('a commit waits until it is certain that nothing follows', async () => {
  const call = importing();
  call.send(start);
  call.send(commit(0));
  await came('startImport');
  await sleep(50);
  expect(harness.autocomplete.verbs).toEqual(['startImport']);
  call.stream.end();
  await call.answer;
  expect(harness.autocomplete.verbs).toEqual(['startImport', 'commit']);
});

describe('is abandoned, and changes nothing,', () => {
  test('when the client cancels', async () => {
    const call = importing();
    call.send(start);
    call.send(batch([entry()]));
    await came('put');
    call.stream.cancel();
    await came('abandon');
    expect((await failureOf(call.answer)).code).toBe(status.CANCELLED);
    expect(harness.autocomplete.verbs).toEqual(['startImport', 'put', 'abandon']);
    expect(harness.logged).toEqual([]);
  });

  test('when the client cancels while a batch is put, and not before that is through', async () => {
    const first = gate();
    harness.autocomplete.onPut = () => first.passed;
    const call = importing();
    call.send(start);
    call.send(batch([entry()]));
    await came('put');
    call.stream.cancel();
    await failureOf(call.answer);
    await sleep(50);
    expect(harness.autocomplete.verbs).toEqual(['startImport', 'put']);
    first.open();
    await came('abandon');
    expect(harness.logged).toEqual([]);
  });

  test('when its deadline passes', async () => {
    const client = harness.completions();
    const failed = new Promise<number>((resolve) => {
      const stream = client.importDictionary({ deadline: Date.now() + 200 } as never, (error) =>
        resolve(error?.code ?? status.OK),
      );
      stream.write({ part: start });
    });
    expect(await failed).toBe(status.DEADLINE_EXCEEDED);
    await came('abandon');
    expect(harness.autocomplete.verbs).toEqual(['startImport', 'abandon']);
  });

  test('when its connection goes in the middle of it', async () => {
    const connection = new RawConnection(harness.target);
    const body = frame(ImportDictionaryRequest.encode({ part: start }).finish());
    void connection.call({ path: AutocompleteServiceService.importDictionary.path, body, halfClose: false });
    await came('startImport');
    connection.close();
    await came('abandon');
    expect(harness.autocomplete.verbs).toEqual(['startImport', 'abandon']);
  });

  test('when the engine refuses a batch, while the client still sends', async () => {
    harness.autocomplete.onPut = () =>
      Promise.reject(new HoldfastError('IMPORT_CONFLICT', 'another import won'));
    const call = importing();
    call.send(start);
    call.send(batch([entry()]));
    const error = await failureOf(call.answer);
    expect(error.code).toBe(status.ABORTED);
    expect(error.details).toBe('another import won [IMPORT_CONFLICT]');
    expect(harness.autocomplete.verbs).toEqual(['startImport', 'put', 'abandon']);
  });

  test('when nothing of it comes for too long, so that it keeps no place for ever', async () => {
    const impatient = await Harness.start({
      autocompleteLimits: { ...defaultAutocompleteLimits, maxImports: 1, maxImportIdleMs: 200 },
    });
    const client = impatient.completions();
    // A store that takes its time is not the client's fault.
    impatient.autocomplete.onPut = () => sleep(400);
    const call = new ImportCall(client);
    call.send(start);
    call.send(batch([entry()]));
    call.send(batch([entry()]));
    const error = await failureOf(call.answer);
    expect(holdfastError(error)).toMatchObject({ reason: 'QUOTA_EXCEEDED' });
    expect(error.details).toContain('nothing of the import came for 200 ms');
    expect(impatient.autocomplete.verbs).toEqual(['startImport', 'put', 'put', 'abandon']);
    await new ImportCall(client).all(start, commit(0));
    await impatient.close();
  });

  test('when the server drains, at once', async () => {
    const call = importing();
    call.send(start);
    await came('startImport');
    const drained = harness.drain(10_000);
    const error = await failureOf(call.answer);
    expect(error.code).toBe(status.UNAVAILABLE);
    expect(holdfastError(error)?.reason).toBe('DRAINING');
    await drained;
    expect(harness.autocomplete.verbs).toEqual(['startImport', 'abandon']);
  });
});

test('the server that drains still answers a commit that it has begun', async () => {
  const committing = gate();
  const { onCommit } = harness.autocomplete;
  harness.autocomplete.onCommit = (count) => committing.passed.then(() => onCommit(count));
  const answer = importing().all(start, commit(0));
  await came('commit');
  const drained = harness.drain(10_000);
  await eventually('the engine to drain', () => harness.autocomplete.drains === 1);
  committing.open();
  expect((await answer).dictionary?.name).toBe('towns');
  await drained;
  expect(harness.autocomplete.verbs).toEqual(['startImport', 'commit']);
});

test('a commit that the engine refuses is not abandoned too: it is over', async () => {
  harness.autocomplete.onCommit = () =>
    Promise.reject(new HoldfastError('INVALID_FIELD', 'commit.entry_count is 2, and 1 came'));
  const error = await failureOf(importing().all(start, batch([entry()]), commit(2)));
  expect(error.code).toBe(status.INVALID_ARGUMENT);
  expect(harness.autocomplete.verbs).toEqual(['startImport', 'put', 'commit']);
});

test('one that cannot start is not abandoned', async () => {
  harness.autocomplete.told.startImport = () =>
    Promise.reject(new HoldfastError('DICTIONARY_EXISTS', 'dictionary "towns" drops accents'));
  const error = await failureOf(importing().all(start, commit(0)));
  expect(error.code).toBe(status.ALREADY_EXISTS);
  expect(harness.autocomplete.verbs).toEqual(['startImport']);
});

test('more at a time than the server takes on are refused, until one ends', async () => {
  const { maxImports } = defaultAutocompleteLimits;
  const open = Array.from({ length: maxImports }, () => importing());
  for (const call of open) call.send(start);
  await eventually('all of them to start', () => harness.autocomplete.asked.length === maxImports);
  const error = await failureOf(importing().all(start, commit(0)));
  expect(error.code).toBe(status.RESOURCE_EXHAUSTED);
  expect(holdfastError(error)?.reason).toBe('QUOTA_EXCEEDED');
  expect(error.details).toContain('16 imports');
  await open[0]!.all(commit(0));
  await importing().all(start, commit(0));
});
