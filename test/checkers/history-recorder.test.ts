import { execFileSync } from 'node:child_process';
import { appendFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { EventBody, Micros } from '../support/history';
import {
  FileSink,
  hashLeaseId,
  MemorySink,
  mergeHistories,
  monotonicMicros,
  readHistory,
  readHistoryFile,
  Recorder,
} from '../support/history-recorder';
import { scratchFolder } from '../support/scratch-folder';

let folder: string;

beforeEach(() => {
  folder = scratchFolder();
});

function killed(client: string): EventBody {
  return { type: 'killed', client };
}

describe('the clock of histories', () => {
  it('is the same in every process of a machine', () => {
    const before = monotonicMicros();
    const script = 'process.stdout.write(String(process.hrtime.bigint() / 1000n))';
    const there = Number(execFileSync(process.execPath, ['-e', script], { encoding: 'utf8' }));
    expect(there).toBeGreaterThan(before);
    expect(there).toBeLessThan(monotonicMicros());
  });
});

describe('Recorder', () => {
  it('adds the source, the sequence number and the time to an event, and prefers a given time', () => {
    let now: Micros = 100;
    const recorder = new Recorder('a', new MemorySink(), () => now);
    expect(recorder.record(killed('x'))).toEqual({
      type: 'killed',
      client: 'x',
      at: 100,
      source: 'a',
      seq: 1,
    });
    now = 200;
    expect(recorder.record(killed('y'), 150)).toMatchObject({ at: 150, seq: 2 });
  });

  it('writes an event to the file before record() returns', () => {
    const path = join(folder, 'a.jsonl');
    const sink = new FileSink(path);
    const event = new Recorder('a', sink).record(killed('x'));
    expect(JSON.parse(readFileSync(path, 'utf8'))).toEqual(event);
    sink.close();
  });
});

describe('the histories of several processes', () => {
  it('are merged by time, and keep the order of each source', () => {
    const times = { a: [1, 5, 5], b: [2, 5, 9] };
    const histories = Object.entries(times).map(([source, instants]) => {
      const sink = new MemorySink();
      const recorder = new Recorder(source, sink);
      instants.forEach((at, index) => recorder.record(killed(`${source}${index}`), at));
      return sink.events;
    });
    const clients = mergeHistories(...histories).map((event) => 'client' in event && event.client);
    expect(clients).toEqual(['a0', 'b0', 'a1', 'a2', 'b1', 'b2']);
  });

  it('are read from files without an incomplete last line', () => {
    const paths = ['a', 'b'].map((source) => {
      const path = join(folder, `${source}.jsonl`);
      const sink = new FileSink(path);
      new Recorder(source, sink).record(killed(source), source === 'a' ? 2 : 1);
      sink.close();
      appendFileSync(path, '{"at":3,"sour');
      return path;
    });
    expect(readHistory(paths).map((event) => event.source)).toEqual(['b', 'a']);
  });

  it('are refused with the line number of a damaged line', () => {
    const path = join(folder, 'a.jsonl');
    appendFileSync(path, '{"at":3,"sour\n{}\n');
    expect(() => readHistoryFile(path)).toThrow('a.jsonl:1 is not an event');
  });
});

it('hashLeaseId makes different names of 16 hex digits from different lease ids', () => {
  expect(hashLeaseId('lease')).toMatch(/^[0-9a-f]{16}$/);
  expect(hashLeaseId('lease')).not.toBe(hashLeaseId('Lease'));
});
