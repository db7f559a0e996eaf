/** A version of one history. */
export interface Position {
  readonly version: number;
  readonly tail: string;
}
