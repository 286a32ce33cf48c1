/** Names of fields whose values are never written to a log. */
export const secretFields = ['authorization', 'authenticationKey', 'clientSecret', 'body'] as const;

/** Text that replaces the value of a secret field. */
export const censor = '[redacted]';

/** Maximum depth below the fields of a line at which secret fields are masked. */
const maxDepth = 4;

/**
 * Masks `secretFields` below the top-level fields of a log line; pino masks the top-level fields itself. Most lines
 * have only texts and numbers and are returned unchanged. `err` is masked after its serialization.
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

/** Returns a copy with masked `secretFields`, or the value itself if it has none. */
export function maskSecrets(value: unknown, levels = maxDepth): unknown {
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
