/** Names of fields whose values are never written to a log. */
export const secretFields = ['authorization', 'authenticationKey', 'clientSecret', 'body'] as const;

/** Replaces such a value in a log line. */
export const censor = '[redacted]';

/** Maximum depth below a line's own fields at which these names are replaced. */
const depth = 4;

/**
 * Returns the fields of a line without the values of `secretFields` below them; pino censors the top-level fields. Most
 * lines have only texts and numbers, which stay unchanged. `err` is covered after its serialization.
 */
export function coverFields(fields: Record<string, unknown>): Record<string, unknown> {
  let covered: Record<string, unknown> | undefined;
  for (const name in fields) {
    const value = fields[name];
    if (typeof value !== 'object' || value === null || name === 'err') continue;
    const shown = cover(value);
    if (shown === value) continue;
    covered ??= { ...fields };
    covered[name] = shown;
  }
  return covered ?? fields;
}

/** Returns the value itself, or a copy without the values of `secretFields`. */
export function cover(value: unknown, levels = depth): unknown {
  if (typeof value !== 'object' || value === null || levels === 0) return value;
  const { toJSON } = value as { toJSON?: unknown };
  if (typeof toJSON === 'function') return cover(toJSON.call(value), levels - 1);
  if (Array.isArray(value)) return coverItems(value, levels);
  let covered: Record<string, unknown> | undefined;
  for (const [name, inner] of Object.entries(value)) {
    const shown = isSecret(name) && inner !== undefined ? censor : cover(inner, levels - 1);
    if (shown === inner) continue;
    covered ??= { ...value };
    covered[name] = shown;
  }
  return covered ?? value;
}

function coverItems(items: readonly unknown[], levels: number): unknown {
  const shown = items.map((item) => cover(item, levels - 1));
  return shown.some((item, i) => item !== items[i]) ? shown : items;
}

function isSecret(name: string): boolean {
  return (secretFields as readonly string[]).includes(name);
}
