import { checkAll, type CheckResult } from '../../support/checkers/check-all';
import { allEnded, eventually } from '../../support/eventually';
import type { History } from '../../support/history';
import { mergeHistories } from '../../support/history-recorder';
import { Fleet, type MemberOptions } from '../fleet';
import { LockClient } from '../../support/clients/lease-client';
import { Scenario } from '../scenario';
import { Clocks } from './clock-shim/clocks';
import { clockShim } from './clock-shim/shim';
import { ClientProcesses } from './client-processes';
import { LimitMover } from './limit-mover';
import { Revoker } from './revoker';
import { StoreSampler } from './store-sampler';
import { faultOf } from './nemesis/faults';
import { Nemesis, type Injection } from './nemesis/nemesis';
import type { RoundPlan } from './plan';
import { ALLOWANCES, QUARANTINE_MS, SERVER_ENV } from './settings';
import { Stage } from './stage';
import { watchStalls } from './stalls';
import { StoreView } from './store-view';
import { openStore } from './stores/open';
import type { SuiteStore } from './stores/store';
import type { Resource } from './traffic/traffic';

/** The programs of a mutant or of several versions. Default: the built programs of this tree. */
export interface Programs {
  /** Each server begins with another one of them, and each start of a server runs the next. */
  readonly servers: readonly string[];
  readonly client?: string;
}

export interface RoundOutcome {
  readonly plan: RoundPlan;
  readonly history: History;
  readonly injections: readonly Injection[];
  readonly checks: CheckResult;
  /** How many operations the servers that live at the end have sent in commands with others. */
  readonly sharedCount: number;
  /** Defects other than violations: a crashed server, a logged error, open sockets. */
  readonly defects: readonly string[];
}

/** Longer than the life of an unclaimed offer after two stalls. */
const OFFERS_LAPSE_MS = 10_000;
/** The quarantine and the time until servers detect its end. */
const SETTLING_MS = QUARANTINE_MS + 15_000;
const METRICS_TIMEOUT_MS = 10_000;

/** Runs one round: starts everything, injects the planned faults, waits for rest, checks, and ends everything. */
export async function runRound(plan: RoundPlan, programs?: Programs): Promise<RoundOutcome> {
  const clocks = plan.withClocks ? await openClocks(plan.memberCount) : undefined;
  try {
    const fleet = await startFleet(plan, clocks, programs);
    let outcome: RoundOutcome;
    try {
      outcome = await playRound(plan, fleet, clocks, programs);
    } catch (error) {
      await fleet.close().catch(() => undefined); // The first error is thrown.
      throw error;
    }
    const defects: string[] = [];
    await fleet.close().catch((error: unknown) => defects.push((error as Error).message));
    return { ...outcome, defects: [...outcome.defects, ...defects] };
  } finally {
    await clocks?.close();
  }
}

async function openClocks(memberCount: number): Promise<Clocks> {
  const shim = await clockShim();
  if ('missing' in shim) throw new Error(shim.missing);
  return Clocks.open(shim.path, memberCount);
}

async function startFleet(
  plan: RoundPlan,
  clocks: Clocks | undefined,
  programs?: Programs,
): Promise<Fleet<SuiteStore>> {
  const members = Array.from({ length: plan.memberCount }, (_, index): MemberOptions => ({
    env: { ...SERVER_ENV, ...clocks?.members[index]?.env },
    redisProxy: plan.withStoreProxy[index] ?? false,
    clientProxy: plan.withClientProxy[index] ?? false,
    ...(programs && {
      programs: programs.servers.map((_, at, all) => all[(at + index) % all.length] as string),
    }),
  }));
  return Fleet.over(await openStore(plan, clocks), members);
}

async function playRound(
  plan: RoundPlan,
  fleet: Fleet<SuiteStore>,
  clocks: Clocks | undefined,
  programs: Programs | undefined,
): Promise<RoundOutcome> {
  const scenario = new Scenario(fleet, `round ${plan.seed}`, fleet.member(0));
  try {
    const resources = await makeResources(plan, scenario);
    const sampler = new StoreSampler(fleet.redis, resources);
    const clients = new ClientProcesses(
      scenario,
      {
        workerCount: plan.workerCount,
        sessionSizes: plan.sessionSizes,
        longWaitPercent: plan.longWaitPercent,
        addresses: fleet.members.map(({ address }) => address),
        resources,
        seed: plan.seed * 100,
      },
      {
        ...(clocks && { env: clocks.clients.env }),
        ...(programs?.client !== undefined && { program: programs.client }),
      },
      performance.now() + plan.trafficMs,
    );
    const stage = new Stage({
      fleet,
      scenario,
      clients,
      store: new StoreView(fleet.redis),
      resources,
      withStoreProxy: fleet.members.filter((_, index) => plan.withStoreProxy[index]),
      withClientProxy: fleet.members.filter((_, index) => plan.withClientProxy[index]),
      topology: plan.topology,
      clocks,
      mayForget: plan.steps.some(({ fault }) => faultOf(fault).forgets),
      mayDeleteName: plan.steps.some(({ fault }) => fault === 'resource-deleted'),
      isDurable: plan.appendfsync === 'always',
    });
    const defects: string[] = [];
    const nemesis = new Nemesis(stage);
    const limits = new LimitMover(scenario, fleet, resources);
    const revoker = new Revoker(fleet, resources, scenario.recorderOf('revoker'));
    sampler.start();
    const unwatch = watchStalls((from, to) =>
      scenario.past('machine_stalled', 'the runner was not scheduled', from, to),
    );
    try {
      await Promise.all(Array.from({ length: plan.processCount }, () => clients.start()));
      await allEnded([nemesis.run(plan.steps), limits.run(plan.limitMoves), revoker.run(plan.revocations)]);
      await clients.finished();
      await settle(fleet, scenario);
      await scenario.comeToRest(OFFERS_LAPSE_MS);
    } catch (error) {
      // The history up to this failure is still checked.
      defects.push(`the round failed: ${(error as Error).message}`);
    } finally {
      await sampler.stop();
      unwatch();
    }
    const told = scenario.history();
    const history = mergeHistories(told, sampler.events(told));
    const checks = checkAll(history, ALLOWANCES);
    const sharedCount = await sharedOperations(fleet).catch((error: unknown) => {
      defects.push(`the shared operations were not counted: ${(error as Error).message}`);
      return 0;
    });
    return { plan, history, injections: nemesis.injections, checks, sharedCount, defects };
  } finally {
    await scenario.close();
  }
}

async function sharedOperations(fleet: Fleet<SuiteStore>): Promise<number> {
  let total = 0;
  for (const { server } of fleet.members) {
    if (server.admin === undefined || server.exit !== undefined) continue;
    const headers = { connection: 'close' }; // no open socket stays
    const signal = AbortSignal.timeout(METRICS_TIMEOUT_MS);
    const text = await (await fetch(`http://${server.admin}/metrics`, { headers, signal })).text();
    for (const [, count] of text.matchAll(/^holdfast_redis_shared_operations_total\S* (\d+)/gm))
      total += Number(count);
  }
  return total;
}

async function makeResources(plan: RoundPlan, scenario: Scenario): Promise<Resource[]> {
  const resources: Resource[] = [];
  for (const { service, label, limit, mostPermits, sharedPercent, share, isWide } of plan.resources) {
    // The observer polls only some names, because polls of all names are too much load for a server.
    const watched = share > 1;
    const name =
      service === 'lock' ? scenario.lock(label, watched) : await scenario.semaphore(label, limit, watched);
    resources.push({ service, name, mostPermits, sharedPercent, share, isWide });
  }
  return resources;
}

/** Waits until all servers grant again. After the last fault, a server may be in quarantine or may still start. */
async function settle(fleet: Fleet<SuiteStore>, scenario: Scenario): Promise<void> {
  const name = scenario.lock('settled', false);
  for (const { address } of fleet.members) {
    const client = new LockClient(address, { patienceMs: 1000 });
    try {
      await eventually(
        `a grant at ${address}`,
        async () => {
          const { leaseId } = await client.acquire({ name, waitMs: 1000, ttlMs: 100 });
          return (await client.release(leaseId)).released;
        },
        { timeoutMs: SETTLING_MS, everyMs: 200 },
      );
    } finally {
      client.close();
    }
  }
}
