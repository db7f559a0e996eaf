import { findPythonExample, typescriptWorker } from './launchers';
import { STREAM_WORKER_SCENARIOS, workerSuite } from './worker-suite';

workerSuite(
  'the Python worker',
  STREAM_WORKER_SCENARIOS,
  () => findPythonExample('worker-python', 'worker.py'),
  typescriptWorker,
);
