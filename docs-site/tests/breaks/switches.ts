import { appendFileSync } from 'node:fs';

/** The switches that `instrument` put in: loaded into the process of the tests, and into those that they start. */
const state = {
  /** The mutant that is on. */
  on: Number(process.env['MUTANT_ON'] ?? -1),
  hits: new Set<number>(),
};

/** Another value of the same kind; what has no kind stays. */
function other(value: unknown, isDeep = true): unknown {
  if (value === undefined || value === null) return 'seeded';
  if (typeof value === 'string') return value === '' ? 'seeded' : '';
  if (typeof value === 'number') return value + 1;
  if (typeof value === 'boolean') return !value;
  if (value instanceof Promise) return value.then((one) => other(one));
  if (value instanceof Uint8Array) return value.subarray(0, Math.max(0, value.length - 1));
  if (Array.isArray(value)) return value.length > 0 ? [] : ['seeded'];
  if (value instanceof Map) return new Map();
  if (value instanceof Set) return value.size > 0 ? new Set() : new Set(['seeded']);
  if (!isDeep || typeof value !== 'object') return value;
  const prototype = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, other(one, false)]));
}

const isOn = (id: number): boolean => {
  state.hits.add(id);
  return state.on === id;
};

Object.assign(globalThis, {
  mutants: state,
  mutant: {
    leave: isOn,
    value: (id: number, value: unknown) => (isOn(id) ? other(value) : value),
    condition: (id: number, value: unknown) => (isOn(id) ? !value : value),
  },
});

// A process that a test started tells which switches it has passed.
const told = process.env['MUTANT_HITS'];
if (told) process.once('exit', () => appendFileSync(told, `${[...state.hits].join('\n')}\n`));
