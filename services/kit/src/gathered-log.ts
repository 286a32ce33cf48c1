import { cut } from './characters.ts';
import { systemTime, type Time } from './clock.ts';

/** Fields of a log line. */
export type Fields = Readonly<Record<string, unknown>>;

/**
 * Tells of an event. `kind`: what all events of its kind have in common, which becomes fields of each line.
 * `example`: what is this one's own (an address, a name).
 */
export type GatheredLog = (kind: Fields, example: Fields) => void;

export interface GatheredLogOptions {
  /** Least time between two lines of one kind; milliseconds. */
  readonly everyMs?: number;
  /** Kinds that are told apart at the same time; events of further kinds are told together. */
  readonly mostKinds?: number;
}

const defaults = { everyMs: 10_000, mostKinds: 50 };
/** Examples that a line shows. */
const mostExamples = 3;
/** Characters of a text in a line: it may come from outside. */
const mostCharacters = 200;

/** Events of one kind since its last line. */
interface Gathered {
  readonly kind: Fields;
  count: number;
  /** By their texts: one that is there already shows nothing more. */
  readonly examples: Map<string, Fields>;
}

/**
 * Log lines about what anybody can cause as often as they like, such as refusals. The first event of a kind is
 * written at once, with its example. From then on there is at most one line in `everyMs`, written by itself, with the
 * `count` of the events since the line before and a few `examples`. A kind without events for so long is new again.
 * Takes bounded memory, whatever the fields are. `write` gets the fields of a line.
 */
export function createGatheredLog(
  write: (fields: Fields) => void,
  options: GatheredLogOptions = {},
  time: Time = systemTime,
): GatheredLog {
  const { everyMs, mostKinds } = { ...defaults, ...options };
  const kinds = new Map<string, Gathered>();

  function wait(key: string, gathered: Gathered): void {
    const timer = time.setTimeout(() => {
      if (gathered.count === 0) {
        kinds.delete(key);
        return;
      }
      write({ ...gathered.kind, count: gathered.count, examples: [...gathered.examples.values()] });
      gathered.count = 0;
      gathered.examples.clear();
      wait(key, gathered);
    }, everyMs);
    timer.unref();
  }

  return (givenKind, givenExample) => {
    let kind = bounded(givenKind);
    let example = bounded(givenExample);
    let key = JSON.stringify(kind);
    if (!kinds.has(key) && kinds.size >= mostKinds) {
      // One of those for all that have no room.
      example = { ...kind, ...example };
      kind = {};
      key = '';
    }
    const found = kinds.get(key);
    if (!found) {
      const gathered: Gathered = { kind, count: 0, examples: new Map() };
      kinds.set(key, gathered);
      wait(key, gathered);
      write({ ...kind, ...example });
      return;
    }
    found.count += 1;
    if (found.examples.size < mostExamples) found.examples.set(JSON.stringify(example), example);
  };
}

/** Long texts cut, so that a line and what waits for it stay small. */
function bounded(fields: Fields): Fields {
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [
      name,
      typeof value === 'string' && value.length > mostCharacters ? `${cut(value, mostCharacters)}…` : value,
    ]),
  );
}
