import {
  type DescEnum,
  type DescField,
  type DescMessage,
  fromBinary,
  type MessageShape,
} from '@bufbuild/protobuf';
import { type LogEvent, NewerVersionError, PoisonEventError } from './types.ts';

/**
 * Header of an event with content that its publisher does not know, because the headset that sent the content is newer
 * than the platform. For an event with this header, consumers do not wait for a newer version.
 */
export const foreignContentHeader = 'foreign-content';

/**
 * Decodes the message in an event. Throws PoisonEventError when the bytes do not decode, and
 * NewerVersionError when the message has an enum value or a oneof case that only a newer version knows.
 * Unknown plain fields are ignored, because a newer version may add fields that older versions need not know.
 */
export function decodeEvent<S extends DescMessage>(schema: S, event: LogEvent): MessageShape<S> {
  let message: MessageShape<S>;
  try {
    message = fromBinary(schema, event.value);
  } catch (cause) {
    throw new PoisonEventError(event, `not a ${schema.name}`, { cause });
  }
  const unknown = unknownIn(schema, message);
  if (unknown && event.headers[foreignContentHeader] === undefined) {
    throw new NewerVersionError(
      `${event.position}: ${schema.name} has ${unknown}, which this version does not know`,
    );
  }
  return message;
}

type Check = (message: object) => string | undefined;
type Values = Readonly<Record<string, unknown>>;
const checks = new Map<DescMessage, Check | undefined>();

/**
 * Describes an enum value or oneof case in a message that this version's schema does not know; undefined: there is
 * none.
 */
export function unknownIn(schema: DescMessage, message: object): string | undefined {
  return checkOf(schema)?.(message);
}

/**
 * Returns the check of a schema, which is built once; undefined if the schema has no enums and oneofs at any depth.
 */
function checkOf(schema: DescMessage): Check | undefined {
  if (checks.has(schema)) return checks.get(schema);
  // A message type may contain itself. Its inner messages look up the finished check when they are checked.
  checks.set(schema, (message) => checks.get(schema)?.(message));
  const parts = [
    ...schema.oneofs.map((oneof) => oneofCheck(oneof.localName, oneof.name, oneof.fields)),
    ...schema.fields.filter((field) => !field.oneof).map(fieldCheck),
  ].filter((check) => check !== undefined);
  const check: Check | undefined =
    parts.length === 0
      ? undefined
      : (message) => {
          for (const part of parts) {
            const found = part(message);
            if (found !== undefined) return found;
          }
          return undefined;
        };
  checks.set(schema, check);
  return check;
}

function oneofCheck(localName: string, name: string, fields: readonly DescField[]): Check {
  const byCase = new Map(fields.map((field) => [field.localName, valueCheck(field)]));
  return (message) => {
    const chosen = (message as Values)[localName] as { case?: string; value?: unknown };
    if (chosen.case !== undefined) return byCase.get(chosen.case)?.(chosen.value);
    const { $unknown } = message as { $unknown?: readonly { no: number }[] };
    return $unknown?.length ? `field ${$unknown[0]?.no} instead of a known ${name}` : undefined;
  };
}

function fieldCheck(field: DescField): Check | undefined {
  const check = valueCheck(field);
  if (!check) return undefined;
  return (message) => {
    const value = (message as Values)[field.localName];
    return value === undefined ? undefined : check(value);
  };
}

function valueCheck(field: DescField): ((value: unknown) => string | undefined) | undefined {
  const one = field.enum
    ? enumCheck(field.enum, field.name)
    : field.message && (checkOf(field.message) as ((value: unknown) => string | undefined) | undefined);
  if (!one || (field.fieldKind !== 'list' && field.fieldKind !== 'map')) return one;
  return (value) => {
    for (const item of Object.values(value as object)) {
      const found = one(item);
      if (found !== undefined) return found;
    }
    return undefined;
  };
}

function enumCheck(of: DescEnum, name: string): (value: unknown) => string | undefined {
  return (value) => (of.value[value as number] ? undefined : `${name} ${value}`);
}
