import { RefusalLog } from '../../src/transport/access/refusal-log';
import { ManualClock } from '../support/manual-clock';

test('a flood of refusals costs 5 lines a second, and no refusal is left uncounted', async () => {
  const clock = new ManualClock(1000);
  const lines: { suppressed?: number }[] = [];
  const ignore = (): void => undefined;
  const warn = (fields: object): void => void lines.push(fields);
  const log = new RefusalLog({ debug: ignore, info: ignore, error: ignore, warn }, clock);
  const made = jest.fn(() => ({}));
  for (let count = 0; count < 1000; count += 1) log.write(made);
  expect(lines).toHaveLength(5);
  // The fields of a suppressed line are not made.
  expect(made).toHaveBeenCalledTimes(5);
  await clock.advance(1000);
  log.write(made);
  expect(lines[5]).toEqual({ suppressed: 995 });
  log.write(made);
  expect(lines[6]).toEqual({});
});
