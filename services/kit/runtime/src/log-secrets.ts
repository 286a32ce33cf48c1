/** Names of fields whose values are never written to a log. */
export const secretFields = ['authorization', 'authenticationKey', 'clientSecret', 'body'] as const;

/** Replaces such a value in a log line. */
export const censor = '[redacted]';

/** Maximum depth below a line's own fields at which these names are replaced. */
const depth = 4;

/**
 * Returns the fields of a line without the values of `secretFields` below them; pino censors the top-level fields. Most
 * lines have only texts and numbers, which stay unchanged. `err` is masked after its serialization.
 */
export function maskFields(fields: Record<string, unknown>): Record<string, unknown> {
  let masked: Record<string, unknown> | undefined;
  for (const name in fields) {
    const value = fields[name];
    if (typeof value !== 'object' || value === null || name === 'err') continue;
    const shown = maskSecrets(value);
    if (shown === value) continue;
    masked ??= { ...fields };
    masked[name] = shown;
  }
  return masked ?? fields;
}

/** Returns the value itself, or a copy without the values of `secretFields`. */
export function maskSecrets(value: unknown, levels = depth): unknown {
  if (typeof value !== 'object' || value === null || levels === 0) return value;
  const { toJSON } = value as { toJSON?: unknown };
  if (typeof toJSON === 'function') return maskSecrets(toJSON.call(value), levels - 1);
  if (Array.isArray(value)) return maskItems(value, levels);
  let masked: Record<string, unknown> | undefined;
  for (const [name, inner] of Object.entries(value)) {
    const shown = isSecret(name) && inner !== undefined ? censor : maskSecrets(inner, levels - 1);
    if (shown === inner) continue;
    masked ??= { ...value };
    masked[name] = shown;
  }
  return masked ?? value;
}

function maskItems(items: readonly unknown[], levels: number): unknown {
  const shown = items.map((item) => maskSecrets(item, levels - 1));
  return shown.some((item, i) => item !== items[i]) ? shown : items;
}

function isSecret(name: string): boolean {
  return (secretFields as readonly string[]).includes(name);
}
