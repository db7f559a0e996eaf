import { typescriptWorker } from './launchers';
import { QUICK_SCENARIOS, workerSuite } from './worker-suite';

workerSuite(
  'the TypeScript worker',
  QUICK_SCENARIOS,
  () => Promise.resolve(typescriptWorker),
  typescriptWorker,
);
