import { sayNotChecked } from '../support/not-checked';
import type { ExampleLanguage, FoundExamples } from './example-languages';
import { LEADER_SCENES } from './scenes/leader-scenes';
import { POOL_SCENES } from './scenes/pool-scenes';
import type { Scene } from './scenes/scene';
import { TYPE_AHEAD_SCENES } from './scenes/type-ahead-scenes';
import { SECOND_SIGNAL_SCENES, WORKER_SCENES } from './scenes/worker-scenes';
import { Stage } from './stage';

export const SCENES: readonly Scene[] = [
  ...WORKER_SCENES,
  ...POOL_SCENES,
  ...LEADER_SCENES,
  ...TYPE_AHEAD_SCENES,
];

export { SECOND_SIGNAL_SCENES };

/** For the first build of a language's examples, with its packages. */
const BUILD_TIMEOUT_MS = 900_000;

/** Checks what examples/README.md promises about the examples of one language. */
export function testScenes({ language, find }: ExampleLanguage, scenes: readonly Scene[]): void {
  describe(`the examples in ${language}`, () => {
    let stage: Stage | undefined;
    let found: FoundExamples;

    beforeAll(async () => {
      found = await find();
      if ('missing' in found) return sayNotChecked(`the examples in ${language}`, found.missing);
      stage = await Stage.open();
    }, BUILD_TIMEOUT_MS);

    afterAll(() => stage?.close());
    beforeEach(() => stage?.reset());
    afterEach(() => stage?.clear());

    test.each(scenes)('$title', async ({ run }) => {
      if (stage && !('missing' in found)) await run({ stage, program: found });
    });
  });
}
