import type { MessageInitShape } from '@bufbuild/protobuf';
import { create } from '@bufbuild/protobuf';
import type { OperationSchema } from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import {
  ResetDeviceRequestSchema,
  SendOperationRequestSchema,
} from '@headset-cloud/proto/devices/v1/service_pb.ts';
import { describe, expect, test } from '@jest/globals';
import { deviceId } from '../testing/fakes.ts';
import { useGateway } from '../testing/suite.ts';

const suite = useGateway();
const { send, refused } = suite;
const device = `/v1/applications/app-1/devices/${deviceId}`;
const caller = { clientId: 'client-1', applicationId: 'app-1' };
const sent = () => suite.asked('sendOperation', SendOperationRequestSchema);

function expectSent(operationId: string, kind: MessageInitShape<typeof OperationSchema>['kind']): void {
  expect(sent()).toEqual(
    create(SendOperationRequestSchema, {
      caller,
      deviceId,
      operationId,
      operation: { kind: kind ?? { case: undefined } },
    }),
  );
}

const created = {
  status: 201,
  text: '{"transactionId":9007199254740991}',
};

// proves api/3/apn-required, api/3/apn-optional, api/3/apn-integers, api/7/apn
describe('APN', () => {
  const path = `${device}/settings/apn`;
  const least = { name: 'n', apn: 'a', mcc: '440', mnc: '10' };
  const texts = [
    'proxy',
    'port',
    'user',
    'server',
    'password',
    'mmsc',
    'mmsproxy',
    'mmsport',
    'type',
    'protocol',
    'carrierEnabled',
    'roamingProtocol',
    'mvnoType',
    'mvnoMatchData',
  ];
  const numbers = ['authType', 'bearer', 'bearerBitmask'];

  test('the devices service gets the complete list, in its order', async () => {
    const full = {
      ...least,
      ...Object.fromEntries(texts.map((name) => [name, `${name} text`])),
      authType: 3,
      bearer: 0,
      bearerBitmask: -1,
    };
    expect(await send('PUT', path, [full, least])).toMatchObject(created);
    expectSent('put-v1-applications-devices-settings-apn', {
      case: 'applyApns',
      value: { apns: [{ ...full, authType: 3n, bearer: 0n, bearerBitmask: -1n }, least] },
    });
  });

  // proves api/5/apn-required-length
  test.each(['name', 'apn', 'mcc', 'mnc'])('%s is required and has 1 to 100 characters', async (name) => {
    expect((await send('PUT', path, [{ ...least, [name]: 'x' }])).status).toBe(201);
    expect((await send('PUT', path, [{ ...least, [name]: '😀'.repeat(100) }])).status).toBe(201);
    await refused('PUT', path, [{ ...least, [name]: undefined }], `/0/${name} is required.`);
    await refused('PUT', path, [{ ...least, [name]: '' }], `/0/${name} must not be empty.`);
    await refused(
      'PUT',
      path,
      [least, { ...least, [name]: 'x'.repeat(101) }],
      `/1/${name} must have at most 100 characters.`,
    );
    for (const wrong of [null, 440, ['x'], {}])
      await refused('PUT', path, [{ ...least, [name]: wrong }], `/0/${name} must be a string.`);
  });

  // proves api/5/apn-text-length
  test.each(texts)('%s has at most 100 characters', async (name) => {
    expect((await send('PUT', path, [{ ...least, [name]: '' }])).status).toBe(201);
    expect((await send('PUT', path, [{ ...least, [name]: 'x'.repeat(100) }])).status).toBe(201);
    await refused(
      'PUT',
      path,
      [{ ...least, [name]: 'x'.repeat(101) }],
      `/0/${name} must have at most 100 characters.`,
    );
    for (const wrong of [null, 1, true])
      await refused('PUT', path, [{ ...least, [name]: wrong }], `/0/${name} must be a string.`);
  });

  test.each(numbers)('%s is an integer of 32 bits', async (name) => {
    for (const right of [-2147483648, 0, 2147483647])
      expect((await send('PUT', path, [{ ...least, [name]: right }])).status).toBe(201);
    for (const wrong of [1.5, '1', null, true])
      await refused('PUT', path, [{ ...least, [name]: wrong }], `/0/${name} must be an integer.`);
    await refused('PUT', path, [{ ...least, [name]: 2147483648 }], `/0/${name} must be <= 2147483647.`);
    await refused('PUT', path, [{ ...least, [name]: -2147483649 }], `/0/${name} must be >= -2147483648.`);
  });

  test('other bodies are rejected', async () => {
    await refused('PUT', path, [], 'must not be empty.');
    await refused('PUT', path, least, 'must be an array.');
    await refused('PUT', path, { apns: [least] }, 'must be an array.');
    await refused('PUT', path, 'null', 'must be an array.');
    await refused('PUT', path, [null], '/0 must be an object.');
    await refused('PUT', path, [{ ...least, other: 1 }], '/0/other is not a known field.');
    await refused('PUT', path, '[', 'The body is not valid JSON.');
    await refused('PUT', path, '[{"name":"a","name":"b"}]', '/0/name is given twice.');
  });
});

// proves api/3/wifi, api/7/wifi
describe('Wi-Fi', () => {
  const path = `${device}/settings/wifi`;

  test('the devices service gets the complete list, in its order', async () => {
    const networks = [{ ssid: 'a', password: 'p', security: 'WPA' }, { ssid: '日本' }];
    expect(await send('PUT', path, networks)).toMatchObject(created);
    expectSent('put-v1-applications-devices-settings-wifi', { case: 'applyWifi', value: { networks } });
  });

  // proves api/5/wifi-ssid
  test('ssid is required and has 1 to 32 characters', async () => {
    expect((await send('PUT', path, [{ ssid: 'あ'.repeat(32) }])).status).toBe(201);
    await refused('PUT', path, [{ password: 'p' }], '/0/ssid is required.');
    await refused('PUT', path, [{ ssid: '' }], '/0/ssid must not be empty.');
    await refused('PUT', path, [{ ssid: 'x'.repeat(33) }], '/0/ssid must have at most 32 characters.');
    await refused('PUT', path, [{ ssid: null }], '/0/ssid must be a string.');
  });

  // proves api/5/wifi-security
  test('security has at most 100 characters, a password any number', async () => {
    const long = { ssid: 'a', security: 'x'.repeat(100), password: 'x'.repeat(5000) };
    expect((await send('PUT', path, [long])).status).toBe(201);
    await refused(
      'PUT',
      path,
      [{ ssid: 'a', security: 'x'.repeat(101) }],
      '/0/security must have at most 100 characters.',
    );
    for (const name of ['security', 'password'])
      await refused('PUT', path, [{ ssid: 'a', [name]: 1 }], `/0/${name} must be a string.`);
  });

  test('other bodies are rejected', async () => {
    await refused('PUT', path, [], 'must not be empty.');
    await refused('PUT', path, { ssid: 'a' }, 'must be an array.');
    await refused('PUT', path, ['a'], '/0 must be an object.');
    await refused('PUT', path, [{ ssid: 'a', hidden: true }], '/0/hidden is not a known field.');
  });
});

describe('languages', () => {
  const path = `${device}/settings/lang`;

  // proves api/3/languages, api/7/lang
  test('the devices service gets the complete list, in its order', async () => {
    expect(await send('PUT', path, ['ja', 'en'])).toMatchObject(created);
    expectSent('put-v1-applications-devices-settings-lang', {
      case: 'applyLanguages',
      value: { languages: ['ja', 'en'] },
    });
  });

  // proves api/5/language-form
  test.each(['a', 'ja', 'zz', 'x'.repeat(8), '!~-_@[]^'])(
    '%p has the form of a language',
    async (language) => {
      expect((await send('PUT', path, [language])).status).toBe(201);
    },
  );

  // proves api/5/language-item
  test('each has 1 to 8 ASCII symbols and alphanumerics', async () => {
    for (const wrong of ['', 'x'.repeat(9), 'j a', ' ja', 'ja\n', '日本', 'é', '\u007f'])
      await refused(
        'PUT',
        path,
        ['ja', wrong],
        '/1 must have 1 to 8 printable ASCII characters, without blanks.',
      );
    for (const wrong of [null, 1, ['ja'], {}]) await refused('PUT', path, [wrong], '/0 must be a string.');
  });

  test('other bodies are rejected', async () => {
    await refused('PUT', path, [], 'must not be empty.');
    await refused('PUT', path, '"ja"', 'must be an array.');
    await refused('PUT', path, { lang: ['ja'] }, 'must be an array.');
  });
});

describe('launcher keys', () => {
  const path = `${device}/apps/launcher/keys`;
  const key = (over: object = {}) => ({
    'key-name': 'left',
    'key-event': 'long-pressed',
    'key-action': { 'action-type': 'none' },
    ...over,
  });
  const body = (over: object = {}) => ({ 'key-config': [key(over)] });
  const param = (value: unknown) =>
    body({ 'key-action': { 'action-type': 'launch-app', 'action-param': value } });

  // proves api/7/launcher-keys
  test('are passed on unchanged, without insignificant white space', async () => {
    const text =
      ' {"key-config" : [{"key-name":"left","key-event":"first-pressed","key-action":{"action-type":"launch-app",\n"action-param":{"package-name":"a b","flags":9007199254740993,"own":1.0}}}] , "own" : null}\n';
    expect(await send('PUT', path, text)).toMatchObject(created);
    expectSent('put-v1-applications-devices-apps-launcher-keys', {
      case: 'applyLauncherKeys',
      value: {
        configJson:
          '{"key-config":[{"key-name":"left","key-event":"first-pressed","key-action":{"action-type":"launch-app","action-param":{"package-name":"a b","flags":9007199254740993,"own":1.0}}}],"own":null}',
      },
    });
  });

  // proves api/3/launcher-names
  test.each(['left', 'center', 'right'])('key-name %s is known', async (name) => {
    expect((await send('PUT', path, body({ 'key-name': name }))).status).toBe(201);
  });
  // proves api/3/launcher-events
  test.each([
    'first-pressed',
    'single-released',
    'double-pressed',
    'double-released',
    'long-pressed',
    'long-released',
  ])('key-event %s is known', async (event) => {
    expect((await send('PUT', path, body({ 'key-event': event }))).status).toBe(201);
  });
  // proves api/3/launcher-param
  test.each([
    {},
    { 'package-name': 'a', 'class-name': 'b', 'action-name': 'c', flags: 1 },
    { flags: '0x10' },
    { flags: ['FLAG_ACTIVITY_NEW_TASK', 1] },
    { extras: [] },
    {
      extras: [
        { 'key-name': 'a', 'key-type': 'String', 'key-value': 'b' },
        { 'key-name': 'c', 'key-type': 'int', 'key-value': -1 },
        { 'key-name': 'd', 'key-type': 'int', 'key-value': '-12' },
      ],
    },
  ])('the action-param %j is accepted', async (value) => {
    expect((await send('PUT', path, param(value))).status).toBe(201);
  });
  test('an empty list removes every key', async () => {
    expect((await send('PUT', path, { 'key-config': [] })).status).toBe(201);
  });

  const at = '/key-config/0';
  const extra = `${at}/key-action/action-param/extras/0`;
  // proves api/3/launcher-entry, api/3/launcher-action, api/5/launcher-format
  test.each<[unknown, string]>([
    [{}, '/key-config is required.'],
    [[], 'must be an object.'],
    [{ 'key-config': {} }, '/key-config must be an array.'],
    [{ 'key-config': [1] }, `${at} must be an object.`],
    [body({ 'key-name': undefined }), `${at}/key-name is required.`],
    [body({ 'key-event': undefined }), `${at}/key-event is required.`],
    [body({ 'key-action': undefined }), `${at}/key-action is required.`],
    [body({ 'key-name': 'top' }), `${at}/key-name must be one of left, center, right.`],
    [
      body({ 'key-event': 'pressed' }),
      `${at}/key-event must be one of first-pressed, single-released, double-pressed, double-released, long-pressed, long-released.`,
    ],
    [body({ 'key-action': {} }), `${at}/key-action/action-type is required.`],
    [
      body({ 'key-action': { 'action-type': 'call' } }),
      `${at}/key-action/action-type must be one of launch-app, none.`,
    ],
    [param(1), `${at}/key-action/action-param must be an object.`],
    [param({ 'package-name': 1 }), `${at}/key-action/action-param/package-name must be a string.`],
    [param({ 'class-name': null }), `${at}/key-action/action-param/class-name must be a string.`],
    [param({ 'action-name': [] }), `${at}/key-action/action-param/action-name must be a string.`],
    [param({ flags: true }), `${at}/key-action/action-param/flags must be an integer, a string or an array.`],
    [param({ extras: {} }), `${at}/key-action/action-param/extras must be an array.`],
    [param({ extras: [{ 'key-type': 'int', 'key-value': 1 }] }), `${extra}/key-name is required.`],
    [param({ extras: [{ 'key-name': 'a', 'key-value': 1 }] }), `${extra}/key-type is required.`],
    [param({ extras: [{ 'key-name': 'a', 'key-type': 'int' }] }), `${extra}/key-value is required.`],
    [
      param({ extras: [{ 'key-name': 'a', 'key-type': 'string', 'key-value': 'b' }] }),
      `${extra}/key-type must be one of String, int.`,
    ],
    [
      param({ extras: [{ 'key-name': 'a', 'key-type': 'int', 'key-value': 1.5 }] }),
      `${extra}/key-value must be a string or an integer.`,
    ],
    ...['', 'three', '1.5', '0x10', ' 1'].map((value): [object, string] => [
      param({ extras: [{ 'key-name': 'a', 'key-type': 'int', 'key-value': value }] }),
      `${extra}/key-value must be an integer if key-type is int.`,
    ]),
  ])('%j is rejected: %s', (wrong, detail) => refused('PUT', path, wrong, detail));
});

// Rule A22.
describe('the body of a list of networks', () => {
  const mib = 1024 * 1024;
  test.each([
    ['apn', '[{"name":"n","apn":"a","mcc":"440","mnc":"10"}'],
    ['wifi', '[{"ssid":"s"}'],
  ])('%s: has at most 1 MiB', async (what, list) => {
    const body = (size: number) => `${list.padEnd(size - 1)}]`;
    expect((await send('PUT', `${device}/settings/${what}`, body(mib))).status).toBe(201);
    const answer = await send('PUT', `${device}/settings/${what}`, body(mib + 1));
    expect([answer.status, answer.text]).toEqual([
      413,
      '{"message":"The request body is larger than 1048576 bytes."}',
    ]);
  });
  test('lang: has at most 64 KiB, like every other body', async () => {
    const body = (size: number) => `["ja"${' '.repeat(size - 6)}]`;
    expect((await send('PUT', `${device}/settings/lang`, body(65_536))).status).toBe(201);
    expect((await send('PUT', `${device}/settings/lang`, body(65_537))).status).toBe(413);
  });
});

// proves api/7/uninstall
describe('uninstall', () => {
  test.each(['com.example.app', 'a.'.padEnd(128, 'x')])('%p is uninstalled', async (name) => {
    expect(await send('DELETE', `${device}/package/${encodeURIComponent(name)}`)).toMatchObject(created);
    expectSent('delete-v1-applications-devices-package', { case: 'uninstall', value: { package: name } });
  });
  // The form of PUT apps (rule A15).
  test.each([
    'a.'.padEnd(129, 'x'),
    'app',
    'com.1example',
    '%zz',
    '%20',
    'com.example.app%20',
    'com.example%2Fapp',
    '%F0%9F%98%80.a',
  ])('the package %s in the path is 404, before any service call', async (name) => {
    const answer = await send('DELETE', `${device}/package/${name}`);
    expect([answer.status, answer.text]).toEqual([
      404,
      '{"message":"The path parameter package is not valid."}',
    ]);
    expect(sent()).toBeUndefined();
  });
});

describe('reset', () => {
  test('is sent to the devices service; a body is ignored', async () => {
    const answer = await send('PUT', `${device}/reset`, '{', { headers: { 'content-type': 'text/plain' } });
    expect([answer.status, answer.text, answer.headers['location']]).toEqual([
      201,
      '{"transactionId":103}',
      '/v1/applications/app-1/transactions/103',
    ]);
    expect(suite.asked('resetDevice', ResetDeviceRequestSchema)).toEqual(
      create(ResetDeviceRequestSchema, { caller, deviceId }),
    );
  });
});
