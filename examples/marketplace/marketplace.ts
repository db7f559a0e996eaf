/**
 * The marketplace of docs/design/chapter.md. Buyers and sellers trade in several processes with one of three
 * strategies. An audit checks that no money was spent twice and no item was sold twice.
 *
 *     npm run marketplace
 *
 * Exit code 0: every audit passed. 1: an audit failed, or the program failed. 2: wrong arguments.
 */
import { connect, UnavailableError } from '@holdfast/client';
import { UsageError } from './duration';
import { stopOnSignals } from './signals';
import { auditText } from './audit';
import { readOptions, USAGE, type Options } from './options';
import { marketRedis } from './private-redis';
import { runRound } from './round';
import { headText, LEGEND, roundText } from './table';

const EXIT = { passed: 0, failed: 1, usage: 2 } as const;

async function requireServer(addresses: readonly string[]): Promise<void> {
  try {
    const client = await connect(addresses, { timeout: '3s' });
    await client.close();
  } catch (error) {
    if (!(error instanceof UnavailableError)) throw error;
    throw new Error(`no Holdfast server answers at ${addresses.join(', ')}: start one with npm start`);
  }
}

async function run(options: Options): Promise<number> {
  const { strategies, buyers, sellers, processes, seconds, items, choice, pauses } = options;
  if (strategies.some((strategy) => strategy !== 'watch')) await requireServer(options.servers);
  const stop = stopOnSignals(() => console.log('closing the market early'));
  const redis = await marketRedis(options.redisUrl);
  let passed = true;
  try {
    console.log(
      `${buyers} buyers and ${sellers} sellers in each of ${processes} processes, ${seconds} s for each strategy; ` +
        `${items.toLocaleString('en')} items, buyers choose among the ${choice} cheapest; ${pauses * 100} % of purchases pause\n` +
        `the market's Redis: ${redis.description}\n\n${headText()}`,
    );
    const audits: string[] = [];
    for (const strategy of strategies) {
      if (stop.aborted) break;
      const round = await runRound(strategy, redis.url, options, stop);
      console.log(roundText(round));
      audits.push(`audit ${strategy.padEnd(6)}  ${auditText(round.audit)}`);
      passed &&= round.audit.passed;
    }
    console.log(`\n${LEGEND}\n\n${audits.join('\n')}`);
  } finally {
    await redis.end();
  }
  return passed ? EXIT.passed : EXIT.failed;
}

async function main(): Promise<void> {
  try {
    process.exitCode = await run(readOptions(process.argv.slice(2)));
  } catch (error) {
    process.exitCode = error instanceof UsageError ? EXIT.usage : EXIT.failed;
    console.error(error instanceof UsageError ? `${error.message}\n${USAGE}` : (error as Error).message);
  }
}

void main();
