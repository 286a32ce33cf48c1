import {
  type Command,
  ExtraType,
  ExtraTypeSchema,
  type Offer,
} from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';

/** The original text of a JSON number. */
class Digits {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** Whether a value fits a type. Types without an entry accept any JSON value. */
const fits: ReadonlyMap<ExtraType, (value: unknown) => boolean> = new Map([
  [ExtraType.STRING, (value) => typeof value === 'string'],
  [ExtraType.BOOLEAN, (value) => typeof value === 'boolean'],
  [ExtraType.INTEGER, (value) => value instanceof Digits && isWhole(value.text, 32)],
  [ExtraType.LONG, (value) => value instanceof Digits && isWhole(value.text, 64)],
  [ExtraType.DOUBLE, (value) => value instanceof Digits && Number.isFinite(Number(value.text))],
  [ExtraType.ARRAY, (value) => Array.isArray(value)],
  [ExtraType.OBJECT, (value) => isObject(value)],
]);

/** Returns why a command's extras do not fit their types; undefined if they do (protocol page, "Commands"). */
export function extrasError({ extrasJson, extraTypes }: Command): string | undefined {
  if (extrasJson === '') return undefined;
  let parsed: unknown;
  try {
    parsed = JSON.parse(extrasJson, withDigits);
  } catch {
    return 'The extras are not JSON.';
  }
  if (!isObject(parsed)) return 'The extras are no object.';
  for (const [name, value] of Object.entries(parsed)) {
    const type = extraTypes[name] ?? ExtraType.UNSPECIFIED;
    if (fits.get(type)?.(value) === false) {
      return `The extra ${name} is no ${ExtraTypeSchema.value[type]?.localName}.`;
    }
  }
  return undefined;
}

function isObject(value: unknown): value is object {
  const isScalar = typeof value !== 'object' || value === null || value instanceof Digits;
  return !isScalar && !Array.isArray(value);
}

/** Whether the text is a whole number (digits with an optional minus sign) of at most `bits` bits. */
function isWhole(text: string, bits: number): boolean {
  return /^-?\d+$/.test(text) && BigInt.asIntN(bits, BigInt(text)) === BigInt(text);
}

/**
 * Returns the text of each top-level extra that the called app receives (protocol page, "Commands"). Numbers are read
 * from their original digits, because a long may exceed 2⁵³. Returns undefined if there are no extras. Call it only
 * for extras that fit their types.
 */
export function receivedExtras(offer: Offer): Record<string, string> | undefined {
  const kind = offer.operation?.kind;
  if (kind?.case !== 'command' || kind.value.extrasJson === '') return undefined;
  const { extrasJson, extraTypes } = kind.value;
  const parsed: Record<string, unknown> = JSON.parse(extrasJson, withDigits);
  return Object.fromEntries(
    Object.entries(parsed).map(([name, value]) => [name, received(value, extraTypes[name])]),
  );
}

/** A reviver for JSON.parse. The library's type lacks the parameter `context`. */
function withDigits(_: string, value: unknown, context?: { source: string }): unknown {
  return typeof value === 'number' ? new Digits(context?.source ?? String(value)) : value;
}

function received(value: unknown, type: Command['extraTypes'][string] | undefined): string {
  if (value instanceof Digits) {
    const isWhole = type === ExtraType.INTEGER || type === ExtraType.LONG;
    return String(isWhole ? BigInt(value.text) : Number(value.text));
  }
  if (typeof value === 'string') return value;
  // Numbers in arrays and objects are doubles.
  return JSON.stringify(value, (_, inner) => (inner instanceof Digits ? Number(inner.text) : inner));
}
