/**
 * The marketplace of the chapter: many buyers and sellers in several processes, three ways to keep them from
 * spending the same money and selling the same item twice, and an audit.
 *
 *     npm run marketplace
 *
 * Exit code 0: every audit passed. 1: one did not, or the market could not be played. 2: wrong arguments.
 */
import { UsageError } from '../worker-typescript/options';
import { Servers } from '../worker-typescript/servers';
import { stopOnSignals } from '../worker-typescript/signals';
import { auditText } from './audit';
import { readOptions, USAGE, type Options } from './options';
import { marketRedis } from './private-redis';
import { playRound } from './round';
import { headText, LEGEND, roundText } from './table';

const EXIT = { passed: 0, failed: 1, usage: 2 } as const;

async function needServer(addresses: readonly string[]): Promise<void> {
  const servers = new Servers(addresses);
  try {
    if (await servers.connect()) return;
    throw new Error(`no Holdfast server answers at ${addresses.join(', ')}: start one with npm start`);
  } finally {
    servers.close();
  }
}

async function run(options: Options): Promise<number> {
  const { ways, buyers, sellers, processes, seconds, items, choice, pauses } = options;
  if (ways.some((way) => way !== 'watch')) await needServer(options.servers);
  const stop = stopOnSignals(() => console.log('closing the market before its time'));
  const redis = await marketRedis(options.redisUrl);
  let passed = true;
  try {
    console.log(
      `${buyers} buyers and ${sellers} sellers in each of ${processes} processes, ${seconds} s each way; ` +
        `${items.toLocaleString('en')} items, bargains among the ${choice} cheapest; ${pauses * 100} % of purchases pause\n` +
        `the market's Redis: ${redis.description}\n\n${headText()}`,
    );
    const audits: string[] = [];
    for (const way of ways) {
      if (stop.aborted) break;
      const round = await playRound(way, redis.url, options, stop);
      console.log(roundText(round));
      audits.push(`audit ${way.padEnd(6)}  ${auditText(round.audit)}`);
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
