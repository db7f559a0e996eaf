/**
 * A node of a linked list of open calls. Open calls are not kept in a Set: after a Set has grown, its old tables keep
 * calls in memory until a full garbage collection.
 */
export class Place<Call> {
  private previous: Place<Call> = this;
  private following: Place<Call> = this;

  /** @param call undefined: the head of a list */
  constructor(readonly call: Call | undefined) {}

  /** For the head: the place that has been in the list for the longest time, or the head itself. */
  get next(): Place<Call> {
    return this.following;
  }

  /** For the head: the list is empty. */
  get isAlone(): boolean {
    return this.following === this;
  }

  /** For the head: puts a call at the end of the list. */
  append(call: Call): Place<Call> {
    const place = new Place(call);
    place.previous = this.previous;
    place.following = this;
    this.previous.following = place;
    this.previous = place;
    return place;
  }

  /** For the head: all calls of the list. */
  get all(): readonly Call[] {
    const calls: Call[] = [];
    for (let place = this.following; place.call !== undefined; place = place.following)
      calls.push(place.call);
    return calls;
  }

  /** Takes the call out of the list. Safe to call twice. */
  close(): void {
    this.previous.following = this.following;
    this.following.previous = this.previous;
    this.previous = this.following = this;
  }
}
