import { join } from 'node:path';
import { TaskThread } from '../../base/task-thread';
import type { ThreadCalls, ThreadSettings } from './thread-calls';

/** A worker thread that builds and searches layers. */
export class IndexThread extends TaskThread<ThreadCalls> {
  constructor(settings: ThreadSettings) {
    super(join(__dirname, 'index-thread-main'), settings);
  }
}
