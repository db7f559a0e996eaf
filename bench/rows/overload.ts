import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { attacks } from '../../test/support/attacks/attacks';
import type { Attack } from '../../test/support/attacks/attack';
import { AttackProcess, Guard } from '../../test/support/attacks/attack-process';
import { cpuDuring } from '../support/cpu';
import type { Figure } from '../support/figures';
import { monotonicMs } from '../support/monotonic';
import { onStage } from '../support/stage';
import {
  INNOCENT_PER_SECOND,
  phaseOf,
  STREAM_CONNECTIONS,
  STREAM_TTL_MS,
  STREAMS,
  watch,
  type Watched,
} from '../support/watched';
import { overloadFigures, type Damage } from './overload-figures';
import type { Row, RowContext } from './row';

const ATTACK_MS = 20_000;
const QUICK_ATTACK_MS = 6000;

const BEFORE_MS = 6000;
const GRACE_MS = 2000;
const AFTER_MS = 5000;

async function suffer({ server, redis }: Watched, attack: Attack, forMs: number) {
  const target = { address: server.listen, label: attack.name, forMs, scale: 1 };
  const attacker = await AttackProcess.start(attack.name, target);
  try {
    const from = monotonicMs();
    const pids = [server.pid, redis.pid];
    const { result: report, spentMs } = await cpuDuring(pids, () => attacker.report());
    const to = monotonicMs();
    const [serverCores = NaN, redisCores = NaN] = spentMs.map((ms) => ms / (to - from));
    return { report, cores: { server: serverCores, redis: redisCores }, from, to };
  } finally {
    await attacker.close();
  }
}

/** Attacks a new server, which other clients use before, during and after the attack. */
async function damageOf(watched: Watched, attack: Attack, forMs: number): Promise<Damage> {
  const { bench, others, memory } = watched;
  const before = await phaseOf(() => sleep(BEFORE_MS));
  await bench.loopDelay();
  const memoryBefore = memory.now();
  const { report, cores, ...during } = await suffer(watched, attack, forMs);
  const loop = await bench.loopDelay();
  await sleep(Math.max(during.to + GRACE_MS - monotonicMs(), 0));
  const after = await phaseOf(() => sleep(AFTER_MS));
  // A stream that could not be renewed until the end of the attack is told of its loss within this time.
  await sleep(Math.max(during.to + STREAM_TTL_MS - monotonicMs(), 0));
  await others.ask('stop', undefined);
  const figures = {
    attack: attack.name,
    report,
    cores,
    bystanders: await others.ask('events', undefined),
    before: await others.ask('latencies', before),
    during: await others.ask('latencies', during),
    after: await others.ask('latencies', after),
    loop,
  };
  const [peak, memoryAfter] = [memory.peak, memory.now()];
  await bench.collectGarbage();
  return {
    ...figures,
    memory: { before: memoryBefore, peak, after: memoryAfter, collected: memory.now() },
  };
}

/** An attack that must be refused needs a server that asks for credentials. */
async function withGuard<T>({ refusal }: Attack, work: (guard: Guard | undefined) => Promise<T>): Promise<T> {
  if (refusal === undefined) return work(undefined);
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-bench-'));
  const guard = await Guard.open(folder);
  try {
    return await work(guard);
  } finally {
    guard.close();
    rmSync(folder, { recursive: true });
  }
}

async function run({ quick, say, attacks: chosen }: RowContext): Promise<Figure[]> {
  const damages: Damage[] = [];
  for (const attack of attacks.filter(({ name }) => chosen?.includes(name) ?? true)) {
    say(`${attack.name}: ${attack.title}`);
    const forMs = quick ? QUICK_ATTACK_MS : ATTACK_MS;
    damages.push(
      await withGuard(attack, (guard) =>
        onStage((stage) => watch(stage, (watched) => damageOf(watched, attack, forMs), guard?.token), {
          env: guard?.env ?? {},
        }),
      ),
    );
  }
  return overloadFigures(damages);
}

export const overload: Row = {
  name: 'overload',
  title: 'Overload: attacks, and what other clients notice',
  about:
    `Each attack runs for ${ATTACK_MS / 1000} s against a new server and Redis, on the same machine, in a process with ` +
    'a lower priority (niceness 10). Its frames are made by hand, so the attack costs less than with a gRPC client. The ' +
    `other clients: ${STREAMS} HoldLock streams with a TTL of ${STREAM_TTL_MS / 1000} s on ${STREAM_CONNECTIONS} ` +
    `connections, and one innocent client that acquires and releases its own locks ${INNOCENT_PER_SECOND} times a ` +
    'second, on a connection of its own. A stream is late if its lease ended by its own clock before the next renewal ' +
    `arrived. The innocent client is measured for ${BEFORE_MS / 1000} s before the attack, during the attack, and for ` +
    `${AFTER_MS / 1000} s from ${GRACE_MS / 1000} s after its end. The attacks: ` +
    `${attacks.map(({ name, title }) => `**${name}**: ${title}`).join('; ')}. The server has tokens, JSON web tokens and ` +
    `a policy during ${attacks.flatMap(({ name, refusal }) => (refusal === undefined ? [] : [name])).join(', ')}.`,
  run,
};
