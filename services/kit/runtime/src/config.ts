import { readFileSync } from 'node:fs';
import { withoutPassword } from './redact.ts';
import { userText } from './user-text.ts';

/** One configuration key: its meaning, its parser, and its default. */
export interface ConfigKey<T> {
  /** Effect of the key, for the docs; one sentence. */
  readonly doc: string;
  /** A valid value, which is shown if the given value is invalid. */
  readonly example: string;
  /** Value if the variable is not set. Without a default, a key that is not required is undefined. */
  readonly default?: T;
  readonly required?: boolean;
  /** Throws an Error whose message explains why the text is invalid. */
  readonly parse: (text: string) => T;
  /**
   * Minimum if NODE_ENV is production. Tests use shorter leases, which a production platform could not
   * renew in time.
   */
  readonly productionMin?: number;
  /** Pattern that the value must match if NODE_ENV is production, and the reason. */
  readonly productionForm?: { readonly pattern: RegExp; readonly reason: string };
  /** Throws an Error with the reason if a value that is otherwise valid is not allowed in production. */
  productionCheck?(value: T): void;
  /** Never shown in messages or logs; may be given as a file by KEY_FILE. */
  readonly secret?: boolean;
  /** A generated secret. In production, its value must have several different characters. */
  readonly random?: true;
  /** Name in an earlier release. If only this name is set, the start fails: the value would be ignored. */
  readonly formerName?: string;
}

export type ConfigSpec = Record<string, ConfigKey<unknown>>;

/** The values of a specification. A key that is not set is undefined only if it has no default. */
export type ConfigOf<S extends ConfigSpec> = {
  readonly [K in keyof S]: S[K] extends { default: infer _D } | { required: true }
    ? S[K] extends ConfigKey<infer T>
      ? T
      : never
    : S[K] extends ConfigKey<infer T>
      ? T | undefined
      : never;
};

type KeyOptions<T> = Omit<ConfigKey<T>, 'parse'>;

/** A non-empty text, optionally of a certain form. */
export function text<const O extends KeyOptions<string> & { pattern?: RegExp; form?: string }>(o: O) {
  return {
    ...o,
    parse: (value: string): string => {
      if (value === '') throw new Error('is empty');
      if (o.pattern && !o.pattern.test(value)) throw new Error(`is not ${o.form ?? o.pattern}`);
      return value;
    },
  };
}

/** A whole number within bounds. */
export function integer<const O extends KeyOptions<number> & { min: number; max: number }>(o: O) {
  return {
    ...o,
    parse: (value: string): number => {
      const n = /^-?\d+$/.test(value) ? Number(value) : Number.NaN;
      if (!(n >= o.min && n <= o.max)) {
        throw new Error(`is not a whole number from ${o.min} to ${o.max}`);
      }
      return n;
    },
  };
}

/** A number within bounds, fractions included. */
export function decimal<const O extends KeyOptions<number> & { min: number; max: number }>(o: O) {
  return {
    ...o,
    parse: (value: string): number => {
      const n = /^\d+(\.\d+)?$/.test(value) ? Number(value) : Number.NaN;
      if (!(n >= o.min && n <= o.max)) throw new Error(`is not a number from ${o.min} to ${o.max}`);
      return n;
    },
  };
}

/** `true` or `false`. */
export function boolean<const O extends KeyOptions<boolean>>(o: O) {
  return {
    ...o,
    parse: (value: string): boolean => {
      if (value !== 'true' && value !== 'false') throw new Error('is not true or false');
      return value === 'true';
    },
  };
}

/** One of the given words. */
export function choice<const O extends KeyOptions<string> & { words: readonly string[] }>(o: O) {
  return {
    ...o,
    parse: (value: string): O['words'][number] => {
      if (!o.words.includes(value)) {
        throw new Error(`is not one of ${o.words.join(', ')}`);
      }
      return value;
    },
  };
}

/** Address of a listener. With port 0, the system chooses a free port. */
export interface ListenAddress {
  readonly host: string;
  readonly port: number;
}

/** Returns host:port, with an IPv6 host in brackets, as in settings and URLs. */
export function addressText({ host, port }: ListenAddress): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/** An address of the form host:port. */
export function address<const O extends KeyOptions<ListenAddress>>(o: O) {
  return {
    ...o,
    parse: (value: string): ListenAddress => {
      const m = /^(\[[0-9a-fA-F:]+\]|[^:[\]]+):(\d{1,5})$/.exec(value);
      const port = Number(m?.[2]);
      if (!m || port > 65535) throw new Error('is not host:port');
      return { host: (m[1] as string).replace(/^\[|\]$/g, ''), port };
    },
  };
}

/** A problem of one key. */
export interface ConfigProblem {
  readonly setting: string;
  /** Names the key, its problem and an example value; never contains a secret. */
  readonly reason: string;
}

/** Error for an invalid configuration. Contains every invalid key, its problem and an example. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly problems: readonly ConfigProblem[];

  constructor(problems: readonly ConfigProblem[]) {
    super(problems.map(({ reason }) => reason).join('\n'));
    this.problems = problems;
  }
}

/** Minimum number of different characters in a random secret. A random text of 16 characters has more in practice. */
const minDistinctCharacters = 6;

/** Throws an Error with the reason if a value that is otherwise valid is not allowed in production. */
function checkForProduction(k: ConfigKey<unknown>, raw: string, value: unknown): void {
  if (k.productionMin !== undefined && (value as number) < k.productionMin) {
    throw new Error(`is below ${k.productionMin}, the least in production`);
  }
  if (k.productionForm && !k.productionForm.pattern.test(raw)) {
    throw new Error(`is refused in production: ${k.productionForm.reason}`);
  }
  k.productionCheck?.(value);
  if (!k.secret) return;
  if (raw === k.example)
    throw new Error('is the example of the documentation, which is refused in production');
  if (k.random && new Set(raw).size < minDistinctCharacters) {
    throw new Error('repeats a few characters, which is refused in production: draw a random text');
  }
}

/** Valid values of NODE_ENV; unset is development. */
const environments = ['production', 'development', 'test'];

/** Rejects unknown values: `prod` would otherwise count as development and disable the production checks. */
function environmentProblem(env: Record<string, string | undefined>): ConfigProblem | undefined {
  const given = env['NODE_ENV'];
  if (given === undefined || environments.includes(given)) return undefined;
  const reason = `NODE_ENV: ${JSON.stringify(given)} is not one of ${environments.join(', ')}. Production refuses what is for trials and tests. Example: NODE_ENV=production`;
  return { setting: 'NODE_ENV', reason };
}

/**
 * Reads the keys of a specification from environment variables. Returns a frozen object. For a secret, KEY_FILE may
 * give the path of a file that contains it. Throws a ConfigError that names every invalid key, including an invalid
 * NODE_ENV.
 */
export function readConfig<const S extends ConfigSpec>(
  spec: S,
  env: Record<string, string | undefined>,
): ConfigOf<S> {
  const values: Record<string, unknown> = {};
  const problems: ConfigProblem[] = [];
  const wrong = (setting: string, reason: string) => problems.push({ setting, reason });
  const environment = environmentProblem(env);
  if (environment) problems.push(environment);
  for (const [key, k] of Object.entries(spec)) {
    let raw = env[key];
    if (raw === undefined && k.formerName && env[k.formerName] !== undefined) {
      wrong(k.formerName, `${k.formerName} was renamed: set ${key} instead. ${k.doc}`);
      continue;
    }
    const file = env[`${key}_FILE`];
    if (raw !== undefined && k.secret && file !== undefined) {
      wrong(key, `${key} and ${key}_FILE are both set: unset one. ${k.doc}`);
      continue;
    }
    if (k.secret && file !== undefined) {
      try {
        raw = userText(readFileSync(file)).trim();
      } catch (e) {
        const example = `Example: ${key}_FILE=/run/secrets/${key}`;
        wrong(`${key}_FILE`, `${key}_FILE cannot be read (${(e as Error).message}). ${k.doc} ${example}`);
        continue;
      }
    }
    if (raw === undefined || raw === '') {
      if (raw === '' || (k.required && k.default === undefined)) {
        wrong(key, `${key} is ${raw === '' ? 'empty' : 'missing'}. ${k.doc} Example: ${key}=${k.example}`);
      } else {
        values[key] = k.default;
      }
      continue;
    }
    try {
      const value = k.parse(raw);
      if (env['NODE_ENV'] === 'production') checkForProduction(k, raw, value);
      values[key] = value;
    } catch (e) {
      const shown = k.secret ? 'the value' : withoutPassword(JSON.stringify(raw));
      wrong(key, `${key}: ${shown} ${(e as Error).message}. ${k.doc} Example: ${key}=${k.example}`);
    }
  }
  if (problems.length > 0) throw new ConfigError(problems);
  return Object.freeze(values) as ConfigOf<S>;
}
