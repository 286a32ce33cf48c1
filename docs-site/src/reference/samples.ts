import { createHmac } from 'node:crypto';
import { valueNames } from '../../build/values';
import { apiWords } from '../strings/api';
import { holdsRaw, javascript, pretty, python } from './literals';
import { isObject } from './resolve';
import type { Json, Operation, Parameter } from './types';

export interface Sample {
  readonly language: 'bash' | 'js' | 'python' | 'http';
  readonly code: string;
}

export const signatureAnchor = 'signature-calculator';

/** What a test of a verifier starts from; the same values fill the signature calculator. */
export const testVector = {
  key: '3q2-7wAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA',
  id: 'device-350000000000006-7',
  timestamp: '1767225600',
  body: '{"applicationId":"app-1","deviceId":"350000000000006","timestamp":1767225600000,"operationId":"notify-boot","status":"started"}',
} as const;

/** Both signatures of a callback, as the platform makes them. */
export function signatures({
  key,
  id,
  timestamp,
  body,
}: {
  key: string;
  id: string;
  timestamp: string;
  body: string;
}): { simple: string; standard: string } {
  const standard = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64');
  return { simple: createHmac('sha256', key).update(body).digest('hex'), standard: `v1,${standard}` };
}

/** The destination in the document's examples: in samples it is the reader's own. */
const exampleDestination = 'https://integrator.example/callbacks';

const known: readonly string[] = valueNames;
const text = (value: Json | undefined): string =>
  typeof value === 'string' ? value : JSON.stringify(value ?? 'example');
const exampleOf = ({ field, example }: Parameter): string => text(example ?? field.shape.example);
const shownValue = (parameter: Parameter): string =>
  known.includes(parameter.field.name)
    ? `{{${parameter.field.name}}}`
    : encodeURIComponent(exampleOf(parameter));

/** The address of a call with the reader's values and the query parameters that are required. */
export function addressOf(operation: Operation): string {
  const inPath = new Map(
    operation.parameters.filter((one) => one.place === 'path').map((one) => [one.field.name, one]),
  );
  const path = operation.path.replace(/\{([^}]+)\}/g, (whole, name: string) => {
    const parameter = inPath.get(name);
    return parameter ? shownValue(parameter) : whole;
  });
  const query = operation.parameters.filter((one) => one.place === 'query' && one.field.required);
  const pairs = query.map((one) => `${encodeURIComponent(one.field.name)}=${shownValue(one)}`);
  return `{{apiUrl}}${path}${pairs.length > 0 ? `?${pairs.join('&')}` : ''}`;
}

const headersOf = (operation: Operation): [string, string][] => [
  ...operation.parameters
    .filter((one) => one.place === 'header' && one.field.required)
    .map((one): [string, string] => [one.field.name, exampleOf(one)]),
  ...(operation.request?.bodies[0]
    ? [['Content-Type', operation.request.bodies[0].mediaType] as [string, string]]
    : []),
];

/** A call that may be repeated safely is shown with a key of its own: what the guide on repeating says. */
const keyHeader = 'Idempotency-Key';
const takesKey = (operation: Operation): boolean =>
  operation.parameters.some((one) => one.place === 'header' && one.field.name === keyHeader);

const shell = (value: string): string => `'${value.replaceAll("'", "'\\''")}'`;
const single = (value: string): string => `'${value.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;

function curl(operation: Operation, body: Json | undefined): string {
  const method = operation.method.toUpperCase();
  const parts = [`curl -i ${method === 'GET' ? '' : `-X ${method} `}${shell(addressOf(operation))}`];
  if (operation.security.length > 0) parts.push(`-H "Authorization: Bearer $TOKEN"`);
  if (takesKey(operation)) parts.push(`-H "${keyHeader}: $(openssl rand -hex 16)"`);
  for (const [name, value] of headersOf(operation)) parts.push(`-H ${shell(`${name}: ${value}`)}`);
  if (body !== undefined) parts.push(`-d ${shell(pretty(body))}`);
  return parts.join(' \\\n  ');
}

function node(operation: Operation, body: Json | undefined): string {
  const method = operation.method.toUpperCase();
  const lines = method === 'GET' ? [] : [`  method: '${method}',`];
  const headers = headersOf(operation).map(
    ([name, value]) => `    ${/^[A-Za-z]+$/.test(name) ? name : single(name)}: ${single(value)},`,
  );
  if (takesKey(operation)) headers.unshift(`    '${keyHeader}': crypto.randomUUID(),`);
  // biome-ignore lint/suspicious/noTemplateCurlyInString: it is the sample's own
  if (operation.security.length > 0) headers.unshift('    Authorization: `Bearer ${process.env.TOKEN}`,');
  if (headers.length > 0) lines.push('  headers: {', ...headers, '  },');
  // A number that JavaScript cannot carry is sent as text.
  if (body !== undefined)
    lines.push(
      holdsRaw(body)
        ? `  body: String.raw\`${pretty(body)}\`,`
        : `  body: JSON.stringify(${javascript(body, '  ')}),`,
    );
  const options = lines.length > 0 ? `, {\n${lines.join('\n')}\n}` : '';
  return `const response = await fetch(${single(addressOf(operation))}${options});\nconsole.log(response.status, await response.text());`;
}

function pythonSample(operation: Operation, body: Json | undefined): string {
  const headers = headersOf(operation).filter(
    ([name, value]) => !(body !== undefined && name === 'Content-Type' && value === 'application/json'),
  );
  const lines = headers.map(([name, value]) => `        ${single(name)}: ${single(value)},`);
  const isSecured = operation.security.length > 0;
  const isKeyed = takesKey(operation);
  if (isKeyed) lines.unshift(`        '${keyHeader}': str(uuid.uuid4()),`);
  if (isSecured) lines.unshift(`        'Authorization': f"Bearer {os.environ['TOKEN']}",`);
  return [
    ...(isSecured ? ['import os'] : []),
    ...(isKeyed ? ['import uuid'] : []),
    ...(isSecured || isKeyed ? [''] : []),
    'import requests',
    '',
    `response = requests.${operation.method}(`,
    `    ${single(addressOf(operation))},`,
    ...(lines.length > 0 ? ['    headers={', ...lines, '    },'] : []),
    ...(body === undefined ? [] : [`    json=${python(body, '    ')},`]),
    '    timeout=30,',
    ')',
    'print(response.status_code, response.text)',
  ].join('\n');
}

/** Headers of a callback: the signatures are those of the shown body with the key of the test vector. */
export function receivedHeaders(operation: Operation): ReadonlyMap<string, string> {
  const body = operation.request?.bodies[0]?.examples[0]?.value;
  const { simple, standard } = signatures({ ...testVector, body: body === undefined ? '' : pretty(body) });
  const application = isObject(body) ? body['applicationId'] : undefined;
  const values: Readonly<Record<string, string>> = {
    'x-tlpf-notification-key': simple,
    'webhook-id': testVector.id,
    'webhook-timestamp': testVector.timestamp,
    'webhook-signature': standard,
    applicationid: typeof application === 'string' ? application : 'app-1',
  };
  const headers = operation.parameters.filter((one) => one.place === 'header');
  return new Map(
    headers.map((one) => [one.field.name, values[one.field.name.toLowerCase()] ?? exampleOf(one)]),
  );
}

/** Parameters as they are shown: a header of a callback has the value of the sample beside it. */
export function shownParameters(operation: Operation): readonly Parameter[] {
  if (operation.kind === 'call') return operation.parameters;
  const values = receivedHeaders(operation);
  const label = apiWords.facts.example;
  return operation.parameters.map((one) => {
    const value = values.get(one.field.name);
    if (one.place !== 'header' || value === undefined) return one;
    const facts = [
      ...one.field.shape.facts.filter((fact) => fact.label !== label),
      { label, values: [value] },
    ];
    return { ...one, field: { ...one.field, shape: { ...one.field.shape, facts } } };
  });
}

/** What the platform sends. */
function received(operation: Operation, body: Json | undefined): string {
  const content = body === undefined ? '' : pretty(body);
  const headers = [...receivedHeaders(operation)].map(([name, value]) => `${name}: ${value}`);
  const media = operation.request?.bodies[0]?.mediaType;
  return [
    `${operation.method.toUpperCase()} /events HTTP/1.1`,
    ...headers,
    ...(media ? [`Content-Type: ${media}`, '', content] : []),
  ].join('\n');
}

/** Samples of a call in three languages, or the request that a callback makes. */
export function samplesOf(operation: Operation): Sample[] {
  const body = operation.request?.bodies[0]?.examples[0]?.value;
  if (operation.kind === 'callback') return [{ language: 'http', code: received(operation, body) }];
  const samples: Sample[] = [
    { language: 'bash', code: curl(operation, body) },
    { language: 'js', code: node(operation, body) },
    { language: 'python', code: pythonSample(operation, body) },
  ];
  // A sample that registers a destination must not lead callbacks away from the reader's server.
  return samples.map((one) => ({
    ...one,
    code: one.code.replaceAll(exampleDestination, '{{integratorUrl}}'),
  }));
}
