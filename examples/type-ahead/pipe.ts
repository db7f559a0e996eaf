import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import type { Suggestion } from '../../generated/typescript/holdfast/v1/autocomplete_service';
import { spanText } from '../worker-typescript/words';
import type { AutocompleteServers } from './calls';
import { Queries, type Answer } from './queries';
import { highlighted, kindText } from './screen';
import { refusalText } from './trouble';

/** A script should rather fail than hang. */
const PATIENCE_MS = 10_000;

export interface PipeSetting {
  readonly servers: AutocompleteServers;
  readonly dictionary: string;
  readonly recents: string;
  readonly input: Readable;
  readonly say: (line: string) => void;
}

/**
 * Answers to each line of the input, one after the other: a line with a `#` in front, then a line for each
 * suggestion with its kind, its score, `recent` or `-`, and its text, matches in brackets, between tabs.
 *
 * Answers false if a line was refused. Rejects where no server answers.
 */
export async function answerLines({
  servers,
  dictionary,
  recents,
  input,
  say,
}: PipeSetting): Promise<boolean> {
  let settle: { resolve(answer: Answer): void; reject(error: unknown): void } | undefined;
  let broken = '';
  const queries = new Queries(
    servers,
    { dictionary, recents },
    {
      onAnswer: (answer) => settle?.resolve(answer),
      onBroken: (why) => (broken = why),
      onFailed: (error) => settle?.reject(error),
    },
  );
  let allAnswered = true;
  try {
    for await (const line of createInterface({ input, crlfDelay: Infinity })) {
      const answered = new Promise<Answer>((resolve, reject) => (settle = { resolve, reject }));
      const timer = setTimeout(
        () => settle?.reject(new Error(`no answer within ${spanText(PATIENCE_MS)}: ${broken}`)),
        PATIENCE_MS,
      );
      queries.ask(line);
      const answer = await answered.finally(() => clearTimeout(timer));
      linesFor(answer, dictionary).forEach((one) => say(one));
      allAnswered &&= answer.result.$case === 'suggestions';
    }
  } finally {
    queries.close();
  }
  return allAnswered;
}

function linesFor({ query, result, latencyMs }: Answer, dictionary: string): string[] {
  if (result.$case === 'error') return [`# ${query}: refused: ${refusalText(result.value, dictionary)}`];
  const { suggestions, partial } = result.value;
  const more = partial ? ', partial' : '';
  return [
    `# ${query}: ${suggestions.length} in ${spanText(latencyMs)}${more}`,
    ...suggestions.map((one) => lineFor(one)),
  ];
}

function lineFor({ matchKind, score, recent, segments }: Suggestion): string {
  return [kindText(matchKind), score, recent ? 'recent' : '-', highlighted(segments, false)].join('\t');
}
