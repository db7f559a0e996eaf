import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { unpackedPackages } from '../../../bench/words/debian-packages';
import { eventually } from '../eventually';
import { ChildProgram, freePort } from './child-program';

/** The path of a program of Prometheus, from the package of this machine's Debian release. Rejects if there is none. */
export async function prometheusProgram(name: 'prometheus' | 'promtool'): Promise<string> {
  const found = await unpackedPackages('prometheus', ['prometheus']);
  if ('missing' in found) throw new Error(`Prometheus cannot be had: ${found.missing}`);
  return join(found.folder, 'usr', 'bin', name);
}

export interface PrometheusOptions {
  /** The admin ports of the servers, as "127.0.0.1:port". */
  readonly targets: readonly string[];
  /** How Prometheus finds the targets. Default: a list, as the job "holdfast". */
  readonly scrapeConfigs?: readonly object[];
  /** The texts of the rule files, by name. */
  readonly rules?: Readonly<Record<string, string>>;
}

interface Sample {
  readonly metric: Readonly<Record<string, string>>;
  readonly value: readonly [number, string];
}

interface RuleGroups {
  readonly groups: readonly {
    readonly file: string;
    readonly rules: readonly { readonly name: string; readonly state: string }[];
  }[];
}

const START_TIMEOUT_MS = 60_000;

/** A Prometheus of this machine's Debian release that reads servers as the job "holdfast", once a second. */
export class PrometheusProcess {
  private constructor(
    private readonly child: ChildProgram,
    readonly url: string,
  ) {}

  /** Resolves when each target was read. */
  static async start({ targets, scrapeConfigs, rules = {} }: PrometheusOptions): Promise<PrometheusProcess> {
    const folder = mkdtempSync(join(tmpdir(), 'holdfast-prometheus-'));
    const port = await freePort();
    for (const [name, text] of Object.entries(rules)) writeFileSync(join(folder, name), text);
    const settings = {
      global: { scrape_interval: '1s', scrape_timeout: '1s', evaluation_interval: '1s' },
      rule_files: Object.keys(rules),
      scrape_configs: scrapeConfigs ?? [{ job_name: 'holdfast', static_configs: [{ targets }] }],
    };
    writeFileSync(join(folder, 'prometheus.yaml'), JSON.stringify(settings));
    const child = new ChildProgram({
      label: 'Prometheus',
      command: await prometheusProgram('prometheus'),
      args: [
        `--config.file=${join(folder, 'prometheus.yaml')}`,
        `--storage.tsdb.path=${join(folder, 'data')}`,
        `--web.listen-address=127.0.0.1:${port}`,
      ],
      removeAtEnd: folder,
    });
    const prometheus = new PrometheusProcess(child, `http://127.0.0.1:${port}`);
    await child.start();
    const allRead = async () => (await prometheus.query('up == 1')).length === targets.length;
    try {
      await eventually('Prometheus reads the servers', allRead, { timeoutMs: START_TIMEOUT_MS });
    } catch (error) {
      await prometheus.close();
      throw error;
    }
    return prometheus;
  }

  /** The present samples of an expression. */
  async query(expression: string): Promise<readonly Sample[]> {
    const path = `query?${new URLSearchParams({ query: expression }).toString()}`;
    return (await this.read<{ result: readonly Sample[] }>(path)).result;
  }

  /** The names of the alerts of a rule file that fire now. */
  async firing(file: string): Promise<string[]> {
    const { groups } = await this.read<RuleGroups>('rules?type=alert');
    return groups
      .filter((group) => group.file.endsWith(`/${file}`))
      .flatMap(({ rules }) => rules.filter(({ state }) => state === 'firing').map(({ name }) => name));
  }

  async close(): Promise<void> {
    await this.child.close();
  }

  private async read<Data>(path: string): Promise<Data> {
    const answer = await fetch(`${this.url}/api/v1/${path}`);
    const { data, error } = (await answer.json()) as { data?: Data; error?: string };
    if (data === undefined) throw new Error(`Prometheus answers ${path} with ${error ?? answer.status}`);
    return data;
  }
}
