import { findPythonWorker, typescriptWorker } from './launchers';
import { workerSuite } from './worker-suite';

workerSuite('the worker in Python', findPythonWorker, typescriptWorker);
