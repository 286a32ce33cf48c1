import { isScalar, parseDocument, visit } from 'yaml';

/** `JSON.rawJSON` is missing in TypeScript's types; Node 22 and later have it. */
const raw = JSON as typeof JSON & { rawJSON(text: string): unknown };

/**
 * Keeps the source text of numbers in examples that JavaScript cannot reproduce (`1.0`, `9007199254740993`): they
 * become `JSON.rawJSON` values. Numbers outside examples are limits, which are compared: they stay numbers.
 */
export function keepNumerals<T>(document: T, source: string): T {
  const copy = structuredClone(document);
  visit(parseDocument(source), {
    Scalar(_key, node, path) {
      if (typeof node.value !== 'number' || node.source === undefined) return;
      if (String(node.value) === node.source || !/^-?\d+(\.\d+)?([eE][+-]?\d+)?$/.test(node.source)) return;
      const names = path.flatMap((one) => ('key' in one && isScalar(one.key) ? [String(one.key.value)] : []));
      if (!names.some((name) => name === 'example' || name === 'examples')) return;
      replace(copy, node.value, node.source, path, node);
    },
  });
  return copy;
}

/** Follows the path to the number and replaces it. Does nothing if the bundle has another value there. */
function replace(root: unknown, value: number, text: string, path: readonly unknown[], node: unknown): void {
  const steps: (string | number)[] = [];
  const chain = [...path, node];
  chain.forEach((one, index) => {
    const next = chain[index + 1];
    const items = (one as { items?: unknown[] }).items;
    if (Array.isArray(items) && next !== undefined && !isPair(next)) steps.push(items.indexOf(next));
    if (isPair(one)) steps.push(String((one.key as { value?: unknown }).value));
  });
  let holder = root as Record<string | number, unknown> | undefined;
  for (const step of steps.slice(0, -1)) holder = holder?.[step] as typeof holder;
  const last = steps.at(-1);
  if (holder && last !== undefined && holder[last] === value) holder[last] = raw.rawJSON(text);
}

const isPair = (node: unknown): node is { key: unknown; value: unknown } =>
  typeof node === 'object' && node !== null && 'key' in node && 'value' in node;
