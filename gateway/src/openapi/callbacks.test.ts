import { callbackTypes } from '@headset-cloud/proto/callbacks.ts';
import { describe, expect, test } from '@jest/globals';
import { type CallbackName, callbackCheck, callbackNameOf, signedUrlRequestCheck } from './callbacks.ts';
import { type JsonObject, readDocument } from './document.ts';

type Body = Record<string, unknown>;

/** Every example of a document's webhooks: [webhook, body]. */
function examplesOf(document: 'cws_notification' | 'cws_presigned_url' | 'cws_extension'): [string, Body][] {
  const webhooks = readDocument(document)['webhooks'] as Record<string, { post: JsonObject }>;
  return Object.entries(webhooks).flatMap(([name, { post }]) => {
    const content = (post['requestBody'] as JsonObject)['content'] as Record<string, JsonObject>;
    const examples = content['application/json']?.['examples'] as Record<string, { value: Body }>;
    return Object.values(examples).map(({ value }): [string, Body] => [name, value]);
  });
}

const check = callbackCheck();
const callbacks = [...examplesOf('cws_notification'), ...examplesOf('cws_extension')];
const example = (name: string) => callbacks.find(([n]) => n === name)?.[1] as Body;

test('the kind of a callback is derived from its body', () => {
  for (const [name, body] of callbacks) expect([name, callbackNameOf(body)]).toEqual([name, name]);
});

test('each kind of callback has the operationId of its document', () => {
  const documented = (['cws_notification', 'cws_extension'] as const).flatMap((document) => {
    const webhooks = readDocument(document)['webhooks'] as Record<string, { post: JsonObject }>;
    return Object.entries(webhooks).map(([name, { post }]) => [name, post['operationId']]);
  });
  expect(Object.entries(callbackTypes)).toEqual(documented);
});

// proves cb/3/common
test.each(callbacks)('a %s has exactly its documented members', (name, body) => {
  const faultsOf = (changed: Body) => check(name as CallbackName, changed);
  expect(faultsOf(body)).toEqual([]);
  expect(faultsOf({ ...body, other: 1 })).not.toEqual([]);
  for (const member of Object.keys(body)) {
    const { [member]: _, ...rest } = body;
    // The message is absent for a successful recording.
    if (name === 'recording' && member === 'message') continue;
    expect([member, faultsOf(rest)]).not.toEqual([member, []]);
    expect([member, faultsOf({ ...body, [member]: Symbol.for('never') })]).not.toEqual([member, []]);
  }
});

describe('values that callbacks must not have', () => {
  test.each<[string, Body]>([
    ['transactionResult', { notificationType: 'in_progress' }],
    ['transactionResult', { transactionId: '1' }],
    ['transactionResult', { deviceId: null }],
    ['transactionResult', { timestamp: 1.5 }],
    ['transactionResult', { notificationType: 'processed', operationId: 'put-v1-applications-devices-apps' }],
    ['transactionResult', { operationId: 'put-v1-applications-devices-firmware' }],
    [
      'transactionResult',
      { notificationType: 'processed', operationId: 'get-v1-applications-connectivity-list' },
    ],
    ['updateResult', { progress: -0.1 }],
    ['updateResult', { progress: 1.1 }],
    ['commandResult', { customData: null }],
    ['commandResult', { process: 'accepted' }],
    ['transactionCanceled', { message: 'other' }],
    ['transactionCanceled', { result: 'success' }],
    ['connectivityList', { statusCode: 404 }],
    ['connectivityList', { networkType: 'wifi' }],
    ['connectivityList', { target: 'none' }],
    ['connectivityState', { statusCode: 403 }],
    ['connectivityState', { state: 'on' }],
    ['connectivityReset', { statusCode: 400 }],
    ['bluetoothPairing', { statusCode: 401 }],
    ['bluetoothPairing', { networkType: 'wifi' }],
    ['bluetoothConnection', { statusCode: 404 }],
    ['customData', { message: '' }],
    ['appStatus', { appStatus: 'paused' }],
    ['boot', { status: 'on' }],
    ['wearingStatus', { usage: 'start_charging' }],
    ['batteryCharging', { usage: 'device_wear' }],
    ['networkConnectionStatus', { status: 'online' }],
    ['batteryPercentageChanged', { batteryPercentage: 101 }],
    ['batteryPercentageChanged', { batteryPercentage: 1.5 }],
    ['location', { lat: 35.6 }],
    ['networkLevel', { networkLevel: 5 }],
    ['networkLevel', { networkType: 'apn' }],
    ['volume', { stream: 'ring' }],
    ['signal', { signalLevel: -1 }],
    ['bluetooth', { status: 'enabled' }],
    ['soraEvent', { event: 'session.created' }],
    ['recording', { message: 'archive is not found.', extra: 1 }],
    ['destinationFailing', { reason: 'gone' }],
    ['destinationFailing', { destination: 'fileUploadGetUrl' }],
    ['destinationRecovered', { waiting: -1 }],
    ['deliveriesDead', { count: 0 }],
    ['deliveriesDead', { recover: {} }],
    ['fileUpload', { result: 'failure' }],
    ['fileUpload', { message: 'The upload to the signed URL failed.' }],
  ])('%s with %j', (name, change) => {
    expect(check(name as CallbackName, { ...example(name), ...change })).not.toEqual([]);
  });
});

test('cancel messages match the specification, for every operation', () => {
  const canceled = example('transactionCanceled');
  for (const operationId of [
    'put-v1-applications-devices-apps',
    'delete-v1-applications-devices-package',
    'get-v1-applications-connectivity-state',
  ]) {
    for (const message of [
      'The transaction was canceled because the retry limit was exceeded.',
      'The transaction was canceled because there is a new transaction.',
      'The transaction was canceled because it occurred before deactivation.',
      'The transaction was canceled because it occurred before reset.',
      'The transaction was canceled by a cancel request.',
    ]) {
      const body = { ...canceled, operationId, message };
      expect(callbackNameOf(body)).toBe('transactionCanceled');
      expect(check('transactionCanceled', body)).toEqual([]);
    }
  }
});

test('every operation is accepted in the general form, updates with their progress', () => {
  const accepted = example('transactionResult');
  for (const operationId of [
    'post-v1-applications-devices',
    'delete-v1-applications-devices-package',
    'post-v1-applications-bluetooth-device',
  ]) {
    const body = { ...accepted, operationId };
    expect([callbackNameOf(body), check('transactionResult', body)]).toEqual(['transactionResult', []]);
  }
  const update = {
    ...accepted,
    operationId: 'put-v1-applications-devices-apps',
    notificationType: 'accepted',
    progress: 0,
  };
  expect([callbackNameOf(update), check('updateResult', update)]).toEqual(['updateResult', []]);
});

// proves cb/7/url-single, cb/7/url-multipart, cb/7/url-file
test('requests for signed URLs have exactly the documented form', () => {
  const faultsOf = signedUrlRequestCheck();
  for (const [name, body] of examplesOf('cws_presigned_url')) {
    expect(faultsOf(name as 'fileUploadGetUrl', body)).toEqual([]);
    expect(faultsOf(name as 'fileUploadGetUrl', { ...body, other: 1 })).not.toEqual([]);
  }
  const [single, multi] = examplesOf('cws_presigned_url').map(([, body]) => body);
  expect(faultsOf('soraRecGetPresignedUrl', multi)).not.toEqual([]);
  expect(faultsOf('soraRecGetMultiPresignedUrl', single)).not.toEqual([]);
});
