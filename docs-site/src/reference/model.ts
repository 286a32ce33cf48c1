import { apiWords } from '../strings/api';
import { isObject, resolve } from './resolve';
import { sampleOf } from './sample';
import { anchorPart, shapeOf } from './shape';
import type {
  Answer,
  Body,
  Example,
  Header,
  Json,
  OpenApiDocument,
  Operation,
  Parameter,
  ParameterPlace,
  Schema,
} from './types';

type Members = Readonly<Record<string, unknown>>;

export const methods = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace'] as const;
const places: readonly ParameterPlace[] = ['path', 'query', 'header', 'cookie'];

/** Unresolved operations of a document: calls of `paths`, then callbacks of `webhooks`. */
export function rawOperations(document: OpenApiDocument): {
  kind: Operation['kind'];
  path: string;
  method: string;
  item: Members;
  value: Members;
  pointer: string;
}[] {
  const of = (kind: Operation['kind'], key: 'paths' | 'webhooks') =>
    Object.entries(document[key] ?? {}).flatMap(([path, one]) => {
      const item = resolve(document, one).value;
      return methods.flatMap((method) => {
        const value = item[method];
        const pointer = `#/${key}/${path.replaceAll('~', '~0').replaceAll('/', '~1')}/${method}`;
        return isObject(value) ? [{ kind, path, method, item, value, pointer }] : [];
      });
    });
  return [...of('call', 'paths'), ...of('callback', 'webhooks')];
}

function examplesOf(document: OpenApiDocument, media: Members): Example[] {
  if (isObject(media['examples'])) {
    const named = Object.entries(media['examples']).flatMap(([name, one]): Example[] => {
      const { value } = resolve(document, one);
      if (!Object.hasOwn(value, 'value')) return [];
      const { summary } = value as { summary?: string };
      return [{ name: summary ?? name, value: value['value'] as Json, generated: false }];
    });
    if (named.length > 0) return named;
  }
  if (Object.hasOwn(media, 'example'))
    return [{ name: apiWords.example, value: media['example'] as Json, generated: false }];
  if (media['schema'] === undefined) return [];
  return [{ name: apiWords.example, value: sampleOf(document, media['schema'] as Schema), generated: true }];
}

function bodiesOf(
  document: OpenApiDocument,
  content: unknown,
  anchor: string,
  name: string,
  isSent: boolean,
): Body[] {
  const all = isObject(content) ? Object.entries(content) : [];
  return all.map(([mediaType, media], index) => {
    const members = resolve(document, media).value;
    const examples = examplesOf(document, members);
    const place = { anchor: index === 0 ? anchor : `${anchor}.${anchorPart(mediaType)}`, name };
    const seen = examples.map((one) => one.value);
    return {
      mediaType,
      anchor: place.anchor,
      examples,
      shape: shapeOf(document, (members['schema'] ?? true) as Schema, place, seen, isSent),
    };
  });
}

const schemaOf = (members: Members): Schema => {
  const media = isObject(members['content']) ? Object.values(members['content'])[0] : undefined;
  return ((isObject(media) ? media['schema'] : members['schema']) ?? true) as Schema;
};

/** Describes a parameter or header as a field. Description, deprecation and example may be outside its schema. */
function describedValue(
  document: OpenApiDocument,
  members: Members,
  name: string,
  anchor: string,
): { field: Parameter['field']; example: Json | undefined } {
  const named = isObject(members['examples'])
    ? Object.values(members['examples']).map((one) => resolve(document, one).value['value'] as Json)
    : [];
  const seen = [...(Object.hasOwn(members, 'example') ? [members['example'] as Json] : []), ...named];
  const shape = shapeOf(document, schemaOf(members), { anchor, name }, seen);
  const { description = shape.description, deprecated = shape.deprecated } = members as {
    description?: string;
    deprecated?: boolean;
  };
  return {
    field: {
      name,
      anchor,
      required: members['required'] === true,
      shape: { ...shape, deprecated, ...(description ? { description } : {}) },
    },
    example: seen[0],
  };
}

export function headerOf(document: OpenApiDocument, name: string, header: unknown, anchor: string): Header {
  const { value, refs } = resolve(document, header);
  const shared = refs.find((one) => one.startsWith('#/components/headers/'));
  const { field } = describedValue(document, value, name, anchor);
  return { name, required: field.required, field, ...(shared ? { shared: sharedHeaderAnchor(shared) } : {}) };
}

export const sharedHeaderAnchor = (ref: string): string =>
  `header.${anchorPart(ref.slice(ref.lastIndexOf('/') + 1))}`;

function answerOf(
  document: OpenApiDocument,
  id: string,
  status: string,
  response: unknown,
  isSent: boolean,
): Answer {
  const { value } = resolve(document, response);
  const anchor = `${id}.${anchorPart(status)}`;
  const headers = isObject(value['headers']) ? Object.entries(value['headers']) : [];
  const links = isObject(value['links'])
    ? Object.values(value['links']).map((one) => resolve(document, one).value)
    : [];
  return {
    status,
    anchor,
    description: typeof value['description'] === 'string' ? value['description'] : '',
    headers: headers.map(([name, one]) =>
      headerOf(document, name, one, `${anchor}.header.${anchorPart(name)}`),
    ),
    bodies: bodiesOf(document, value['content'], anchor, status, isSent),
    next: links.flatMap(({ operationId, description }) => {
      return typeof operationId === 'string'
        ? [{ operationId, ...(typeof description === 'string' ? { description } : {}) }]
        : [];
    }),
  };
}

function parametersOf(document: OpenApiDocument, id: string, item: Members, operation: Members): Parameter[] {
  const all = new Map<string, Parameter>();
  for (const list of [item['parameters'], operation['parameters']]) {
    for (const one of Array.isArray(list) ? list : []) {
      const { value } = resolve(document, one);
      const { name, in: place } = value as { name: string; in: ParameterPlace };
      // A parameter of the operation replaces the parameter of the path.
      all.set(`${place} ${name}`, {
        place,
        ...describedValue(document, value, name, `${id}.${place}.${anchorPart(name)}`),
      });
    }
  }
  return [...all.values()].sort((a, b) => places.indexOf(a.place) - places.indexOf(b.place));
}

function operationOf(document: OpenApiDocument, raw: ReturnType<typeof rawOperations>[number]): Operation {
  const { kind, path, method, item, value } = raw;
  const { operationId, tags, summary, description, deprecated, responses, requestBody, security } = value as {
    operationId?: string;
    tags?: string[];
    summary?: string;
    description?: string;
    deprecated?: boolean;
    responses?: Members;
    requestBody?: unknown;
    security?: OpenApiDocument['security'];
  };
  const id = anchorPart(operationId ?? `${method}-${path}`);
  const request = requestBody === undefined ? undefined : resolve(document, requestBody).value;
  const limit = value['x-body-limit-bytes'];
  return {
    id,
    kind,
    method,
    path,
    tag: tags?.[0],
    summary: summary ?? operationId ?? path,
    description: description ?? '',
    deprecated: deprecated === true,
    security: (security ?? document.security ?? []).flatMap((one) =>
      Object.entries(one).map(([scheme, scopes]) => ({ scheme, scopes })),
    ),
    bodyLimit: typeof limit === 'number' ? limit : undefined,
    parameters: parametersOf(document, id, item, value),
    request: request && {
      required: request['required'] === true,
      description: typeof request['description'] === 'string' ? request['description'] : '',
      bodies: bodiesOf(document, request['content'], `${id}.request`, apiWords.request, kind === 'call'),
    },
    answers: Object.entries(responses ?? {}).map(([status, one]) =>
      answerOf(document, id, status, one, kind === 'callback'),
    ),
  };
}

const known = new WeakMap<OpenApiDocument, readonly Operation[]>();

/** Describes all operations of a document. Throws an ApiError with the JSON pointer of the operation. */
export function operationsOf(document: OpenApiDocument): readonly Operation[] {
  const found = known.get(document);
  if (found) return found;
  const all = rawOperations(document).map((raw) => {
    try {
      return operationOf(document, raw);
    } catch (error) {
      throw new ApiError((error as Error).message, raw.pointer);
    }
  });
  known.set(document, all);
  return all;
}

/** An error in a document, with its JSON pointer. The loader adds file and line. */
export class ApiError extends Error {
  readonly pointer: string;
  constructor(message: string, pointer: string) {
    super(message);
    this.pointer = pointer;
  }
}
