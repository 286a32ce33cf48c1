import { expect, test } from '@jest/globals';
import { Ajv2020 } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import { callbackNameOf } from './callbacks.ts';
import { type JsonObject, readDocument } from './document.ts';
import { eventDocuments, readEventTypes } from './event-types.ts';

const types = readEventTypes();

test('each callback of the documents is exactly one type', () => {
  const described = eventDocuments.flatMap((name) =>
    Object.values(readDocument(name)['webhooks'] as Record<string, JsonObject>),
  );
  const ids = described.map(({ post }) => (post as JsonObject)['operationId']);
  expect(types.map(({ type }) => type)).toEqual(ids);
  expect(new Set(ids).size).toBe(ids.length);
});

// proves cb/7/remote-support
test('no callback is sent to remoteSupportEvent', () => {
  expect([...new Set(types.map(({ destination }) => destination))].toSorted()).toEqual([
    'deviceEvent',
    'fileUploadEvent',
    'noticeEvent',
    'soraEvent',
    'soraFileSendEvent',
  ]);
});

test.each(types.map((one) => [one.type, one] as const))(
  '%s: its schema is self-contained and accepts its examples, which are of this type; the setting matches the document',
  (_, { name, document, schema, examples, destination }) => {
    // Like an integrator's validator: strict, without knowledge of OpenAPI.
    const ajv = new Ajv2020({
      strict: true,
      strictTypes: false,
      strictRequired: false,
      allowUnionTypes: true,
    });
    formats.default(ajv);
    const validate = ajv.compile(schema);
    for (const example of examples) {
      expect([example.name, validate(example.body), validate.errors]).toEqual([example.name, true, null]);
      expect(validate({ ...example.body, more: 1 })).toBe(false);
      expect(callbackNameOf(example.body)).toBe(name);
    }
    const { post } = (readDocument(document)['webhooks'] as Record<string, JsonObject>)[name] as JsonObject;
    expect((post as JsonObject)['description']).toContain(`通知先は \`${destination}\` です。`);
  },
);
