import { findPythonExample, typescriptWorker } from './launchers';
import { ALL_SCENARIOS, workerSuite } from './worker-suite';

workerSuite(
  'the Python worker',
  ALL_SCENARIOS,
  () => findPythonExample('worker-python', 'worker.py'),
  typescriptWorker,
);
