import { readFileSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { BoundedLog } from '../../src/dev/bounded-log';
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

  it('does not throw when its folder has been removed', () => {
    const file = join(scratchFolder(), 'redis.log');
    const log = new BoundedLog(file, 10);
    rmSync(dirname(file), { recursive: true });
    expect(() => log.write(Buffer.from('longer than the limit\n'))).not.toThrow();
  });
});
