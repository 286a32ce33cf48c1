import { type Command, ExtraType, type Offer } from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';

/** A number with its original text. */
class Digits {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/**
 * Each top-level extra of a command as the called app gets it, as text (protocol page, "Commands"): numbers
 * are read from their original digits, because a long may exceed 2⁵³. Undefined if there are no extras.
 * `asDoubles`: for a headset that reads all numbers as doubles.
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
