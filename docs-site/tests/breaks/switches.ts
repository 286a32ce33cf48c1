import { appendFileSync } from 'node:fs';

/** State of the switches of `instrument`. Loaded into the test process and its child processes. */
const state = {
  /** Number of the active mutant; -1 for none. */
  on: Number(process.env['MUTANT_ON'] ?? -1),
  hits: new Set<number>(),
};

/** Returns a different value of the same type; unknown types are unchanged. */
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

// Each process appends the numbers of the switches that it has reached.
const hitsFile = process.env['MUTANT_HITS'];
if (hitsFile) process.once('exit', () => appendFileSync(hitsFile, `${[...state.hits].join('\n')}\n`));
