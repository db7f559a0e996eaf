import { addressOf } from '../../src/base/callers';
import { SampledLines } from '../../src/base/sampled-lines';
import { ManualClock } from '../support/manual-clock';

interface Line {
  readonly fields: object;
  readonly message: string;
}

function started() {
  const clock = new ManualClock(1000);
  const lines: Line[] = [];
  const ignore = (): void => undefined;
  const warn = (fields: object, message: string): void => void lines.push({ fields, message });
  const log = { debug: ignore, info: ignore, error: ignore, warn };
  const bounds = { intervalMs: 1000, linesOfKey: 5, keys: 20 };
  const samples = new SampledLines(log, clock, bounds, 'refused more credentials');
  const write = (peer: string, fields: () => object): void => {
    const address = addressOf(peer);
    const counted = (isSeveral: boolean) => ({ peer: isSeveral ? 'several addresses' : address });
    samples.add(address, counted, () => warn({ ...fields(), peer }, 'refused a credential'));
  };
  return { clock, lines, log: { write, close: () => samples.close() } };
}

test('a flood of refusals costs 5 lines a second, and a line with the number of the others without further calls', async () => {
  const { clock, lines, log } = started();
  const made = jest.fn(() => ({ reason: 'BAD_CREDENTIAL' }));
  for (let count = 0; count < 1000; count += 1) log.write(`10.0.0.7:${count}`, made);
  expect(lines).toHaveLength(5);
  expect(lines[4]).toEqual({
    fields: { reason: 'BAD_CREDENTIAL', peer: '10.0.0.7:4' },
    message: 'refused a credential',
  });
  // The fields of a suppressed line are not made.
  expect(made).toHaveBeenCalledTimes(5);
  await clock.advance(1000);
  expect(lines.slice(5)).toEqual([
    { fields: { peer: '10.0.0.7', suppressed: 995 }, message: 'refused more credentials' },
  ]);
  log.write('10.0.0.7:1', made);
  await clock.advance(5000);
  expect(lines).toHaveLength(7);
});

test('a flood from one address does not hide the refusals of another address', () => {
  const { lines, log } = started();
  for (let count = 0; count < 1000; count += 1) log.write('10.0.0.7:1', () => ({}));
  log.write('[2001:db8::1]:2', () => ({}));
  expect(lines.at(-1)?.fields).toEqual({ peer: '[2001:db8::1]:2' });
  log.close();
});

test('many addresses share their lines', async () => {
  const { clock, lines, log } = started();
  for (let count = 0; count < 500; count += 1) log.write(`10.0.${count >> 8}.${count & 255}:1`, () => ({}));
  expect(lines).toHaveLength(25);
  await clock.advance(1000);
  expect(lines.slice(25).map(({ fields }) => fields)).toEqual([
    { peer: 'several addresses', suppressed: 475 },
  ]);
});

test('close writes the numbers that are left', () => {
  const { lines, log } = started();
  for (let count = 0; count < 7; count += 1) log.write('unix:/run/holdfast', () => ({}));
  log.close();
  expect(lines.at(-1)?.fields).toEqual({ peer: 'unix:/run/holdfast', suppressed: 2 });
});
