import { cut } from './characters.ts';
import { systemTime, type Time } from './clock.ts';

/** Fields of a log line. */
export type Fields = Readonly<Record<string, unknown>>;

/**
 * Logs an event. `kind`: fields that are equal for all events of one kind; each line contains them. `example`: fields
 * of this event only (an address, a name).
 */
export type GatheredLog = (kind: Fields, example: Fields) => void;

export interface GatheredLogOptions {
  /** Minimum time between two lines of one kind; milliseconds. */
  readonly everyMs?: number;
  /** Maximum number of kinds with their own lines; events of further kinds share lines. */
  readonly maxKinds?: number;
}

const defaults = { everyMs: 10_000, maxKinds: 50 };
/** Maximum number of examples in a line. */
const maxExamples = 3;
/** Maximum length of a text in a line, because callers can choose texts. */
const maxCharacters = 200;

/** Events of one kind since its last line. */
interface Gathered {
  readonly kind: Fields;
  count: number;
  /** By their texts, so that equal examples appear once. */
  readonly examples: Map<string, Fields>;
}

/**
 * A rate-limited log for events that anybody can cause often, such as rejected calls. Writes the first event of a kind
 * at once, with its example. Then writes at most one line per `everyMs`, from a timer, with the `count` of the events
 * since the last line and a few `examples`. A kind that had no events for `everyMs` counts as new. Uses bounded
 * memory for any fields. `write` gets the fields of a line.
 */
export function createGatheredLog(
  write: (fields: Fields) => void,
  options: GatheredLogOptions = {},
  time: Time = systemTime,
): GatheredLog {
  const { everyMs, maxKinds } = { ...defaults, ...options };
  const kinds = new Map<string, Gathered>();

  function writeLater(key: string, gathered: Gathered): void {
    const timer = time.setTimeout(() => {
      if (gathered.count === 0) {
        kinds.delete(key);
        return;
      }
      write({ ...gathered.kind, count: gathered.count, examples: [...gathered.examples.values()] });
      gathered.count = 0;
      gathered.examples.clear();
      writeLater(key, gathered);
    }, everyMs);
    timer.unref();
  }

  return (givenKind, givenExample) => {
    let kind = bounded(givenKind);
    let example = bounded(givenExample);
    let key = JSON.stringify(kind);
    if (!kinds.has(key) && kinds.size >= maxKinds) {
      // All events beyond the maximum number of kinds share one entry.
      example = { ...kind, ...example };
      kind = {};
      key = '';
    }
    const found = kinds.get(key);
    if (!found) {
      const gathered: Gathered = { kind, count: 0, examples: new Map() };
      kinds.set(key, gathered);
      writeLater(key, gathered);
      write({ ...kind, ...example });
      return;
    }
    found.count += 1;
    if (found.examples.size < maxExamples) found.examples.set(JSON.stringify(example), example);
  };
}

/** Truncates long texts, so that lines and pending events stay small. */
function bounded(fields: Fields): Fields {
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [
      name,
      typeof value === 'string' && value.length > maxCharacters ? `${cut(value, maxCharacters)}…` : value,
    ]),
  );
}
