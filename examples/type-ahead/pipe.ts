import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import type { Suggestion } from '../../generated/typescript/holdfast/v1/autocomplete_service';
import { spanText } from '../worker-typescript/words';
import type { AutocompleteServers } from './calls';
import { Queries, type Answer } from './queries';
import { highlighted, kindText } from './screen';
import { refusalText } from './error-text';

/** The time limit for one answer, so that a script fails instead of hanging. */
const ANSWER_TIMEOUT_MS = 10_000;

export interface PipeSettings {
  readonly servers: AutocompleteServers;
  readonly dictionary: string;
  readonly recents: string;
  readonly input: Readable;
  readonly print: (line: string) => void;
}

/**
 * Looks up each line of the input in order. Prints a line that starts with `#`, then one line per suggestion: the kind,
 * the score, `recent` or `-`, and the text with the matches in brackets, separated by tabs.
 *
 * Resolves to false if the server refused a line. Rejects if no server answers.
 */
export async function answerLines({
  servers,
  dictionary,
  recents,
  input,
  print,
}: PipeSettings): Promise<boolean> {
  let settle: { resolve(answer: Answer): void; reject(error: unknown): void } | undefined;
  let breakReason = '';
  const queries = new Queries(
    servers,
    { dictionary, recents },
    {
      onAnswer: (answer) => settle?.resolve(answer),
      onBroken: (why) => (breakReason = why),
      onFailed: (error) => settle?.reject(error),
    },
  );
  let allAnswered = true;
  try {
    for await (const line of createInterface({ input, crlfDelay: Infinity })) {
      const answered = new Promise<Answer>((resolve, reject) => (settle = { resolve, reject }));
      const timer = setTimeout(
        () => settle?.reject(new Error(`no answer within ${spanText(ANSWER_TIMEOUT_MS)}: ${breakReason}`)),
        ANSWER_TIMEOUT_MS,
      );
      queries.ask(line);
      const answer = await answered.finally(() => clearTimeout(timer));
      linesFor(answer, dictionary).forEach((text) => print(text));
      allAnswered &&= answer.result.$case === 'suggestions';
    }
  } finally {
    queries.close();
  }
  return allAnswered;
}

function linesFor({ query, result, latencyMs }: Answer, dictionary: string): string[] {
  if (result.$case === 'error') return [`# ${query}: refused: ${refusalText(result.value, dictionary)}`];
  const { suggestions } = result.value;
  return [
    `# ${query}: ${suggestions.length} in ${spanText(latencyMs)}`,
    ...suggestions.map((suggestion) => lineFor(suggestion)),
  ];
}

function lineFor({ matchKind, score, recent, segments }: Suggestion): string {
  return [kindText(matchKind), score, recent ? 'recent' : '-', highlighted(segments, false)].join('\t');
}
