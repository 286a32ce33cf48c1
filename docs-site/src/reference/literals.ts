import type { Json } from './types';

/** `JSON.isRawJSON` is missing in TypeScript's types. `JSON.rawJSON` keeps the source text of a number. */
const json = JSON as typeof JSON & { isRawJSON?: (value: unknown) => boolean };

export const isRaw = (value: unknown): value is { readonly rawJSON: string } =>
  json.isRawJSON?.(value) ?? false;

/** Whether a value contains a number that JavaScript cannot represent. */
export const containsRaw = (value: Json): boolean =>
  isRaw(value) || (typeof value === 'object' && value !== null && Object.values(value).some(containsRaw));

/**
 * Formats JSON for samples. Escapes `{{`, which would be replaced by a reader value. The escape is valid in JSON,
 * JavaScript and Python.
 */
export const pretty = (value: Json): string => JSON.stringify(value, null, 2).replaceAll('{{', '{\\u007b');

/** Formats a value for running text: strings without quotes, unless they are empty or begin or end with a space. */
export const show = (value: Json): string =>
  typeof value === 'string' && value !== '' && value === value.trim() ? value : JSON.stringify(value);

const quote = (text: string): string =>
  `'${JSON.stringify(text).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'").replaceAll('{{', '{\\u007b')}'`;

/** Formats a value as a JavaScript literal; `indent` is the indentation of its last line. */
export function javascript(value: Json, indent = ''): string {
  const deeper = `${indent}  `;
  if (isRaw(value)) return value.rawJSON;
  if (typeof value === 'string') return quote(value);
  if (Array.isArray(value)) {
    return value.length === 0
      ? '[]'
      : `[\n${value.map((one: Json) => `${deeper}${javascript(one, deeper)},\n`).join('')}${indent}]`;
  }
  if (typeof value === 'object' && value !== null) {
    const members = Object.entries(value).map(([name, one]) => {
      return `${deeper}${/^[A-Za-z_$][\w$]*$/.test(name) ? name : quote(name)}: ${javascript(one, deeper)},\n`;
    });
    return members.length === 0 ? '{}' : `{\n${members.join('')}${indent}}`;
  }
  return JSON.stringify(value);
}

/** Formats a value as a Python literal; `indent` is the indentation of its last line. */
export function python(value: Json, indent = ''): string {
  const deeper = `${indent}    `;
  if (isRaw(value)) return value.rawJSON;
  if (value === null) return 'None';
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (typeof value === 'string') return JSON.stringify(value).replaceAll('{{', '{\\u007b');
  if (Array.isArray(value)) {
    return value.length === 0
      ? '[]'
      : `[\n${value.map((one: Json) => `${deeper}${python(one, deeper)},\n`).join('')}${indent}]`;
  }
  if (typeof value === 'object') {
    const members = Object.entries(value).map(
      ([name, one]) => `${deeper}${python(name)}: ${python(one as Json, deeper)},\n`,
    );
    return members.length === 0 ? '{}' : `{\n${members.join('')}${indent}}`;
  }
  return JSON.stringify(value);
}
