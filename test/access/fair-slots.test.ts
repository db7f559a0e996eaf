import { Lanes, Slots } from '../../src/flow/lanes';
import { settled } from '../support/manual-clock';

/** Work that ends when the test says so. */
class Works {
  readonly begun: string[] = [];
  private readonly ends = new Map<string, (error?: Error) => void>();

  private readonly lanes: Lanes;

  constructor(
    private readonly slots: Slots,
    atOnce: number,
  ) {
    this.lanes = new Lanes(atOnce);
  }

  start(connection: object, name: string): Promise<string> {
    const work = (): Promise<string> => {
      this.begun.push(name);
      return new Promise((resolve, reject) => {
        this.ends.set(name, (error) => (error ? reject(error) : resolve(name)));
      });
    };
    return this.slots.use(connection, () => this.lanes.run(connection, work));
  }

  async end(name: string, error?: Error): Promise<void> {
    this.ends.get(name)?.(error);
    await settled();
  }
}

const flood = {};
const other = {};

test('a connection with one piece of work waits behind few pieces of a flood', async () => {
  const works = new Works(new Slots(100, 64), 2);
  const all = Array.from({ length: 20 }, (_, index) => works.start(flood, `flood-${index}`));
  const one = works.start(other, 'other');
  await settled();
  expect(works.begun).toEqual(['flood-0', 'flood-1']);
  await works.end('flood-0');
  await works.end('flood-1');
  await works.end('flood-2');
  expect(works.begun).toContain('other');
  await works.end('other');
  expect(await one).toBe('other');
  for (let index = 3; index < 20; index += 1) await works.end(`flood-${index}`);
  expect(await Promise.all(all)).toHaveLength(20);
});

test('failed work passes its place on, and the places are free again after all work', async () => {
  const works = new Works(new Slots(100, 64), 1);
  const first = works.start(flood, 'first').catch((error: Error) => error.message);
  const second = works.start(flood, 'second');
  await settled();
  await works.end('first', new Error('failed'));
  expect(await first).toBe('failed');
  expect(works.begun).toEqual(['first', 'second']);
  await works.end('second');
  await second;
  void works.start(other, 'third');
  await settled();
  expect(works.begun.at(-1)).toBe('third');
});

test('work above a bound is refused with OVERLOADED, and does not begin', async () => {
  const works = new Works(new Slots(3, 2), 1);
  void works.start(flood, 'a');
  void works.start(flood, 'b');
  await expect(works.start(flood, 'c')).rejects.toMatchObject({ reason: 'OVERLOADED' });
  void works.start(other, 'd');
  await expect(works.start({}, 'e')).rejects.toMatchObject({ reason: 'OVERLOADED' });
  expect(works.begun).toEqual(['a']);
});
