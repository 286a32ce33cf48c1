import { render } from './chart.ts';
import { scenarios } from './scenarios.ts';

interface Case {
  readonly values: unknown;
  readonly said: readonly string[];
}
export type Wrong = readonly [what: string, values: unknown, ...said: string[]];

/** A test for each invalid value: Helm's message contains the path, and the problem or the remedy. */
export const refusals = (scenario: string, wrong: readonly Wrong[]) =>
  it.each(wrong.map(([what, values, ...said]): [string, Case] => [what, { values, said }]))(
    '%s',
    (_, { values, said }) => {
      const refused = () => render({ ...scenarios[scenario], values });
      for (const words of said) expect(refused).toThrow(words);
    },
  );

/** `value` at a path of names, divided by dots. */
export const at = (path: string, value: unknown): Record<string, unknown> =>
  path.split('.').reduceRight<unknown>((inner, key) => ({ [key]: inner }), value) as Record<string, unknown>;

/** A deep merge: values of `over` replace values of `base`. */
export function merged(base: unknown, over: unknown): unknown {
  const isMap = (it: unknown): it is Record<string, unknown> =>
    typeof it === 'object' && it !== null && !Array.isArray(it);
  if (!isMap(base) || !isMap(over)) return over === undefined ? base : over;
  const keys = new Set([...Object.keys(base), ...Object.keys(over)]);
  return Object.fromEntries([...keys].map((key) => [key, merged(base[key], over[key])]));
}
