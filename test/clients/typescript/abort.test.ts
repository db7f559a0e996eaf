import { getEventListeners } from 'node:events';
import { InvalidRequestError } from '../../../clients/typescript';
import { checkedSignal, either, onAbort } from '../../../clients/typescript/calls/abort';

const listenersOf = (signal: AbortSignal) => getEventListeners(signal, 'abort').length;

test('a signal has one listener for all waits, and none after them', () => {
  const { signal } = new AbortController();
  const removals = Array.from({ length: 1000 }, () => onAbort(signal, () => undefined));
  expect(listenersOf(signal)).toBe(1);
  removals.forEach((remove) => remove());
  expect(listenersOf(signal)).toBe(0);
});

test('an abort calls each function once, and no function that was removed', () => {
  const controller = new AbortController();
  const { signal } = controller;
  const calls: string[] = [];
  const same = () => void calls.push('same');
  onAbort(signal, same);
  onAbort(signal, same);
  const remove = onAbort(signal, () => void calls.push('removed'));
  onAbort(signal, () => void calls.push('last'));
  remove();
  controller.abort();
  onAbort(signal, () => void calls.push('after'));
  expect(calls).toEqual(['same', 'same', 'last', 'after']);
});

test('a signal that has aborted keeps no function, and calls none that an earlier one has removed', () => {
  const controller = new AbortController();
  const calls: string[] = [];
  onAbort(controller.signal, () => {
    calls.push('first');
    remove();
  });
  const remove = onAbort(controller.signal, () => void calls.push('removed'));
  controller.abort();
  controller.signal.dispatchEvent(new Event('abort'));
  expect(calls).toEqual(['first']);
});

test('a second removal does not remove a later function', () => {
  const controller = new AbortController();
  const { signal } = controller;
  const remove = onAbort(signal, () => undefined);
  remove();
  const later = jest.fn();
  onAbort(signal, later);
  remove();
  onAbort(signal, later);
  expect(listenersOf(signal)).toBe(1);
  controller.abort();
  expect(later).toHaveBeenCalledTimes(2);
});

test('a value that is no AbortSignal is refused, and the error names the option', () => {
  for (const value of [null, 'now', 5, {}, new AbortController(), Symbol('stop')]) {
    const signal = value as AbortSignal;
    expect(() => checkedSignal(signal)).toThrow(InvalidRequestError);
    expect(() => either(signal, new AbortController().signal)).toThrow('signal must be an AbortSignal');
  }
});
