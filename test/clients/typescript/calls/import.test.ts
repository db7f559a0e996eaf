import { Metadata, status, type handleClientStreamingCall, type ServerReadableStream } from '@grpc/grpc-js';
import { UnavailableError, type Entry } from '../../../../clients/typescript';
import { DictionaryClient } from '../../../../clients/typescript/autocomplete/dictionary';
import { CallChannel } from '../../../../clients/typescript/calls/call-channel';
import { Servers } from '../../../../clients/typescript/connection/servers';
import {
  Dictionary,
  type ImportDictionaryRequest,
  type ImportDictionaryResponse,
} from '../../../../generated/typescript/holdfast/v1/autocomplete_service';
import { eventually } from '../../../support/eventually';
import { StubServer } from './stub-server';

const BATCHES = 40;
/** The entries of a batch: 1 MiB. */
const BATCH = 1000;

let isReading = false;
let waiting: ServerReadableStream<ImportDictionaryRequest, ImportDictionaryResponse> | undefined;
let server: StubServer;
let channel: CallChannel;

const importDictionary: handleClientStreamingCall<ImportDictionaryRequest, ImportDictionaryResponse> = (
  call,
  reply,
) => {
  call.on('error', () => undefined);
  call.on('end', () => reply(null, { dictionary: Dictionary.create({ name: 'towns' }) }));
  waiting = call;
  if (isReading) call.resume();
};

beforeEach(async () => {
  isReading = false;
  waiting = undefined;
  server = await StubServer.start({ importDictionary });
  channel = new CallChannel({ servers: new Servers([server.address]) });
});
afterEach(() => {
  channel.close();
  server.close();
});

test('an import reads its source only as fast as the server reads', async () => {
  let read = 0;
  async function* source(): AsyncGenerator<Entry> {
    const payload = Buffer.alloc(1024);
    for (; read < BATCHES * BATCH; read++) yield { id: `id ${read}`, text: 'town', payload };
  }
  const importing = new DictionaryClient(channel, 'towns').import(source());
  await eventually('the stream', () => waiting);
  let last = -1;
  // The source stands still while the server reads nothing.
  await eventually('the source to stand still', () => last === (last = read) && read > 0, { everyMs: 1000 });
  expect(read).toBeLessThan(6 * BATCH);
  waiting?.resume();
  expect((await importing).name).toBe('towns');
  expect(read).toBe(BATCHES * BATCH);
});

test('an import ends with the reason of an aborted signal, and after its timeout', async () => {
  const towns = new DictionaryClient(channel, 'towns');
  async function* endless(): AsyncGenerator<Entry> {
    for (let n = 0; ; n++) yield { id: `id ${n}`, text: 'town', payload: Buffer.alloc(1024) };
  }
  await expect(towns.import(endless(), { timeout: 300 })).rejects.toThrow(UnavailableError);
  const abort = new AbortController();
  const importing = towns.import(endless(), { signal: abort.signal });
  abort.abort(new Error('enough'));
  await expect(importing).rejects.toThrow('enough');
});

test('an import ends with the very error of its source, although another gRPC service has failed', async () => {
  isReading = true;
  const facts = { code: status.UNAVAILABLE, details: 'the other service is down', metadata: new Metadata() };
  const failure = Object.assign(new Error(facts.details), facts);
  async function* failing(): AsyncGenerator<Entry> {
    await eventually('the stream', () => waiting);
    throw failure;
  }
  const importing = new DictionaryClient(channel, 'towns').import(failing());
  expect(await importing.catch((error: unknown) => error)).toBe(failure);
});
