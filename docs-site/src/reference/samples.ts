import { createHmac } from 'node:crypto';
import { valueNames } from '../../build/values';
import { apiWords } from '../strings/api';
import { containsRaw, javascript, pretty, python } from './literals';
import { isObject } from './resolve';
import type { Json, Operation, Parameter } from './types';

export interface Sample {
  readonly language: 'bash' | 'js' | 'python' | 'http';
  readonly code: string;
}

export const signatureAnchor = 'signature-calculator';

/** Test vector for signature verification, also used by the signature calculator. */
export const testVector = {
  key: '3q2-7wAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA',
  id: 'device-350000000000006-7',
  timestamp: '1767225600',
  body: '{"applicationId":"app-1","deviceId":"350000000000006","timestamp":1767225600000,"operationId":"notify-boot","status":"started"}',
} as const;

/** Computes both signatures of a callback in the same way as the platform. */
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

/** Endpoint in the document's examples; samples have the reader's endpoint instead. */
const exampleEndpoint = 'https://integrator.example/callbacks';

const known: readonly string[] = valueNames;
const text = (value: Json | undefined): string =>
  typeof value === 'string' ? value : JSON.stringify(value ?? 'example');
const exampleOf = ({ field, example }: Parameter): string => text(example ?? field.shape.example);
const shownValue = (parameter: Parameter): string =>
  known.includes(parameter.field.name)
    ? `{{${parameter.field.name}}}`
    : encodeURIComponent(exampleOf(parameter));

/** Address of a call with placeholders for reader values and with the required query parameters. */
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

/** Samples of calls that accept this header send a random key, as the guide on retries recommends. */
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
  // biome-ignore lint/suspicious/noTemplateCurlyInString: code of the sample
  if (operation.security.length > 0) headers.unshift('    Authorization: `Bearer ${process.env.TOKEN}`,');
  if (headers.length > 0) lines.push('  headers: {', ...headers, '  },');
  // A number that JavaScript cannot represent is sent as JSON text.
  if (body !== undefined)
    lines.push(
      containsRaw(body)
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

/** Headers of a callback. The signatures are computed over the shown body, with the key of the test vector. */
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

/** Parameters to show. The example of a callback's header is its value in the sample. */
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

/** HTTP request of a callback. */
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

/** Samples of a call in three languages, or the HTTP request of a callback. */
export function samplesOf(operation: Operation): Sample[] {
  const body = operation.request?.bodies[0]?.examples[0]?.value;
  if (operation.kind === 'callback') return [{ language: 'http', code: received(operation, body) }];
  const samples: Sample[] = [
    { language: 'bash', code: curl(operation, body) },
    { language: 'js', code: node(operation, body) },
    { language: 'python', code: pythonSample(operation, body) },
  ];
  // A sample that registers an endpoint must keep the reader's endpoint.
  return samples.map((one) => ({
    ...one,
    code: one.code.replaceAll(exampleEndpoint, '{{integratorUrl}}'),
  }));
}
