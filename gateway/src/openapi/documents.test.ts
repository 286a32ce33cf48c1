import { errorCatalogue } from '@headset-cloud/kit/errors.ts';
import { describe, expect, test } from '@jest/globals';
import { createHandlers } from '../routes/index.ts';
import { callbackCheck } from './callbacks.ts';
import { type JsonObject, operationsOf, readDocument, resolve } from './document.ts';
import { SchemaCompiler } from './validators.ts';

const document = readDocument('cws_api');
const operations = operationsOf(document);

test('handlers and document name the same operations', () => {
  const handlers = createHandlers({} as Parameters<typeof createHandlers>[0]);
  expect(Object.keys(handlers).toSorted()).toEqual(operations.map((o) => o.operationId).toSorted());
});

test('operationIds are those of decision 8, each once', () => {
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

test('every documented error status is in the catalogue and says its condition', () => {
  const known = new Set<number>(Object.values(errorCatalogue).map((e) => e.http));
  for (const operation of operations) {
    for (const [status, response] of Object.entries(operation.responses)) {
      if (Number(status) >= 400) expect(known).toContain(Number(status));
      expect(response['description']).toMatch(/[ぁ-んァ-ヶ一-龠]/);
    }
    for (const status of ['401', '403', '500', '503']) expect(operation.responses).toHaveProperty(status);
  }
});

test('every reference leads somewhere and every schema compiles', () => {
  for (const name of ['cws_api', 'cws_notification'] as const) {
    const each = readDocument(name);
    const compiler = new SchemaCompiler(name, each);
    for (const ref of JSON.stringify(each).matchAll(/"\$ref":"([^"]+)"/g)) {
      expect(Object.keys(resolve(each, { $ref: ref[1] }))).not.toHaveLength(0);
    }
    const { schemas } = each['components'] as { schemas: JsonObject };
    for (const schema of Object.keys(schemas)) compiler.ofReference(`#/components/schemas/${schema}`);
  }
});

test('every example fits its schema', () => {
  const compiler = new SchemaCompiler('cws_api', document);
  let examples = 0;
  const contents = operations.flatMap((o) =>
    Object.values(o.responses).map((r) => r['content'] as JsonObject),
  );
  for (const item of Object.values(document['paths'] as Record<string, Record<string, JsonObject>>)) {
    for (const operation of Object.values(item)) {
      if (operation['requestBody'])
        contents.push((operation['requestBody'] as JsonObject)['content'] as JsonObject);
    }
  }
  for (const content of contents) {
    const json = content?.['application/json'] as {
      schema: JsonObject;
      examples?: Record<string, JsonObject>;
    };
    const validate = compiler.ofReference(String(json.schema['$ref']));
    for (const example of Object.values(json.examples ?? {})) {
      examples++;
      expect([validate(example['value']), validate.errors]).toEqual([true, null]);
    }
  }
  expect(examples).toBeGreaterThan(10);
});

describe('callbacks', () => {
  const check = callbackCheck();
  const common = {
    applicationId: 'app-1',
    deviceId: '350000000000006',
    timestamp: 1,
    transactionId: 1,
    operationId: 'put-v1-applications-devices-commands',
  };
  const general = { ...common, notificationType: 'processed', result: 'failure' };
  const canceled = 'The transaction was canceled by a cancel request.';
  const answer = { ...common, success: true, process: 'processed', message: '', customData: '' };
  test.each([
    ['transactionResult', { ...general, message: '' }],
    ['commandResult', answer],
    ['transactionCanceled', { ...general, message: canceled }],
  ] as const)('a %s of the documented form passes', (name, body) => {
    expect(check(name, body)).toEqual([]);
  });
  test.each([
    ['transactionResult', { ...general, message: '', transactionId: '1' }],
    ['transactionResult', common],
    ['commandResult', { ...answer, customData: null }],
    ['commandResult', { ...answer, extra: 1 }],
    ['transactionCanceled', { ...general, message: 'other' }],
    ['transactionCanceled', { ...general, message: canceled, result: 'success' }],
  ] as const)('a %s of another form does not', (name, body) => {
    expect(check(name, body)).not.toEqual([]);
  });
  test('every example fits its schema', () => {
    const webhooks = readDocument('cws_notification')['webhooks'] as Record<string, { post: JsonObject }>;
    for (const [name, { post }] of Object.entries(webhooks)) {
      const content = (post['requestBody'] as JsonObject)['content'] as Record<string, JsonObject>;
      const examples = content['application/json']?.['examples'] as Record<string, JsonObject>;
      for (const example of Object.values(examples))
        expect(check(name as 'commandResult', example['value'])).toEqual([]);
    }
  });
});
