import type { CallbackName } from './callbacks.ts';
import { bodyRefOf, type DocumentName, type JsonObject, readDocument, resolve } from './document.ts';

/** The settings that contain callback URLs. */
export type EventDestination =
  | 'deviceEvent'
  | 'soraEvent'
  | 'soraFileSendEvent'
  | 'fileUploadEvent'
  | 'noticeEvent';

/** The documents that describe callbacks: of the specification, and of notices. */
export const eventDocuments = ['cws_notification', 'cws_extension'] as const satisfies DocumentName[];

/** A kind of callback in its document. */
export interface EventType {
  /** The callback's operationId in the document: `notify-…`. */
  readonly type: string;
  readonly name: CallbackName;
  readonly summary: string;
  readonly destination: EventDestination;
  readonly document: (typeof eventDocuments)[number];
  /** Reference of the body's schema within the document. */
  readonly bodyRef: string;
  /** JSON Schema (2020-12) of the body, without external references. */
  readonly schema: JsonObject;
  /** At least one. */
  readonly examples: readonly { readonly name: string; readonly body: JsonObject }[];
}

/** Settings of the callbacks that are sent to another setting than deviceEvent. */
const destinations: Partial<Record<CallbackName, EventDestination>> = {
  soraEvent: 'soraEvent',
  recording: 'soraFileSendEvent',
  fileUpload: 'fileUploadEvent',
  destinationFailing: 'noticeEvent',
  destinationRecovered: 'noticeEvent',
  deliveriesDead: 'noticeEvent',
};

const prefix = '#/components/schemas/';

/** All kinds of callbacks, in the documents' order. Throws if one has no body or no example. */
export function readEventTypes(): EventType[] {
  return eventDocuments.flatMap(typesIn);
}

function typesIn(documentName: EventType['document']): EventType[] {
  const document = readDocument(documentName);
  return Object.entries(document['webhooks'] as Record<string, JsonObject>).map(([key, item]) => {
    const name = key as CallbackName;
    const call = item['post'] as JsonObject;
    const ref = bodyRefOf(document, name, call['requestBody']);
    const content = resolve(document, call['requestBody'])['content'] as Record<string, JsonObject>;
    const examples = Object.entries((content['application/json']?.['examples'] ?? {}) as JsonObject);
    if (ref === undefined || examples.length === 0) throw new Error(`${name} has no body or no example`);
    return {
      type: call['operationId'] as string,
      name,
      summary: call['summary'] as string,
      destination: destinations[name] ?? 'deviceEvent',
      document: documentName,
      bodyRef: ref,
      schema: standaloneSchema(document, ref),
      examples: examples.map(([example, value]) => ({
        name: example,
        body: resolve(document, value)['value'] as JsonObject,
      })),
    };
  });
}

/** Copies a schema of the document, with all schemas that it refers to as its `$defs`. */
function standaloneSchema(document: JsonObject, ref: string): JsonObject {
  const defs: Record<string, unknown> = {};
  const withLocalReferences = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(withLocalReferences);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(
      Object.entries(value).map(([key, inner]) =>
        key === '$ref' && typeof inner === 'string'
          ? [key, localReference(inner)]
          : [key, withLocalReferences(inner)],
      ),
    );
  };
  const localReference = (target: string): string => {
    if (!target.startsWith(prefix)) throw new Error(`a schema refers to ${target}, which is not a schema`);
    const name = target.slice(prefix.length);
    if (!(name in defs)) {
      // Reserves the name first, because the schema may refer to itself.
      defs[name] = undefined;
      defs[name] = withLocalReferences(resolve(document, { $ref: target }));
    }
    return `#/$defs/${name}`;
  };
  const schema = withLocalReferences(resolve(document, { $ref: ref })) as JsonObject;
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    ...schema,
    ...(Object.keys(defs).length > 0 && { $defs: defs }),
  };
}
