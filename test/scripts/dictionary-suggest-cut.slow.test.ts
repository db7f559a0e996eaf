import { testCutSuggestions } from '../support/dictionary-suggest-cut';

testCutSuggestions(60, [20, 200, 700]);
