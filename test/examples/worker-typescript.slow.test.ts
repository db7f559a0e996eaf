import { typescriptWorker } from './launchers';
import { SLOW_SCENARIOS, workerSuite } from './worker-suite';

workerSuite(
  'the TypeScript worker',
  SLOW_SCENARIOS,
  () => Promise.resolve(typescriptWorker),
  typescriptWorker,
);
