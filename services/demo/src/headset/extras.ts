import { type Command, ExtraType, type Offer } from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';

/** A number with its original text. */
class Digits {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** Bounds of the types that have digits only. */
const wholeTypes: ReadonlyMap<ExtraType | undefined, { readonly name: string; readonly bits: number }> =
  new Map([
    [ExtraType.INTEGER, { name: 'INTEGER', bits: 32 }],
    [ExtraType.LONG, { name: 'LONG', bits: 64 }],
  ]);

/** Why a command's extras cannot be given to an app; undefined if they can (protocol page, "Commands"). */
export function unfitExtras({ extrasJson, extraTypes }: Command): string | undefined {
  if (extrasJson === '') return undefined;
  let parsed: unknown;
  try {
    parsed = JSON.parse(extrasJson, withDigits);
  } catch {
    return 'The extras are not JSON.';
  }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed))
    return 'The extras are no object.';
  for (const [name, value] of Object.entries(parsed)) {
    const whole = wholeTypes.get(extraTypes[name]);
    if (whole && !(value instanceof Digits && fits(value.text, whole.bits))) {
      return `The extra ${name} is no ${whole.name}.`;
    }
  }
  return undefined;
}

function fits(text: string, bits: number): boolean {
  return /^-?\d+$/.test(text) && BigInt.asIntN(bits, BigInt(text)) === BigInt(text);
}

/**
 * Each top-level extra of a command as the called app gets it, as text (protocol page, "Commands"): numbers
 * are read from their original digits, because a long may exceed 2⁵³. Undefined if there are no extras.
 * `asDoubles`: for a headset that reads all numbers as doubles. Call it only for extras that fit.
 */
export function receivedExtras(offer: Offer, asDoubles = false): Record<string, string> | undefined {
  const kind = offer.operation?.kind;
  if (kind?.case !== 'command' || kind.value.extrasJson === '') return undefined;
  const { extrasJson, extraTypes } = kind.value;
  const parsed: Record<string, unknown> = JSON.parse(extrasJson, withDigits);
  return Object.fromEntries(
    Object.entries(parsed).map(([name, value]) => [name, received(value, extraTypes[name], asDoubles)]),
  );
}

/** For JSON.parse, whose type does not know the context yet. */
function withDigits(_: string, value: unknown, context?: { source: string }): unknown {
  return typeof value === 'number' ? new Digits(context?.source ?? String(value)) : value;
}

function received(
  value: unknown,
  type: Command['extraTypes'][string] | undefined,
  asDoubles: boolean,
): string {
  if (value instanceof Digits) {
    const isWhole = type === ExtraType.INTEGER || type === ExtraType.LONG;
    return String(isWhole && !asDoubles ? BigInt(value.text) : Number(value.text));
  }
  if (typeof value === 'string') return value;
  // Numbers inside arrays and objects are doubles.
  return JSON.stringify(value, (_, inner) => (inner instanceof Digits ? Number(inner.text) : inner));
}
