import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { promisify } from 'node:util';
import { Ledger } from '../../examples/worker-typescript/ledger';
import { eventually } from '../support/eventually';
import { builtFile } from './launchers';
import { scratchFolder } from '../support/scratch-folder';

const run = promisify(execFile);
const LEDGER_MODULE = builtFile('examples', 'worker-typescript', 'ledger.js');
const WRITER = join(__dirname, 'ledger-writer.cjs');

/** This token is higher than every token of ledger-writer.cjs. */
const HIGHER = 2n ** 52n;

let scratch: string;
let folder: string;

beforeEach(() => {
  scratch = scratchFolder();
  folder = join(scratch, 'in', 'ledger');
});

test('the ledger keeps the highest token of a write, and refuses every lower token', () => {
  const ledger = new Ledger(folder);
  expect(ledger.last()).toBeUndefined();
  expect(ledger.write(7n, 'alice', 'one')).toEqual({ accepted: true });
  expect(ledger.write(7n, 'alice', 'two')).toEqual({ accepted: true });
  expect(ledger.write(1763636400123456n, 'bob', 'three')).toEqual({ accepted: true });
  expect(ledger.write(7n, 'alice', 'late')).toEqual({ accepted: false, newerToken: 1763636400123456n });
  expect(new Ledger(folder).last()).toMatchObject({ token: 1763636400123456, worker: 'bob', note: 'three' });
  expect(new Ledger(folder).write(1763636400123455n, 'alice', 'late')).toMatchObject({ accepted: false });
});

test('the ledger keeps only the folder of the highest token, and no other file', async () => {
  const ledger = new Ledger(folder);
  for (let token = 1n; token <= 60n; token++) ledger.write(token, 'alice', 'step');
  ledger.write(3n, 'bob', 'late');
  expect(await readdir(folder)).toEqual(['60']);
  expect(await readdir(join(scratch, 'in'))).toEqual(['ledger']);
});

test('the ledger refuses a folder that is not a ledger', async () => {
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'notes.txt'), '');
  expect(() => new Ledger(folder).write(1n, 'alice', 'step')).toThrow('is not a ledger');
});

interface WriteRecord {
  readonly token: number;
  readonly begun: bigint;
  readonly over: bigint;
  readonly accepted: boolean;
}

/** Returns the accepted writes that began after the end of an accepted write with a higher token. */
function tooLate(records: readonly WriteRecord[]): WriteRecord[] {
  const accepted = records.filter((record) => record.accepted);
  const byEnd = [...accepted].sort((a, b) => Number(a.over - b.over));
  const byBegin = [...accepted].sort((a, b) => Number(a.begun - b.begun));
  let highest = 0;
  let ended = 0;
  return byBegin.filter(({ begun, token }) => {
    for (let next = byEnd[ended]; next && next.over < begun; next = byEnd[++ended]) {
      highest = Math.max(highest, next.token);
    }
    return token < highest;
  });
}

function parseRecords(text: string): WriteRecord[] {
  return (JSON.parse(text) as Record<keyof WriteRecord, never>[]).map((record) => ({
    token: record.token,
    begun: BigInt(record.begun),
    over: BigInt(record.over),
    accepted: record.accepted,
  }));
}

test('tooLate() finds a write that began after the end of a write with a higher token', () => {
  const record = (token: number, begun: bigint, over: bigint): WriteRecord => ({
    token,
    begun,
    over,
    accepted: true,
  });
  expect(tooLate([record(1, 0n, 1n), record(3, 2n, 5n), record(2, 4n, 8n)])).toEqual([]);
  expect(tooLate([record(1, 0n, 1n), record(3, 2n, 5n), record(2, 6n, 8n)])).toMatchObject([{ token: 2 }]);
});

test('the ledger accepts no write of four processes after a write with a higher token', async () => {
  const writers = [1, 2, 3, 4].map((writer) =>
    run(process.execPath, [WRITER, LEDGER_MODULE, folder, String(writer), '150'], { maxBuffer: 1e7 }),
  );
  let running = true;
  const finished = Promise.all(writers).finally(() => (running = false));
  const seen: number[] = [];
  while (running) {
    seen.push(new Ledger(folder).last()?.token ?? 0);
    await setImmediate();
  }
  const records = (await finished).flatMap(({ stdout }) => parseRecords(stdout));
  expect(records).toHaveLength(600);
  expect(tooLate(records)).toEqual([]);
  expect(seen).toEqual([...seen].sort((a, b) => a - b));
  // The numbers show that the four processes wrote at the same time.
  expect(new Set(seen).size).toBeGreaterThan(10);
  expect(records.filter(({ accepted }) => accepted).length).toBeGreaterThan(20);
  expect(records.filter(({ accepted }) => !accepted).length).toBeGreaterThan(20);
});

test('the ledger accepts writes while another writer is paused or killed at any point', async () => {
  for (let round = 1; round <= 8; round++) {
    const writer = spawn(process.execPath, [WRITER, LEDGER_MODULE, folder, '1', '1000000'], {
      stdio: 'ignore',
    });
    const exited = once(writer, 'exit');
    try {
      const before = new Ledger(folder).last()?.time ?? 0;
      await eventually('the writer to write', () => (new Ledger(folder).last()?.time ?? 0) > before);
      writer.kill('SIGSTOP');
      const token = HIGHER + BigInt(round);
      expect(new Ledger(folder).write(token, 'bob', 'step')).toEqual({ accepted: true });
      writer.kill('SIGCONT');
      expect(new Ledger(folder).write(token, 'bob', 'step')).toEqual({ accepted: true });
      expect(new Ledger(folder).last()).toMatchObject({ token: Number(token) });
    } finally {
      writer.kill('SIGKILL');
      await exited;
    }
    await rm(folder, { recursive: true });
  }
});
