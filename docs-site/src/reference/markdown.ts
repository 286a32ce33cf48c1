import { joinLines } from '../markdown';
import { apiWords } from '../strings/api';
import type { Group } from './describe';
import { pretty } from './literals';
import { relations } from './related';
import { shownParameters } from './samples';
import type { ApiInput, Body, Field, Operation, Shape } from './types';

const oneLine = (text: string): string => joinLines(text.trim()).replace(/\s*\n\s*/g, ' ');
const code = (text: string): string => (text.includes('`') ? `\`\` ${text} \`\`` : `\`${text}\``);

const facts = (shape: Shape): string =>
  shape.facts.map(({ label, values }) => `${label}: ${values.map(code).join(', ')}`).join('; ');

function fieldLine(field: Field, indent: string): string {
  const { shape } = field;
  const marks = [
    shape.type,
    ...(field.required ? [apiWords.required] : []),
    ...(shape.deprecated ? [apiWords.deprecated] : []),
    ...(shape.readOnly ? [apiWords.readOnly] : []),
    ...(shape.writeOnly ? [apiWords.writeOnly] : []),
  ];
  const rest = [
    shape.description ? oneLine(shape.description) : '',
    facts(shape),
    shape.same ? apiWords.same(shape.same.name) : '',
  ];
  return [`${indent}- ${code(field.name)} (${marks.join(', ')})`, ...rest.filter(Boolean)].join(' — ');
}

function shapeLines(shape: Shape, indent: string): string[] {
  const lines = shape.fields.flatMap((field) => [
    fieldLine(field, indent),
    ...shapeLines(field.shape, `${indent}  `),
  ]);
  if (shape.item) {
    const own = [shape.item.description ? oneLine(shape.item.description) : '', facts(shape.item)].filter(
      Boolean,
    );
    if (own.length > 0) lines.push(`${indent}- ${apiWords.items} (${shape.item.type}) — ${own.join(' — ')}`);
    lines.push(...shapeLines(shape.item, indent));
  }
  for (const { kind, variants } of shape.choices) {
    lines.push(`${indent}- ${apiWords.variants[kind]}`);
    for (const { label, shape: inner } of variants)
      lines.push(
        `${indent}  - ${label}: ${[inner.type, facts(inner)].filter(Boolean).join(' — ')}`,
        ...shapeLines(inner, `${indent}    `),
      );
  }
  return lines;
}

function bodyText({ mediaType, shape, examples }: Body): string[] {
  const own = [shape.description ? oneLine(shape.description) : '', facts(shape)].filter(Boolean).join(' — ');
  const lines = shapeLines(shape, '');
  return [
    `${code(mediaType)} ${shape.type}${own ? ` — ${own}` : ''}`,
    ...(lines.length > 0 ? [lines.join('\n')] : []),
    ...examples.map((one) => `${one.name}:\n\n\`\`\`json\n${pretty(one.value)}\n\`\`\``),
  ];
}

function operationText(
  input: ApiInput,
  operation: Operation,
  related: ReturnType<typeof relations>,
): string[] {
  const links = operation.kind === 'call' ? related.callbacksOf(operation.id) : related.callsOf(operation.id);
  const isCall = operation.kind === 'call';
  const scopes = operation.security.flatMap((one) => one.scopes);
  const address = (href: string) => (href.startsWith('#') ? `${input.route}${href}` : href);
  return [
    `### ${operation.summary}${operation.deprecated ? ` (${apiWords.deprecated})` : ''} {#${operation.id}}`,
    [
      `- ${code(`${operation.method.toUpperCase()} ${operation.path}`)}`,
      `- operationId: ${code(operation.id)}`,
      ...(scopes.length > 0 ? [`- ${apiWords.scope}: ${scopes.map(code).join(', ')}`] : []),
      ...(operation.bodyLimit ? [`- ${apiWords.bodyLimit(operation.bodyLimit)}`] : []),
    ].join('\n'),
    joinLines(operation.description.trim()),
    ...(operation.parameters.length > 0
      ? [
          shownParameters(operation)
            .flatMap(({ place, field }) => [
              `${fieldLine(field, '')} — ${isCall ? apiWords.parameters[place] : apiWords.receivedHeaders}`,
              ...shapeLines(field.shape, '  '),
            ])
            .join('\n'),
        ]
      : []),
    ...(operation.request
      ? [
          `#### ${isCall ? apiWords.request : apiWords.received}`,
          joinLines(operation.request.description),
          ...operation.request.bodies.flatMap(bodyText),
        ]
      : []),
    `#### ${isCall ? apiWords.responses : apiWords.answers}`,
    ...operation.answers.flatMap((answer) => {
      const names = answer.headers.map((one) => code(one.name)).join(', ');
      const isError = /^[45]/.test(answer.status);
      return [
        `- **${answer.status}** ${oneLine(answer.description)}${names ? ` (${apiWords.headers}: ${names})` : ''}`,
        ...(isError
          ? answer.bodies.flatMap((one) => one.examples.map((example) => code(JSON.stringify(example.value))))
          : answer.bodies.flatMap(bodyText)),
      ];
    }),
    ...(links.length > 0
      ? [
          `#### ${isCall ? apiWords.callbacks : apiWords.causes}`,
          links.map((one) => `- [${one.summary}](${address(one.href)}) ${code(one.id)}`).join('\n'),
        ]
      : []),
  ].filter((one) => one !== '');
}

/** Returns the Markdown version of a reference, with the whole content of the page. */
export function markdownOf(input: ApiInput, title: string, groups: readonly Group[]): string {
  const { info } = input.document;
  const related = relations(input);
  const parts = [
    `# ${title}`,
    info.summary ?? '',
    `${apiWords.version} ${info.version}`,
    joinLines((info.description ?? '').trim()),
    ...groups.flatMap((group) => [
      `## ${group.title}`,
      joinLines(group.description),
      ...group.operations.flatMap((one) => operationText(input, one, related)),
    ]),
  ];
  return `${parts.filter((one) => one !== '').join('\n\n')}\n`;
}
