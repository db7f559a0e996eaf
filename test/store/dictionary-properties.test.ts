import { testRandomHistories } from '../support/autocomplete/dictionary-history';

// dictionary-properties.slow.test.ts runs more histories.
testRandomHistories(25);
