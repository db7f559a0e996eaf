import { testRandomHistories } from '../support/dictionary-properties';

// dictionary-properties.slow.test.ts runs more histories.
testRandomHistories(25);
