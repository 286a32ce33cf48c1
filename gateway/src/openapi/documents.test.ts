import { fileURLToPath } from 'node:url';
import { systemClock } from '@headset-cloud/runtime/clock.ts';
import { errorCatalogue } from '@headset-cloud/runtime/errors.ts';
import { expect, test } from '@jest/globals';
import { createConfig, lint } from '@redocly/openapi-core';
import { createHandlers } from '../routes/index.ts';
import {
  apiDocuments,
  documentNames,
  type JsonObject,
  operationsOf,
  readDocument,
  resolve,
} from './document.ts';
import { SchemaCompiler } from './validators.ts';

const document = readDocument('cws_api');
const operations = operationsOf(document);
const extensions = operationsOf(readDocument('cws_extension'));
const served = apiDocuments.flatMap((name) => {
  const its = readDocument(name);
  return operationsOf(its).map((operation) => ({ ...operation, document: its }));
});

test('handlers and documents name the same operations', () => {
  const handlers = createHandlers({} as Parameters<typeof createHandlers>[0], systemClock);
  expect(Object.values(handlers).flatMap(Object.keys).toSorted()).toEqual(
    served.map((o) => o.operationId).toSorted(),
  );
});

// proves api/7/paths
test('all paths start with /v1, and their parameters are the specified ones', () => {
  for (const { path } of operations) expect(path).toMatch(/^\/v1\//);
  const named = operations.flatMap(({ path }) => [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name));
  expect([...new Set(named)].toSorted()).toEqual([
    'applicationId',
    'deviceId',
    'package',
    'transactionId',
    'type',
  ]);
});

// proves api/3/activation-status-null
test('the activation status of a device may be null in the contract', () => {
  const { status } = resolve(document, { $ref: '#/components/schemas/Activation' })['properties'] as {
    status: JsonObject;
  };
  expect(status).toEqual({ type: ['string', 'null'], enum: ['activated', 'deactivated', null] });
});

// proves ext/contract/document
test('the extensions add calls below an application, with its scopes, and change no call of the specification', () => {
  const keys = operations.map((o) => `${o.method} ${o.path}`);
  for (const { operationId, method, path, scopes } of extensions) {
    expect(keys).not.toContain(`${method} ${path}`);
    expect(operations.map((o) => o.operationId)).not.toContain(operationId);
    expect(path).toMatch(/^\/v1\/applications\/\{applicationId\}\/[a-z]/);
    expect(scopes).toEqual([
      expect.stringMatching(method === 'GET' ? /^cws:(application|device):read$/ : /^cws:application:write$/),
    ]);
  }
});

test('changing calls of the extensions take an Idempotency-Key', () => {
  for (const { operationId, method, parameters } of extensions) {
    const takes = parameters.some((p) => p.in === 'header' && p.name === 'Idempotency-Key');
    expect([operationId, takes]).toEqual([operationId, method !== 'GET']);
  }
});

test('components with the same name are equal in both documents', () => {
  type Components = Record<string, Record<string, unknown>>;
  const specified = document['components'] as Components;
  const extension = readDocument('cws_extension')['components'] as Components;
  for (const kind of ['parameters', 'headers', 'responses', 'examples', 'schemas']) {
    for (const [name, component] of Object.entries(extension[kind] ?? {})) {
      const other = specified[kind]?.[name];
      if (other !== undefined) expect([kind, name, component]).toEqual([kind, name, other]);
    }
  }
});

test('operationIds match rule C8, each once', () => {
  expect(operations.map((o) => o.operationId).toSorted()).toEqual([
    'delete-v1-applications-bluetooth-device',
    'delete-v1-applications-connectivity-reset',
    'delete-v1-applications-devices',
    'delete-v1-applications-devices-package',
    'delete-v1-applications-devices-transactions',
    'get-v1-applications',
    'get-v1-applications-apps',
    'get-v1-applications-billing',
    'get-v1-applications-connectivity-list',
    'get-v1-applications-connectivity-state',
    'get-v1-applications-devices',
    'get-v1-applications-devices-status',
    'get-v1-applications-devices-status-list',
    'get-v1-applications-firmware',
    'get-v1-applications-sora-versions',
    'get-v1-applications-transactions',
    'get-v1-applications-transactions-transaction',
    'get-v1-devices-hardware-properties',
    'patch-v1-applications',
    'post-v1-applications-apps',
    'post-v1-applications-bluetooth-device',
    'post-v1-applications-channels',
    'post-v1-applications-devices',
    'post-v1-applications-refresh-authkey',
    'put-v1-applications-bluetooth-device',
    'put-v1-applications-connectivity-state',
    'put-v1-applications-devices-apps',
    'put-v1-applications-devices-apps-launcher-keys',
    'put-v1-applications-devices-commands',
    'put-v1-applications-devices-firmware',
    'put-v1-applications-devices-reset',
    'put-v1-applications-devices-settings-apn',
    'put-v1-applications-devices-settings-lang',
    'put-v1-applications-devices-settings-wifi',
  ]);
});

test('every documented error status is in the catalogue and describes its condition', () => {
  const known = new Set<number>(Object.values(errorCatalogue).map((e) => e.http));
  for (const operation of served) {
    for (const [status, response] of Object.entries(operation.responses)) {
      if (Number(status) >= 400) expect(known).toContain(Number(status));
      expect(response['description']).toMatch(/[ぁ-んァ-ヶ一-龠]/);
    }
    for (const status of ['401', '403', '500', '503']) expect(operation.responses).toHaveProperty(status);
  }
});

test.each(documentNames)('%s: every reference exists and every schema compiles', (name) => {
  const each = readDocument(name);
  const compiler = new SchemaCompiler(name, each);
  for (const ref of JSON.stringify(each).matchAll(/"\$ref":"([^"]+)"/g)) {
    expect(Object.keys(resolve(each, { $ref: ref[1] }))).not.toHaveLength(0);
  }
  const { schemas } = each['components'] as { schemas: JsonObject };
  for (const schema of Object.keys(schemas)) compiler.ofReference(`#/components/schemas/${schema}`);
});

/** Every `content` of a document, at any depth, with its location. */
function contentsOf(value: unknown, at = ''): [string, JsonObject][] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) =>
    name === 'content' && 'application/json' in inner
      ? [[at, inner['application/json']] as [string, JsonObject]]
      : contentsOf(inner, `${at}/${name}`),
  );
}

/** No call without a device returns 409 today, so there is no real message for an example. */
const withoutExamples = ['/components/responses/Conflict'];

test.each(documentNames)(
  '%s: every body, including errors, has examples, and all match their schemas',
  (name) => {
    const each = readDocument(name);
    const compiler = new SchemaCompiler(name, each);
    for (const [at, content] of contentsOf(each)) {
      const validate = compiler.ofReference(String((content['schema'] as JsonObject)['$ref']));
      const examples = Object.values((content['examples'] ?? {}) as Record<string, unknown>);
      expect([at, examples.length > 0]).toEqual([at, !withoutExamples.includes(at)]);
      for (const example of examples) {
        const { value } = resolve(each, example);
        expect([at, validate(value), validate.errors]).toEqual([at, true, null]);
      }
    }
  },
);

test('an example of a missing scope contains the scope of its call', () => {
  for (const { operationId, scopes, responses, document: its } of served) {
    const content = responses['403']?.['content'] as Record<string, { examples: Record<string, unknown> }>;
    const messages = Object.values(content['application/json']?.examples ?? {}).map((example) => {
      return String((resolve(its, example)['value'] as JsonObject)['message']);
    });
    const named = messages.filter((message) => message.startsWith('The access token lacks'));
    expect([operationId, named]).toEqual([
      operationId,
      scopes.map((scope) => `The access token lacks the scope ${scope}.`),
    ]);
  }
});

test.each(apiDocuments)('%s: the examples of parameters match their schemas', (name) => {
  const compiler = new SchemaCompiler(name, readDocument(name));
  const { parameters } = readDocument(name)['components'] as { parameters: Record<string, JsonObject> };
  for (const parameter of Object.values(parameters)) {
    expect(compiler.ofSchema(resolve(readDocument(name), parameter['schema']))(parameter['example'])).toBe(
      true,
    );
  }
});

test('a parameter with its own error has a code of the catalogue', () => {
  const codes = operations.flatMap((o) => o.parameters.flatMap((p) => (p.errorCode ? [p.errorCode] : [])));
  expect(new Set(codes)).toEqual(new Set(['invalid_argument']));
  for (const code of codes) expect(errorCatalogue[code].http).toBe(400);
});

test('calls that create a transaction answer 201 with its address and a link to it; other calls do not', () => {
  const making = operations.filter((o) => 'Location' in ((o.responses['201']?.['headers'] ?? {}) as object));
  expect(making.map((o) => o.operationId).toSorted()).toEqual(
    operations
      .filter((o) => o.method !== 'GET' || o.path.includes('/connectivity'))
      .map((o) => o.operationId)
      .filter((id) => !withoutTransaction.includes(id))
      .toSorted(),
  );
  for (const o of making) expect(o.responses['201']).toHaveProperty(['links', 'transaction']);
});

const withoutTransaction = [
  'patch-v1-applications',
  'post-v1-applications-refresh-authkey',
  'post-v1-applications-apps',
  'post-v1-applications-channels',
  'delete-v1-applications-devices-transactions',
];

test.each(documentNames)('%s passes the linter', async (name) => {
  const config = await createConfig({
    extends: ['recommended-strict'],
    // The integrator chooses the servers of callbacks and signed URLs.
    rules: (apiDocuments as readonly string[]).includes(name) ? {} : { 'no-empty-servers': 'off' },
  });
  const file = fileURLToPath(new URL(`../../openapi/${name}.yaml`, import.meta.url));
  const problems = await lint({ ref: file, config });
  expect(problems.map((p) => `${p.location[0]?.pointer}: ${p.message}`)).toEqual([]);
});
