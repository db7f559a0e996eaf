import { freePort } from '../../test/support/processes/child-program';
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
/** The interval of the scrapes. */
const SCRAPE_INTERVAL_MS = 5000;
/** The number of scrapes in one measurement of their CPU. */
const SCRAPES = 100;

/** Scrapes a server every 5 s, as Prometheus does. */
class Scraper {
  private readonly timer: NodeJS.Timeout;
  private failure: Error | undefined;

  constructor(private readonly url: string) {
    this.timer = setInterval(
      () => void this.scrape().catch((error: Error) => (this.failure = error)),
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

type Kind = (typeof CALLS)[number][0];

/** The sides take turns of few calls, so that other work of the machine meets all sides. */
async function round(sides: Sides, calls: number): Promise<Figure[]> {
  const zero = (): Record<Kind, number> => ({ empty: 0, acquire: 0, get: 0, release: 0 });
  const server: Record<Side, Record<Kind, number>> = { plain: zero(), control: zero(), measured: zero() };
  for (const order of ORDERS) {
    for (const side of order) {
      for (const [kind] of CALLS) {
        const cost = await sides[side].cost(kind, calls, IN_FLIGHT);
        server[side][kind] += cost.server / ORDERS.length;
      }
    }
  }
  sides.scraper.check();
  const { plain, control, measured } = server;
  return CALLS.flatMap(([kind, title]) => [
    figure(`${title}: server CPU by what it is without`, '×', measured[kind] / plain[kind], { most: 1.03 }),
    figure(`${title}: the same for two servers without`, '×', control[kind] / plain[kind]),
    figure(`${title}: server CPU with all`, 'µs', measured[kind]),
  ]);
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

/** Starts three servers, and takes a round. Servers differ by a few percent for their whole life, so each round has new ones. */
async function roundOfNewServers(amount: Amount): Promise<Figure[]> {
  const admin = `127.0.0.1:${await freePort()}`;
  const settings = { HOLDFAST_ADMIN_LISTEN: admin, HOLDFAST_LOG_LEVEL: 'info' };
  const opened: UnarySide[] = [];
  const open = async (env: Readonly<Record<string, string>>): Promise<UnarySide> => {
    const side = await UnarySide.open({ env });
    opened.unshift(side);
    return side;
  };
  let scraper: Scraper | undefined;
  try {
    const [plain, measured, control] = [await open({}), await open(settings), await open({})];
    scraper = new Scraper(`http://${admin}/metrics`);
    const sides = { plain, control, measured, scraper };
    for (let count = 0; count < amount.warmUps; count += 1) await round(sides, amount.calls);
    return [...(await round(sides, amount.calls)), ...(await scrapeFigures(sides))];
  } finally {
    scraper?.close();
    for (const side of opened) await side.close();
  }
}

interface Amount {
  /** The calls of each kind in one turn of a side. A round has six turns of each side. */
  readonly calls: number;
  /** The rounds before the measurement, for cold code. */
  readonly warmUps: number;
}

async function run({ quick, say }: RowContext): Promise<Figure[]> {
  const amount = quick ? { calls: 200, warmUps: 1 } : { calls: 500, warmUps: 2 };
  const rounds = quick ? 3 : 16;
  say(
    `${rounds} rounds of ${ORDERS.length * amount.calls} calls of each kind, ${IN_FLIGHT} in flight, in turns`,
  );
  return takeRounds({ warmUps: 0, rounds }, () => roundOfNewServers(amount));
}

export const metrics: Row = {
  name: 'metrics',
  title: 'The cost of metrics and logs',
  about:
    'CPU of a call to a server with the admin port, a scrape every 5 s and logs of level info, divided by the CPU of the ' +
    'same call to a server with HOLDFAST_ADMIN_LISTEN=off and level warn. All servers run at the same time with their own ' +
    'Redis, are measured in turns, and are new in each round. A third server without metrics shows how far two equal ' +
    'servers differ.',
  run,
};
