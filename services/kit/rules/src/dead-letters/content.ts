import { type DescMessage, fromBinary, type JsonValue, toJson } from '@bufbuild/protobuf';
import { type LogEvent, topics } from '@headset-cloud/eventlog/types.ts';
import { UsageEventSchema } from '@headset-cloud/proto/billing/v1/events_pb.ts';
import { AuditRecordSchema } from '@headset-cloud/proto/common/v1/audit_pb.ts';
import { DeviceReportEventSchema } from '@headset-cloud/proto/device_link/v1/events_pb.ts';
import { DeviceLifecycleEventSchema } from '@headset-cloud/proto/devices/v1/events_pb.ts';
import { NotificationEventSchema } from '@headset-cloud/proto/notifier/v1/events_pb.ts';
import { withoutPassword } from '@headset-cloud/runtime/redact.ts';

/** The message type of each topic. The type requires an entry for every topic of the platform. */
const schemas: Readonly<Record<(typeof topics)[keyof typeof topics], DescMessage>> = {
  [topics.transactionReports]: DeviceReportEventSchema,
  [topics.deviceReports]: DeviceReportEventSchema,
  [topics.notifications]: NotificationEventSchema,
  [topics.deviceLifecycle]: DeviceLifecycleEventSchema,
  [topics.usage]: UsageEventSchema,
  [topics.audit]: AuditRecordSchema,
};

const masked = '***';
/** Names of fields and headers whose content is always masked. */
const secretName =
  /secret|passw|passphrase|shared_?key|psk|token|auth.*key|private.*key|credential|signature|authorization/i;

/** Returns the event as JSON with masked secrets; empty if the event is not a message of its topic. */
export function contentOf(event: LogEvent): string {
  const schema = Object.hasOwn(schemas, event.topic) && schemas[event.topic as keyof typeof schemas];
  if (!schema) return '';
  try {
    const message = fromBinary(schema, event.value);
    const json = toJson(schema, message) as Record<string, JsonValue>;
    // The body of a callback is JSON in bytes.
    const { body } = message as { body?: unknown };
    if (body instanceof Uint8Array) json['body'] = readable(Buffer.from(body).toString('utf8'));
    const unknown = unknownFields(message);
    if (unknown.length > 0) json['unknownFields'] = unknown;
    return JSON.stringify(withoutSecrets(json));
  } catch {
    return '';
  }
}

/** Returns the headers of an event with masked secrets. */
export function headersOf(event: LogEvent): Record<string, string> {
  return withoutSecrets({ ...event.headers }) as Record<string, string>;
}

/**
 * Masks secrets in JSON: the values of fields with secret names, and in URLs the user with the password and the query,
 * which may contain a signature.
 */
export function withoutSecrets(value: JsonValue): JsonValue {
  if (typeof value === 'string') {
    return withoutPassword(value).replaceAll(/(https?:\/\/[^\s"?]+\?)[^\s"]+/gi, `$1${masked}`);
  }
  if (Array.isArray(value)) return value.map(withoutSecrets);
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [name, secretName.test(name) ? masked : withoutSecrets(one)]),
  );
}

function readable(text: string): JsonValue {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return `${text.length} characters that are no JSON`;
  }
}

/**
 * Numbers and sizes of the fields that this version does not know, in the message itself and in the messages of its
 * oneofs.
 */
function unknownFields(message: object): JsonValue[] {
  const { $unknown = [] } = message as { $unknown?: readonly { no: number; data: Uint8Array }[] };
  const below = Object.values(message).flatMap((value) => {
    const inner = (value as { case?: unknown; value?: unknown } | null)?.value;
    return typeof inner === 'object' && inner !== null && '$typeName' in inner ? unknownFields(inner) : [];
  });
  return [...$unknown.map(({ no, data }) => ({ field: no, sizeBytes: data.byteLength })), ...below];
}
