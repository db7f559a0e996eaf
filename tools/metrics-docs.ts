import { readFileSync, writeFileSync } from 'node:fs';
import type { MetricText } from '../src/base/meters';
import { metricsOf } from '../src/server/metrics/prometheus';
import { products } from '../src/server/products';
import { wrapped } from './configuration-docs';

/**
 * Writes docs/operations/metrics.md from the list of metrics of the server.
 *
 *     node dist/tools/metrics-docs.js --write    writes the page
 *     node dist/tools/metrics-docs.js --check    fails if the page is out of date
 */

const PAGE = 'docs/operations/metrics.md';

const HEAD = `# Metrics

**Which metrics does the server have, and what does a rising value mean?**

<!-- Written by tools/metrics-docs.ts from the metrics of src/server and of the products. Do not edit. -->

${wrapped(
  'Prometheus reads the metrics at `http://127.0.0.1:50052/metrics`, the port of ' +
    '[HOLDFAST_ADMIN_LISTEN](../configuration.md#holdfast_admin_listen). All numbers are of one server, ' +
    'since its start. No metric shows a name of a lock, a holder or an identity.',
)}

${wrapped(
  'A histogram has three metrics: `_bucket` with the label `le`, `_sum` and `_count`. A counter only rises, ' +
    'until the server restarts.',
)}
`;

const PICTURE = `## The dashboard without Grafana

${wrapped(
  '[holdfast.json](../../deploy/grafana/holdfast.json) is a dashboard for Grafana. A built checkout draws the ' +
    'dashboard without Grafana, from the last minutes of a Prometheus:',
)}

\`\`\`console
$ node dist/tools/dashboard-picture.js --prometheus http://127.0.0.1:9090 --minutes 60 --out dashboard.svg
\`\`\`

${wrapped(
  '[dashboard.svg](dashboard.svg) is such a picture of two servers: a calm phase, a kill of Redis, the recovery, ' +
    'and load. The program that made the run and the picture fetches Prometheus from Debian:',
)}

\`\`\`console
$ node dist/test/deploy/dashboard-run.js dashboard.svg
\`\`\`

${wrapped('A panel without data says why: an empty "Redis failures" is good, an empty "Time to grant" means no grants.')}
`;

export function metricsPage(): string {
  return [HEAD, PICTURE, ...metricsOf(products).map(section)].join('\n');
}

function section({ name, type, unit, labels, help, rising }: MetricText): string {
  const shown = Object.entries(labels).map(([label, values]) => `Label \`${label}\`: ${values}`);
  const rows = [`Type: ${type}`, `Unit: ${unit}`, ...shown, `A rising value: ${rising}`];
  return `## ${name}\n\n${wrapped(help)}\n\n${rows.map((row) => wrapped(row, '- ', '  ')).join('\n')}\n`;
}

function main(mode: string | undefined): void {
  if (mode === '--write') return writeFileSync(PAGE, metricsPage());
  if (mode !== '--check') return fail('usage: metrics-docs.js --check or --write');
  if (readFileSync(PAGE, 'utf8') !== metricsPage()) {
    fail(`${PAGE} is out of date: run "node dist/tools/metrics-docs.js --write"`);
  }
}

function fail(problem: string): void {
  console.error(problem);
  process.exitCode = 1;
}

if (require.main === module) main(process.argv[2]);
