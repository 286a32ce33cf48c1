import { readFileSync } from 'node:fs';
import type { ErrorCode } from '@headset-cloud/runtime/errors.ts';
import { parse } from 'yaml';

/** The documents whose calls the gateway serves: the specification's API, and the platform's extensions. */
export const apiDocuments = ['cws_api', 'cws_extension'] as const;
/** All OpenAPI documents (rule C19). */
export const documentNames = ['cws_api', 'cws_notification', 'cws_presigned_url', 'cws_extension'] as const;
export type DocumentName = (typeof documentNames)[number];

export type JsonObject = { readonly [key: string]: unknown };

export interface ApiParameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required: boolean;
  readonly schema: JsonObject;
  /** `x-error-code`: the error for a wrong value, if it differs from the usual error. */
  readonly errorCode: ErrorCode | undefined;
}

/** One call of the API in the document. */
export interface ApiOperation {
  readonly operationId: string;
  /** HTTP method in upper case. */
  readonly method: string;
  /** Path with {parameters}, as in the document. */
  readonly path: string;
  readonly parameters: readonly ApiParameter[];
  /**
   * `x-refuse-unknown-query` of the document: unknown query parameters are errors, so no misspelled filter is ignored.
   */
  readonly refusesUnknownQuery: boolean;
  /** Reference of the JSON body's schema within the document; undefined when the call has no body. */
  readonly bodyRef: string | undefined;
  /** `requestBody.required`: false if a missing body means `{}`. */
  readonly bodyRequired: boolean;
  /** `x-body-limit-bytes`: the body limit, if it is higher than for other calls. */
  readonly bodyLimitBytes: number | undefined;
  /** `x-deadline-ms`: time limit for services, if it is longer than for other calls; milliseconds. */
  readonly deadlineMs: number | undefined;
  readonly scopes: readonly string[];
  /** The documented answers by status, with references resolved. */
  readonly responses: Readonly<Record<string, JsonObject>>;
}

const documents = new Map<DocumentName, JsonObject>();

/** A document from the gateway's openapi folder, read once; shared, must not be changed. */
export function readDocument(name: DocumentName): JsonObject {
  let document = documents.get(name);
  if (!document) {
    document = parse(readDocumentText(name)) as JsonObject;
    documents.set(name, document);
  }
  return document;
}

/** A document's file as YAML text. */
export function readDocumentText(name: DocumentName): string {
  return readFileSync(new URL(`../../openapi/${name}.yaml`, import.meta.url), 'utf8');
}

/** Follows a local $ref. Keywords beside it override the target's, as OpenAPI 3.1 defines for descriptions. */
export function resolve(document: JsonObject, value: unknown): JsonObject {
  const object = value as JsonObject;
  const ref = object['$ref'];
  if (typeof ref !== 'string') return object;
  let target: unknown = document;
  for (const part of ref.replace(/^#\//, '').split('/')) {
    target = (target as JsonObject | undefined)?.[part.replaceAll('~1', '/').replaceAll('~0', '~')];
  }
  if (target === undefined) throw new Error(`the OpenAPI document refers to ${ref}, which does not exist`);
  const { $ref: _, ...siblings } = object;
  return { ...resolve(document, target), ...siblings };
}

const methods = ['get', 'put', 'post', 'patch', 'delete'] as const;

/** The calls of a document, in its order. Throws if an operation lacks data that the gateway needs. */
export function operationsOf(document: JsonObject): ApiOperation[] {
  const operations: ApiOperation[] = [];
  for (const [path, item] of Object.entries(document['paths'] as Record<string, JsonObject>)) {
    for (const method of methods) {
      const operation = item[method] as JsonObject | undefined;
      if (operation) operations.push(describe(document, path, method, item, operation));
    }
  }
  return operations;
}

function describe(
  document: JsonObject,
  path: string,
  method: string,
  item: JsonObject,
  operation: JsonObject,
): ApiOperation {
  const operationId = operation['operationId'];
  if (typeof operationId !== 'string') throw new Error(`${method} ${path} has no operationId`);
  const security = (operation['security'] as Record<string, string[]>[] | undefined)?.[0];
  const scopes = Object.values(security ?? {})[0];
  if (!scopes?.length) throw new Error(`${operationId} names no scope`);
  const list = [
    ...((item['parameters'] as unknown[]) ?? []),
    ...((operation['parameters'] as unknown[]) ?? []),
  ];
  return {
    operationId,
    method: method.toUpperCase(),
    path,
    parameters: list.map((p) => {
      const parameter = resolve(document, p);
      return {
        name: parameter['name'] as string,
        in: parameter['in'] as ApiParameter['in'],
        required: parameter['required'] === true,
        schema: resolve(document, parameter['schema']),
        errorCode: parameter['x-error-code'] as ErrorCode | undefined,
      };
    }),
    refusesUnknownQuery: document['x-refuse-unknown-query'] === true,
    bodyRef: bodyRefOf(document, operationId, operation['requestBody']),
    bodyRequired: (operation['requestBody'] as JsonObject | undefined)?.['required'] === true,
    bodyLimitBytes: operation['x-body-limit-bytes'] as number | undefined,
    deadlineMs: operation['x-deadline-ms'] as number | undefined,
    scopes,
    responses: Object.fromEntries(
      Object.entries(operation['responses'] as Record<string, unknown>).map(([status, response]) => [
        status,
        resolve(document, response),
      ]),
    ),
  };
}

/** The reference of an operation's JSON body schema; undefined without a body. Throws if it is not a reference. */
export function bodyRefOf(document: JsonObject, name: string, requestBody: unknown): string | undefined {
  if (!requestBody) return undefined;
  const content = resolve(document, requestBody)['content'] as Record<string, { schema?: JsonObject }>;
  const ref = content['application/json']?.schema?.['$ref'];
  if (typeof ref !== 'string') throw new Error(`${name}: the body's schema must be a reference`);
  return ref;
}
