import { typescriptWorker } from './launchers';
import { SESSION_SCENARIOS, SLOW_SCENARIOS, workerSuite } from './worker-suite';

workerSuite(
  'the TypeScript worker',
  [...SLOW_SCENARIOS, ...SESSION_SCENARIOS],
  () => Promise.resolve(typescriptWorker),
  typescriptWorker,
);
