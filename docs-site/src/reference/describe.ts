import { STATUS_CODES } from 'node:http';
import { slug } from 'github-slugger';
import { divideByHeadings, joinLines, plainText, renderMarkdown } from '../markdown';
import { apiWords } from '../strings/api';
import { ja } from '../strings/ja';
import type { SearchRecord, SidebarCategory, TocItem } from '../types';
import { markdownOf } from './markdown';
import { ApiError, headerOf, operationsOf, sharedHeaderAnchor } from './model';
import { relations } from './related';
import { signatureAnchor } from './samples';
import { anchorPart } from './shape';
import type { ApiInput, ApiPage, Field, OpenApiDocument, Operation, Shape } from './types';

export interface Part {
  readonly id: string;
  readonly title: string;
  readonly text: string;
}

/** Splits `info.description` into the text before the first `##` heading and the parts below each heading. */
export function partsOf(description: string): { readonly lead: string; readonly parts: readonly Part[] } {
  const [lead, ...parts] = divideByHeadings(description);
  return { lead: lead?.text ?? '', parts: parts.map((part) => ({ id: slug(part.title), ...part })) };
}

export interface Group {
  readonly id: string;
  readonly title: string;
  /** Name of the tag, if the title is its description. */
  readonly tag?: string;
  readonly description: string;
  readonly operations: readonly Operation[];
}

/** Groups of operations: calls by tag; callbacks, which have no tags, by whether they follow a call. */
export function groupsOf(input: ApiInput): readonly Group[] {
  const { document } = input;
  const all = operationsOf(document);
  const order = [
    ...new Set([...(document.tags ?? []).map((one) => one.name), ...all.flatMap((one) => one.tag ?? [])]),
  ];
  const tagged = order.map((tag) => {
    const description = document.tags?.find((one) => one.name === tag)?.description?.trim() ?? '';
    // A short description is a better title than the tag, which is a technical name.
    const isTitle = description !== '' && description.length <= 30 && !description.includes('\n');
    return {
      id: `tag-${anchorPart(tag)}`,
      title: isTitle ? description : tag,
      ...(isTitle ? { tag } : {}),
      description: isTitle ? '' : description,
      operations: all.filter((one) => one.tag === tag),
    };
  });
  const rest = all.filter((one) => one.tag === undefined);
  const related = relations(input);
  const results = rest.filter((one) => related.callsOf(one.id).length > 0);
  const events = rest.filter((one) => !results.includes(one));
  const { groups } = apiWords;
  const untagged =
    results.length === 0
      ? [{ id: 'requests', title: groups.requests, description: '', operations: events }]
      : [
          { id: 'results', title: groups.results, description: '', operations: results },
          { id: 'events', title: groups.events, description: '', operations: events },
        ];
  return [...tagged, ...untagged].filter((one) => one.operations.length > 0);
}

export const sharedHeadersAnchor = 'shared-headers';

/** Headers of `components` that responses use, with the names under which they are sent. */
export function sharedHeadersOf(document: OpenApiDocument): readonly Field[] {
  const used = new Map<string, string>();
  for (const { answers } of operationsOf(document)) {
    for (const { headers } of answers)
      for (const one of headers) if (one.shared) used.set(one.shared, one.name);
  }
  return Object.entries(document.components?.['headers'] ?? {}).flatMap(([key, header]) => {
    const anchor = sharedHeaderAnchor(key);
    const name = used.get(anchor);
    return name === undefined ? [] : [headerOf(document, name, header, anchor).field];
  });
}

export const reasonOf = (status: string): string => STATUS_CODES[status] ?? '';

const plain = (text: string): string => plainText(renderMarkdown(joinLines(text)));

/** All fields of a shape. `path` contains the names of the parent fields. */
export function* fieldsOf(
  shape: Shape,
  path: readonly string[] = [],
): Generator<{ name: string; path: readonly string[]; anchor: string; shape: Shape }> {
  for (const { name, anchor, shape: inner } of shape.fields) {
    yield { name, path, anchor, shape: inner };
    yield* fieldsOf(inner, [...path, name]);
  }
  for (const { variants } of shape.choices)
    for (const variant of variants) yield* fieldsOf(variant.shape, path);
  if (shape.item) yield* fieldsOf(shape.item, path);
}

/** Anchors of all variants of a shape. */
function* variantsOf(shape: Shape): Generator<string> {
  for (const { variants } of shape.choices) {
    for (const variant of variants) {
      yield variant.anchor;
      yield* variantsOf(variant.shape);
    }
  }
  for (const one of shape.fields) yield* variantsOf(one.shape);
  if (shape.item) yield* variantsOf(shape.item);
}

const shapesOf = (operation: Operation): Shape[] => [
  ...(operation.request?.bodies ?? []).map((one) => one.shape),
  ...operation.answers.flatMap((one) => one.bodies.map((body) => body.shape)),
];

/** All anchors of an operation, in page order. */
export function anchorsOf(operation: Operation): string[] {
  return [
    operation.id,
    ...operation.parameters.flatMap((one) => [
      one.field.anchor,
      ...[...fieldsOf(one.field.shape)].map((field) => field.anchor),
    ]),
    ...(operation.request ? [`${operation.id}.request`] : []),
    ...(operation.request?.bodies ?? []).slice(1).map((one) => one.anchor),
    ...operation.answers.flatMap((one) => [one.anchor, ...one.bodies.slice(1).map((body) => body.anchor)]),
    ...operation.answers.flatMap((one) =>
      one.headers.filter((header) => !header.shared).map((header) => header.field.anchor),
    ),
    ...shapesOf(operation).flatMap((shape) => [
      ...[...fieldsOf(shape)].map((field) => field.anchor),
      ...variantsOf(shape),
    ]),
  ];
}

/** Throws an ApiError if an anchor is used twice. */
function checkAnchors(input: ApiInput): void {
  const owners = new Map<string, string>();
  const add = (anchor: string, owner: string, pointer: string) => {
    const other = owners.get(anchor);
    if (other !== undefined)
      throw new ApiError(`duplicate anchor "#${anchor}" (${other}; ${owner})`, pointer);
    owners.set(anchor, owner);
  };
  for (const part of partsOf(input.document.info.description ?? '').parts)
    add(part.id, `"## ${part.title}"`, '#/info/description');
  for (const group of groupsOf(input)) add(group.id, group.title, '#/tags');
  for (const anchor of [sharedHeadersAnchor, signatureAnchor]) add(anchor, 'this page', '#/');
  for (const { anchor, name } of sharedHeadersOf(input.document)) add(anchor, name, '#/components/headers');
  for (const operation of operationsOf(input.document)) {
    const pointer = `#/${operation.kind === 'call' ? 'paths' : 'webhooks'}/${operation.path.replaceAll('~', '~0').replaceAll('/', '~1')}/${operation.method}`;
    for (const anchor of anchorsOf(operation)) add(anchor, operation.id, pointer);
  }
}

function searchOf(input: ApiInput, title: string): SearchRecord[] {
  const href = (anchor: string) => `${input.route}#${anchor}`;
  // Patterns are not searchable: readers do not search for them.
  const factsText = ({ facts }: Shape) =>
    facts.filter((fact) => fact.label !== apiWords.facts.pattern).map((fact) => fact.values.join(' '));
  const groups = groupsOf(input);
  return operationsOf(input.document).flatMap((operation): SearchRecord[] => {
    const path = [title, operation.summary];
    const field = (
      name: string,
      anchor: string,
      shape: Shape,
      within: readonly string[] = [],
    ): SearchRecord => ({
      href: href(anchor),
      title: [...within, name].join('.'),
      path,
      text: [
        plain(shape.description ?? ''),
        shape.type,
        ...factsText(shape),
        ...(shape.item ? factsText(shape.item) : []),
      ]
        .filter(Boolean)
        .join(' · '),
      kind: 'field',
    });
    // Without the bodies of errors, which are all the same: they would add 300 records. Their statuses are included.
    const bodies = [
      ...(operation.request?.bodies ?? []),
      ...operation.answers.filter((one) => /^[123d]/.test(one.status)).flatMap((one) => one.bodies),
    ];
    return [
      {
        href: href(operation.id),
        title: operation.summary,
        path: [
          title,
          ...groups
            .filter((one) => one.operations.some(({ id }) => id === operation.id))
            .map((one) => one.title),
        ],
        text: plain(operation.description),
        names: [operation.method.toUpperCase(), operation.path, operation.id].join(' '),
        ...(operation.tag ? { words: operation.tag } : {}),
        kind: input.name === 'cws_notification' ? 'notification' : 'operation',
      },
      ...operation.parameters.map((one) => field(one.field.name, one.field.anchor, one.field.shape)),
      ...bodies.flatMap((body) =>
        [...fieldsOf(body.shape)].map((one) => field(one.name, one.anchor, one.shape, one.path)),
      ),
      ...operation.answers.map(
        (one): SearchRecord => ({
          href: href(one.anchor),
          title: `${one.status} ${reasonOf(one.status)}`.trim(),
          path,
          text: plain(one.description),
          kind: 'status',
        }),
      ),
    ];
  });
}

const titleOf = (input: ApiInput): string => ja.apis[input.name];

export function describeApi(input: ApiInput): ApiPage {
  checkAnchors(input);
  const { info } = input.document;
  const title = titleOf(input);
  const groups = groupsOf(input);
  const headers = sharedHeadersOf(input.document);
  const { parts } = partsOf(info.description ?? '');
  const toc: TocItem[] = [
    ...parts.map(({ id, title: text }): TocItem => ({ id, text, level: 2 })),
    ...(input.name === 'cws_notification'
      ? [{ id: signatureAnchor, text: apiWords.signature.title, level: 2 } as const]
      : []),
    ...groups.map(({ id, title: text }): TocItem => ({ id, text, level: 2 })),
    ...(headers.length > 0
      ? [{ id: sharedHeadersAnchor, text: apiWords.sharedHeaders, level: 2 } as const]
      : []),
  ];
  const own = toc.filter((one) => !groups.some((group) => group.id === one.id));
  const sidebar: SidebarCategory[] = [
    { label: apiWords.introduction, items: own.map((one) => ({ label: one.text, href: `#${one.id}` })) },
    ...groups.map((group) => ({
      label: group.title,
      items: group.operations.map(({ id, summary, method, deprecated }) => ({
        label: summary,
        href: `#${id}`,
        method,
        ...(deprecated ? { deprecated: true } : {}),
      })),
    })),
  ];
  return {
    title,
    description: info.summary ?? info.title,
    toc,
    sidebar: sidebar.filter((one) => one.items.length > 0),
    search: [
      ...parts.map(
        (one): SearchRecord => ({
          href: `${input.route}#${one.id}`,
          title: one.title,
          path: [title],
          text: plain(one.text),
          kind: 'heading',
        }),
      ),
      ...searchOf(input, title),
    ],
    text: markdownOf(input, title, groups),
  };
}
