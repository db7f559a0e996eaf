import { typescriptWorker } from './launchers';
import { workerSuite } from './worker-suite';

workerSuite('the worker in TypeScript', () => Promise.resolve(typescriptWorker), typescriptWorker);
