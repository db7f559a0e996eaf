import type { ServerProcess } from '../../test/support/processes/server-process';
import type { SessionMoveTasks } from '../load/session-move';
import { figure, takeRounds, type Figure } from '../support/figures';
import { LoadProcess } from '../support/load-process';
import { monotonicMs } from '../support/monotonic';
import { costOf, onStage, startServer, warmUp, type Stage } from '../support/stage';
import type { RowContext } from './row';

const LEASES = 10_000;

/** Kills the server of the session, and measures the move to the next server. */
async function moveRound(
  load: LoadProcess<SessionMoveTasks>,
  victim: ServerProcess,
  next: Stage,
): Promise<Figure[]> {
  let whole = 0;
  let attaching = 0;
  const cost = await costOf(next, async () => {
    const moving = load.ask('move', { address: next.server.listen });
    const killedAt = monotonicMs();
    await victim.kill();
    const { brokenAt, attachedAt } = await moving;
    whole = attachedAt - killedAt;
    attaching = attachedAt - brokenAt;
    return LEASES;
  });
  const name = (what: string) => `re-attach of ${LEASES} leases after kill -9: ${what}`;
  return [
    figure(name('from the kill to the last attach'), 'ms', whole, { most: 3000 }),
    figure(name('of that from the break of the stream'), 'ms', attaching),
    figure(name('server CPU an attach'), 'µs', cost.server),
    figure(name('Redis CPU an attach'), 'µs', cost.redis),
  ];
}

/** One session moves between two servers. Each server that is killed is started again, and warm, before the next move. */
export function sessionMoves({ quick, say }: RowContext): Promise<Figure[]> {
  return onStage(async ({ redis, server }) => {
    const start = () => startServer(redis.url);
    const load = new LoadProcess<SessionMoveTasks>('session-move');
    let [from, to] = [server, await start()];
    try {
      await warmUp({ redis, server: to });
      await load.ask('hold', { address: from.listen, count: LEASES });
      const counts = quick ? { warmUps: 1, rounds: 2 } : { warmUps: 2, rounds: 10 };
      say(`${counts.rounds} moves of ${LEASES} leases to another server`);
      return await takeRounds(counts, async () => {
        const figures = await moveRound(load, from, { redis, server: to });
        await from.close();
        [from, to] = [to, await start()];
        await warmUp({ redis, server: to });
        return figures;
      });
    } finally {
      load.end();
      await from.close();
      await to.close();
    }
  });
}
