import { findPythonExample, typescriptWorker } from './launchers';
import { workerSuite } from './worker-suite';

workerSuite('the worker in Python', () => findPythonExample('worker-python', 'worker.py'), typescriptWorker);
