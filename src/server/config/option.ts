import type { z } from 'zod';
import { count, duration, filePath } from './values';

/** One setting. Its value has the type T. The parser and docs/configuration.md are both made from these fields. */
export interface Option<T> {
  /** The environment variable. */
  readonly name: `HOLDFAST_${string}`;
  /** The default value, in the syntax of `format`. */
  readonly default?: string;
  /** The server does not start without a value. */
  readonly required?: true;
  /** The syntax of the value. */
  readonly format: string;
  /** The smallest and the largest value, for formats with bounds. */
  readonly range?: string;
  readonly example: string;
  /** The effect of the setting, and when to change the value. */
  readonly about: string;
  readonly schema: z.ZodType<T, string>;
}

/** A setting with a default, or a required setting. Such a setting always has a value. */
export function option<T>(
  entry: Option<T> & ({ readonly default: string } | { readonly required: true }),
): Option<T> {
  return entry;
}

export function optional<T>(entry: Option<T>): Option<T | undefined> {
  return entry;
}

interface DurationOption extends Omit<Option<number>, 'format' | 'range' | 'schema'> {
  readonly default: string;
  readonly from: string;
  readonly to: string;
}

export function durationOption({ from, to, ...entry }: DurationOption): Option<number> {
  return option({ ...entry, format: 'duration', range: `${from} to ${to}`, schema: duration(from, to) });
}

interface CountOption extends Omit<Option<number>, 'format' | 'range' | 'schema'> {
  readonly default: string;
  readonly from: number;
  readonly to: number;
}

export function countOption({ from, to, ...entry }: CountOption): Option<number> {
  return option({ ...entry, format: 'whole number', range: `${from} to ${to}`, schema: count(from, to) });
}

export function fileOption(
  name: Option<string>['name'],
  example: string,
  about: string,
  format = 'path of a PEM file',
): Option<string | undefined> {
  return optional({ name, format, example, about, schema: filePath() });
}
