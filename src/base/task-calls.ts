/** The messages between a TaskThread and the module that the thread runs. */

/** What a call takes, and what the thread answers. */
interface Task {
  readonly takes: unknown;
  readonly answers: unknown;
}

/** The calls of a thread by name. */
export type TasksOf<Calls> = { readonly [Name in keyof Calls]: Task };

export type NameOf<Calls> = keyof Calls & string;

export interface CallMessage<Calls extends TasksOf<Calls>, Name extends NameOf<Calls> = NameOf<Calls>> {
  readonly id: number;
  readonly name: Name;
  readonly value: Calls[Name]['takes'];
}

export interface AnswerMessage {
  readonly id: number;
  readonly value: unknown;
  /** Set if the call failed. */
  readonly error: Error | undefined;
}
