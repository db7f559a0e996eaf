import { builtExample } from './example-languages';
import { ExampleProcess } from './example-process';

const PROGRAM = builtExample('marketplace', 'marketplace.js');
const SMALL = ['--buyers', '4', '--sellers', '2', '--processes', '2', '--items', '2000'];

export const EXIT = { passed: 0, failed: 1, usage: 2 } as const;

/** Starts the marketplace with few traders and 2,000 items. */
export function startMarketplace(...args: readonly string[]): Promise<ExampleProcess> {
  return ExampleProcess.start(PROGRAM, [...SMALL, ...args]);
}

/** Matches the line of a passed audit. The first group is the number of sales. */
export const passedAudit = (strategy: string): RegExp =>
  new RegExp(
    `^audit ${strategy} +ok: ([\\d,]+) sold, 0 twice; money (\\S+) before, \\2 after, wrong funds 0; ` +
      '2,000 items, 0 not in exactly one place$',
  );
