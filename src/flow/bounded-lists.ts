/** A map with a bound. A new entry takes the place of the entry that was not used for the longest time. */
export class BoundedCache<Value> {
  private readonly entries = new Map<string, Value>();

  constructor(private readonly capacity: number) {}

  get size(): number {
    return this.entries.size;
  }

  get(key: string): Value | undefined {
    const value = this.entries.get(key);
    if (value === undefined) return undefined;
    // Entries of a map are in the order of their insertion.
    this.entries.delete(key);
    this.entries.set(key, value);
    return value;
  }

  set(key: string, value: Value): void {
    this.entries.delete(key);
    this.entries.set(key, value);
    if (this.entries.size <= this.capacity) return;
    for (const oldest of this.entries.keys()) {
      this.entries.delete(oldest);
      return;
    }
  }

  delete(key: string): void {
    this.entries.delete(key);
  }

  clear(): void {
    this.entries.clear();
  }
}

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
