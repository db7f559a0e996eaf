import { existsSync, mkdirSync, readFileSync, rmdirSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { BoundedLog } from '../../src/dev/child-supervisor-main';
import { scratchFolder } from '../support/scratch-folder';

describe('BoundedLog', () => {
  it('never takes more disk space than twice its limit, and keeps the latest lines', () => {
    const file = join(scratchFolder(), 'a', 'redis.log');
    const log = new BoundedLog(file, 1_000);
    for (let i = 0; i < 500; i++) log.write(Buffer.from(`line ${i}\n`));
    expect(statSync(file).size + statSync(`${file}.1`).size).toBeLessThanOrEqual(2_000);
    expect(readFileSync(file, 'utf8')).toMatch(/line 499\n$/);
  });

  it('appends to the file of an earlier run', () => {
    const file = join(scratchFolder(), 'redis.log');
    new BoundedLog(file, 1_000).write(Buffer.from('one\n'));
    new BoundedLog(file, 1_000).write(Buffer.from('two\n'));
    expect(readFileSync(file, 'utf8')).toBe('one\ntwo\n');
  });

  it('keeps the output in memory while the file cannot be written, and writes it as soon as possible', () => {
    const file = join(scratchFolder(), 'redis.log');
    // A folder in place of the file makes every write fail.
    mkdirSync(file);
    const log = new BoundedLog(file, 1_000_000);
    log.write(Buffer.from('No space left on device\n'));
    log.write(Buffer.from('Exiting\n'));
    rmdirSync(file);
    log.write(Buffer.from('Starting\n'));
    expect(readFileSync(file, 'utf8')).toBe('No space left on device\nExiting\nStarting\n');
  });

  it('keeps the last 64 KiB of the output while the file cannot be written, and tells how much was lost', () => {
    const file = join(scratchFolder(), 'redis.log');
    mkdirSync(file);
    const log = new BoundedLog(file, 1_000_000);
    const lines = Array.from({ length: 20_000 }, (_, n) => `line ${n}\n`);
    for (const line of lines) log.write(Buffer.from(line));
    rmdirSync(file);
    log.write(Buffer.from('end\n'));
    const [note = '', ...rest] = readFileSync(file, 'utf8').split('\n');
    const lost = Number(/^\[(\d+) bytes are missing here/.exec(note)?.[1]);
    const kept = rest.join('\n');
    expect(lost + kept.length).toBe(lines.join('').length + 'end\n'.length);
    expect(kept.length).toBe(64 * 1024 + 'end\n'.length);
    expect(kept.endsWith('line 19999\nend\n')).toBe(true);
  });

  (existsSync('/dev/full') ? it : it.skip)('does not throw when the disk is full', () => {
    const log = new BoundedLog('/dev/full', 10_000_000);
    for (let n = 0; n < 100; n += 1) expect(() => log.write(Buffer.alloc(10_000))).not.toThrow();
  });

  it('does not throw when its folder has been removed', () => {
    const file = join(scratchFolder(), 'redis.log');
    const log = new BoundedLog(file, 10);
    rmSync(dirname(file), { recursive: true });
    expect(() => log.write(Buffer.from('longer than the limit\n'))).not.toThrow();
  });
});
