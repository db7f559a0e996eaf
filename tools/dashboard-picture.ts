import { readFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { pagePicture, panelPicture, type DrawnPanel, type Series } from './dashboard/picture';

/**
 * Draws the dashboard of deploy/grafana from a Prometheus, without Grafana:
 *
 *     node dist/tools/dashboard-picture.js --prometheus http://127.0.0.1:9090 --minutes 60 --out dashboard.svg
 *
 * --job: the job of the scrape, default `holdfast`.
 */

const DASHBOARD = 'deploy/grafana/holdfast.json';
/** Samples in a panel. */
const STEPS = 120;

interface Panel extends DrawnPanel {
  readonly targets: readonly { readonly expr: string; readonly legendFormat: string }[];
}

interface Span {
  readonly prometheus: string;
  readonly job: string;
  readonly startS: number;
  readonly endS: number;
}

interface Answer {
  readonly error?: string;
  readonly data?: {
    readonly result: readonly {
      readonly metric: Readonly<Record<string, string>>;
      readonly values: readonly (readonly [number, string])[];
    }[];
  };
}

/** Draws every panel on one page. */
export async function drawDashboard(span: Span): Promise<string> {
  const { panels } = JSON.parse(readFileSync(DASHBOARD, 'utf8')) as { panels: readonly Panel[] };
  const pictures = [];
  for (const panel of panels) pictures.push(panelPicture(panel, await seriesOf(panel, span), span));
  return pagePicture(pictures);
}

/** Runs the queries of a panel. All servers of the job are shown, and rates are over four steps of the picture. */
async function seriesOf({ title, targets }: Panel, span: Span): Promise<Series[]> {
  const stepS = Math.max((span.endS - span.startS) / STEPS, 1);
  const found: Series[] = [];
  for (const { expr, legendFormat } of targets) {
    const query = expr
      .replaceAll('$job', span.job)
      .replaceAll('$instance', '.*')
      .replaceAll('$__rate_interval', `${Math.ceil(Math.max(4 * stepS, 10))}s`);
    const words = new URLSearchParams({
      query,
      start: String(span.startS),
      end: String(span.endS),
      step: String(stepS),
    });
    const answer = await fetch(`${span.prometheus}/api/v1/query_range?${words.toString()}`);
    const { data, error } = (await answer.json()) as Answer;
    if (data === undefined) throw new Error(`the panel "${title}": ${error ?? 'Prometheus gives no data'}`);
    for (const { metric, values } of data.result) {
      found.push({
        name: legendFormat.replaceAll(/\{\{(\w+)\}\}/g, (_all, label: string) => metric[label] ?? ''),
        points: values
          .map(([at, value]) => [at, Number(value)] as const)
          .filter(([, value]) => Number.isFinite(value)),
      });
    }
  }
  return found.filter(({ points }) => points.length > 0);
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      prometheus: { type: 'string', default: 'http://127.0.0.1:9090' },
      job: { type: 'string', default: 'holdfast' },
      minutes: { type: 'string', default: '60' },
      out: { type: 'string', default: 'dashboard.svg' },
    },
  });
  const minutes = Number(values.minutes);
  if (!(minutes > 0)) throw new Error(`--minutes must be a positive number, not "${values.minutes}"`);
  const endS = Date.now() / 1000;
  const { prometheus, job, out } = values;
  writeFileSync(out, await drawDashboard({ prometheus, job, startS: endS - minutes * 60, endS }));
  console.log(`drew ${out}`);
}

if (require.main === module) {
  main().catch((error: unknown) => {
    console.error((error as Error).message);
    process.exitCode = 1;
  });
}
