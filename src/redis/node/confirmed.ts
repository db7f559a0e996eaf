import type { AnsweringNode } from './answering-node';

/**
 * Makes a `read` of a command: if `mustConfirm` returns true for the reply, the answer waits until the replicas have the
 * state that the reply reports. A reply may report the work of an earlier try, which the replicas have not confirmed.
 */
export function confirmed<Raw, T>(
  key: string,
  read: (reply: Raw) => T,
  mustConfirm: (answer: T) => boolean,
): (reply: Raw, sentAt: number, by: AnsweringNode) => T | Promise<T> {
  return (reply, sentAt, by) => {
    const answer = read(reply);
    return mustConfirm(answer) ? by.confirm(key, sentAt).then(() => answer) : answer;
  };
}
