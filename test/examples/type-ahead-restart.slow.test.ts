import { ServerProcess } from '../support/processes/server-process';
import { TypeAheadStage } from './type-ahead-stage';
import { TypistTerminal } from './typist-terminal';

let stage: TypeAheadStage;

beforeAll(async () => (stage = await TypeAheadStage.open()));
beforeEach(() => stage.reset());
afterAll(() => stage?.close());

test('type-ahead at a terminal answers the typed text again after a restart of the server', async () => {
  const { redisUrl, dictionary, recents } = stage;
  const server = await ServerProcess.start({ redisUrl });
  const alice = new TypistTerminal(server.listen, dictionary, recents);
  let restarted: ServerProcess | undefined;
  try {
    alice.type('hou');
    await alice.sees(/\[hou\]se$/);
    await server.kill();
    await alice.sees(/^the stream broke \(.+\); trying again/);
    alice.type('si');
    restarted = await ServerProcess.start({ redisUrl, listen: server.listen });
    expect((await alice.sees(/\[housi\]ng$/))[0]).toBe('> housi');
    // The next answer comes without a further key.
    await restarted.term();
    await alice.sees(/trying again/);
    restarted = await ServerProcess.start({ redisUrl, listen: server.listen });
    await alice.seesAnswer();
  } finally {
    await Promise.all([alice.close(), server.close(), restarted?.close()]);
  }
});
