import type { Micros } from '../history';

interface Entry {
  readonly at: Micros;
  readonly order: number;
  readonly run: () => void;
}

/** A manual clock with timers. Time passes only from timer to timer, so every run of a plan is the same. */
export class ManualLoop {
  now: Micros;
  private readonly heap: Entry[] = [];
  private order = 0;

  constructor(start: Micros) {
    this.now = start;
  }

  at(time: Micros, run: () => void): void {
    this.order += 1;
    this.push({ at: Math.max(time, this.now), order: this.order, run });
  }

  after(delay: Micros, run: () => void): void {
    this.at(this.now + delay, run);
  }

  runUntil(end: Micros): void {
    for (let next = this.heap[0]; next !== undefined && next.at <= end; next = this.heap[0]) {
      this.pop();
      this.now = next.at;
      next.run();
    }
    this.now = end;
  }

  private push(entry: Entry): void {
    let index = this.heap.push(entry) - 1;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if (!this.swapIfBefore(index, parent)) break;
      index = parent;
    }
  }

  private pop(): void {
    const last = this.heap.pop();
    if (last === undefined || this.heap.length === 0) return;
    this.heap[0] = last;
    let index = 0;
    for (;;) {
      const left = 2 * index + 1;
      const right = left + 1;
      const child = right < this.heap.length && this.isBefore(right, left) ? right : left;
      if (child >= this.heap.length || !this.swapIfBefore(child, index)) break;
      index = child;
    }
  }

  private isBefore(a: number, b: number): boolean {
    const first = this.heap[a];
    const second = this.heap[b];
    if (first === undefined || second === undefined) return false;
    return first.at !== second.at ? first.at < second.at : first.order < second.order;
  }

  private swapIfBefore(a: number, b: number): boolean {
    if (!this.isBefore(a, b)) return false;
    const first = this.heap[a];
    const second = this.heap[b];
    if (first === undefined || second === undefined) return false;
    this.heap[a] = second;
    this.heap[b] = first;
    return true;
  }
}
