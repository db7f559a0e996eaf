import type { ExampleProcess } from '../example-process';
import { EXIT, LONG_TTL_MS, SHORT_TTL_MS, type Scene, type SceneContext } from './scene';

/** @param value undefined: the process only observes */
function leader(
  { stage, program }: SceneContext,
  value?: string,
  ttlMs = LONG_TTL_MS,
): Promise<ExampleProcess> {
  const args = [stage.name, '--servers', stage.addresses, '--ttl-ms', String(ttlMs)];
  return stage.start(program('leader'), value === undefined ? args : [...args, '--value', value]);
}

async function elected(process: ExampleProcess): Promise<number> {
  const { match } = await process.line(/^elected under token (\d+)$/);
  return Number(match[1]);
}

async function seesLeader(observer: ExampleProcess, value: string, token: number): Promise<void> {
  await observer.line(new RegExp(`^leader: ${value} under token ${token}$`));
}

async function resigns(context: SceneContext): Promise<void> {
  const observer = await leader(context);
  await observer.line(/^leader: none$/);
  const first = await leader(context, 'ten');
  const firstToken = await elected(first);
  await seesLeader(observer, 'ten', firstToken);
  const second = await leader(context, 'eleven');
  await seesLeader(second, 'ten', firstToken);

  first.signal('SIGTERM');
  const secondToken = await elected(second);
  expect(await first.exit()).toEqual(EXIT.done);
  expect(first.has(/^resigned$/)).toBe(true);
  expect(secondToken).toBeGreaterThan(firstToken);
  await seesLeader(observer, 'eleven', secondToken);

  const candidate = await leader(context, 'twelve');
  await seesLeader(candidate, 'eleven', secondToken);
  candidate.signal('SIGINT');
  expect(await candidate.exit()).toEqual(EXIT.done);
  expect(candidate.has(/^(elected|resigned)/)).toBe(false);

  const after = performance.now();
  second.signal('SIGINT');
  expect(await second.exit()).toEqual(EXIT.done);
  await observer.line(/^leader: none$/, { after });
  observer.signal('SIGINT');
  expect(await observer.exit()).toEqual(EXIT.done);
}

async function leaderStopped(context: SceneContext): Promise<void> {
  const observer = await leader(context);
  const first = await leader(context, 'ten', SHORT_TTL_MS);
  const firstToken = await elected(first);
  const second = await leader(context, 'eleven', SHORT_TTL_MS);
  await seesLeader(second, 'ten', firstToken);
  first.signal('SIGSTOP');
  const secondToken = await elected(second);
  await seesLeader(observer, 'eleven', secondToken);
  first.signal('SIGCONT');
  await first.line(/^lease lost: DEADLINE, stopping$/);
  expect(await first.exit()).toEqual(EXIT.lost);
  expect(first.has(/^resigned$/)).toBe(false);
}

export const LEADER_SCENES: readonly Scene[] = [
  { title: 'leader: the next candidate leads when the leader resigns, and observers see both', run: resigns },
  { title: 'leader: stops leading after a suspension past its deadline', run: leaderStopped },
];
