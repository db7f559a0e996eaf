import { leaseLibrary, libraryNote } from '../../generated/redis/scripts';
import { argumentCounts, isScript, operationsOf, scriptCalls } from './redis-operations';

const command = (name: string, ...args: string[]) => ({ name, args });
const SHARED = ['s1', '60000', 'an epoch', '0'];
const call = (...args: string[]) =>
  command('FCALL', 'name_grow', '3', 'one', 'other', 'epoch', ...SHARED, ...args);

describe('the operations of a command', () => {
  it('are all that a call of the library names, each with its key and its arguments', () => {
    expect(
      operationsOf(call('2', 'release', '1', 'id', 'secret', 'attach', '', 'touch', '1', '["id"]')),
    ).toEqual([
      { name: 'release', key: 'one', args: ['id', 'secret', 'attach', ''] },
      { name: 'touch', key: 'other', args: ['["id"]'] },
    ]);
  });

  it('can be read for each operation of the library', () => {
    const names = [...argumentCounts(leaseLibrary).keys()];
    expect(names.length).toBeGreaterThan(10);
    for (const name of names)
      expect(operationsOf(call('1', name, '1', 'a'))).toMatchObject([{ name, key: 'one' }]);
    expect(() => operationsOf(call('1', 'other', '1', 'a'))).toThrow('the library has no operation "other"');
  });

  it('are none if the command calls no function', () => {
    expect(operationsOf(command('EVALSHA', 'hash', '1', 'one', 'release'))).toEqual([]);
  });
});

it('a note about libraries is no script', () => {
  expect(isScript(call('1', 'touch', '1', '[]'))).toBe(true);
  expect(isScript(command('EVALSHA', 'hash', '0'))).toBe(true);
  expect(isScript(command('EVAL', 'return 1', '0'))).toBe(true);
  expect(isScript(command('EVAL', libraryNote, '1', 'key', 'name'))).toBe(false);
  expect(isScript(command('GET', 'key'))).toBe(false);
});

it('scripts that run by their hash and calls of the library count as scripts, and texts of scripts do not', () => {
  const stats = [
    'evalsha:calls=5,usec=9',
    'fcall:calls=7,usec=8',
    'eval:calls=1,usec=2',
    'get:calls=3,usec=1',
  ];
  expect(scriptCalls(stats.map((one) => `cmdstat_${one}\r\n`).join(''))).toBe(12);
  expect(scriptCalls('')).toBe(0);
});
