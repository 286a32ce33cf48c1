import { type DescField, type DescMessage, fromBinary, getOption, toBinary } from '@bufbuild/protobuf';
import { type ReflectMessage, reflect } from '@bufbuild/protobuf/reflect';
import { erased_at_end } from '@headset-cloud/proto/device_link/v1/catalog_pb.ts';
import { OperationSchema } from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import { operationOf } from '@headset-cloud/proto/operations.ts';

interface Secrets {
  /** Fields of the message that are erased. */
  readonly own: readonly DescField[];
  /** Other fields of the message that contain erased fields. */
  readonly within: readonly DescField[];
}

const secretsByMessage = new Map<DescMessage, Secrets>();

/** Ids of the operations with erased fields. Other operations are not decoded. */
const withSecrets: ReadonlySet<string> = new Set(
  OperationSchema.fields
    .filter((kind) => kind.message && hasSecrets(kind.message))
    .map((kind) => operationOf(kind.localName as Parameters<typeof operationOf>[0]).id),
);

/**
 * Returns the operation of an ended transaction without its `erased_at_end` fields: client secret, passwords, free
 * content of apps (specification API 3 and 7). Undefined: there is nothing to erase, or the operation cannot be
 * decoded.
 */
export function withoutEndedSecrets(of: {
  readonly operationId: string;
  readonly operation: Uint8Array;
}): Uint8Array | undefined {
  if (!withSecrets.has(of.operationId)) return undefined;
  const operation = decoded(of.operation);
  if (!operation || erase(reflect(OperationSchema, operation)) === 0) return undefined;
  return toBinary(OperationSchema, operation);
}

/** Erases the fields at any depth; returns their number. */
function erase(message: ReflectMessage): number {
  let erased = 0;
  const { own, within } = secretsOf(message.desc);
  for (const field of own) {
    if (!message.isSet(field)) continue;
    message.clear(field);
    erased += 1;
  }
  for (const field of within) {
    if (!message.isSet(field)) continue;
    if (field.fieldKind === 'message') erased += erase(message.get(field));
    else if (field.fieldKind === 'list' && field.listKind === 'message')
      for (const one of message.get(field)) erased += erase(one as ReflectMessage);
  }
  return erased;
}

function hasSecrets(message: DescMessage): boolean {
  const { own, within } = secretsOf(message);
  return own.length + within.length > 0;
}

/** Cached, because every read of a field's option decodes it. */
function secretsOf(message: DescMessage): Secrets {
  let secrets = secretsByMessage.get(message);
  if (!secrets) {
    const own = message.fields.filter((field) => getOption(field, erased_at_end));
    const within = message.fields.filter(
      (field) => !own.includes(field) && field.message && hasSecrets(field.message),
    );
    secrets = { own, within };
    secretsByMessage.set(message, secrets);
  }
  return secrets;
}

/**
 * Undefined: the operation cannot be decoded. An operation that cannot be decoded must not block its transaction's end.
 */
function decoded(bytes: Uint8Array) {
  try {
    return fromBinary(OperationSchema, bytes);
  } catch {
    return undefined;
  }
}
