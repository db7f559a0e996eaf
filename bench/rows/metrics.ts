import { freePort } from '../../test/support/processes/free-port';
import { cpuDuring } from '../support/cpu';
import { figure, takeRounds, type Figure } from '../support/figures';
import { UnarySide } from '../support/unary-side';
import type { Row, RowContext } from './row';

const IN_FLIGHT = 32;
const CALLS = [
  ['empty', 'an empty call'],
  ['acquire', 'AcquireLock'],
  ['get', 'GetLock'],
  ['release', 'ReleaseLock'],
] as const;
/** The interval of Prometheus in deploy/. */
const SCRAPE_INTERVAL_MS = 5000;
/** The scrapes whose CPU is measured together. */
const SCRAPES = 100;

/** Scrapes a server every 5 s, as Prometheus does. */
class Scraper {
  private readonly timer: NodeJS.Timeout;
  private failure: unknown;

  constructor(private readonly url: string) {
    this.timer = setInterval(
      () => void this.scrape().catch((error: unknown) => (this.failure = error)),
      SCRAPE_INTERVAL_MS,
    );
  }

  /** Resolves to the number of samples. */
  async scrape(): Promise<number> {
    const response = await fetch(this.url);
    const text = await response.text();
    if (!response.ok) throw new Error(`${this.url} answered ${response.status}: ${text}`);
    return text.split('\n').filter((line) => line !== '' && !line.startsWith('#')).length;
  }

  /** Throws the failure of a scrape, because a server without scrapes would be measured. */
  check(): void {
    if (this.failure !== undefined) throw this.failure;
  }

  close(): void {
    clearInterval(this.timer);
  }
}

interface Sides {
  readonly plain: UnarySide;
  /** The same settings as `plain`: its ratio shows how far two equal servers differ. */
  readonly control: UnarySide;
  readonly measured: UnarySide;
  readonly scraper: Scraper;
}

type Side = 'plain' | 'control' | 'measured';

/** Each side is first, second and last in turn, because warm caches favour the later sides. */
const ORDERS: readonly (readonly Side[])[] = [
  ['plain', 'measured', 'control'],
  ['measured', 'control', 'plain'],
  ['control', 'plain', 'measured'],
  ['measured', 'plain', 'control'],
  ['control', 'measured', 'plain'],
  ['plain', 'control', 'measured'],
];

async function round(sides: Sides, index: number, calls: number): Promise<Figure[]> {
  const figures: Figure[] = [];
  for (const [kind, title] of CALLS) {
    const server: Record<Side, number> = { plain: NaN, control: NaN, measured: NaN };
    for (const side of ORDERS[index % ORDERS.length] ?? []) {
      server[side] = (await sides[side].cost(kind, calls, IN_FLIGHT)).server;
    }
    figures.push(
      figure(`${title}: server CPU by what it is without`, '×', server.measured / server.plain, {
        most: 1.03,
      }),
      figure(`${title}: the same for two servers without`, '×', server.control / server.plain),
      figure(`${title}: server CPU with all`, 'µs', server.measured),
    );
  }
  sides.scraper.check();
  return [...figures, ...(await scrapeFigures(sides))];
}

async function scrapeFigures({ measured, scraper }: Sides): Promise<Figure[]> {
  let samples = 0;
  const { spentMs } = await cpuDuring([measured.stage.server.pid], async () => {
    for (let count = 0; count < SCRAPES; count += 1) samples = await scraper.scrape();
  });
  const scrapeMs = (spentMs[0] ?? NaN) / SCRAPES;
  return [
    figure('a scrape: server CPU', 'ms', scrapeMs),
    figure('a scrape every 5 s: share of a core', '%', (100 * scrapeMs) / SCRAPE_INTERVAL_MS),
    figure('samples of a scrape', '', samples),
  ];
}

async function run({ quick, say }: RowContext): Promise<Figure[]> {
  const admin = `127.0.0.1:${await freePort()}`;
  const settings = { HOLDFAST_ADMIN_LISTEN: admin, HOLDFAST_LOG_LEVEL: 'info' };
  const opened: UnarySide[] = [];
  let scraper: Scraper | undefined;
  try {
    const sides: UnarySide[] = [];
    for (const env of [{}, {}, settings]) {
      sides.push(await UnarySide.open({ env }));
      opened.unshift(sides.at(-1) as UnarySide);
    }
    const [plain, control, measured] = sides as [UnarySide, UnarySide, UnarySide];
    scraper = new Scraper(`http://${admin}/metrics`);
    const all = { plain, control, measured, scraper };
    const calls = quick ? 1000 : 3000;
    const counts = quick ? { warmUps: 3, rounds: 6 } : { warmUps: 6, rounds: 24 };
    say(`${counts.rounds} rounds of ${calls} calls of each kind, ${IN_FLIGHT} in flight, in turns`);
    return await takeRounds(counts, (index) => round(all, index, calls));
  } finally {
    scraper?.close();
    for (const side of opened) await side.close();
  }
}

export const metrics: Row = {
  name: 'metrics',
  title: 'The cost of metrics and logs',
  about:
    'CPU of a call to a server with the admin port, a scrape every 5 s and logs of level info, divided by the CPU of the ' +
    'same call to a server with HOLDFAST_ADMIN_LISTEN=off and level warn. All servers run at the same time with their own ' +
    'Redis, and are measured in turns. A third server without metrics shows how far two equal servers differ.',
  run,
};
