import { testCutSuggestions } from '../support/dictionary-suggest-cut';

testCutSuggestions(20, [20, 200]);
