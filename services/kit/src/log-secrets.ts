/** Names of fields whose values are never written to a log. */
export const secretFields = ['authorization', 'authenticationKey', 'clientSecret', 'body'] as const;

/** What a log has in the place of such a value. */
export const censor = '[redacted]';

/** How deep below a line's own fields such names are looked for. */
const depth = 4;

/**
 * A line's fields without the values of `secretFields` below them; those among them are pino's to censor. Most lines
 * have nothing but texts and numbers, which this leaves as they are. `err` is covered once it is serialized.
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

/** The value as a log may show it: itself, or a copy without the values of `secretFields`. */
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
