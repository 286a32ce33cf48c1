import { create } from '@bufbuild/protobuf';
import {
  ListAppsRequestSchema,
  ListFirmwareRequestSchema,
  RequestUploadRequestSchema,
  UpdateAppRequestSchema,
  UpdateFirmwareRequestSchema,
} from '@headset-cloud/proto/updates/v1/service_pb.ts';
import { DomainError } from '@headset-cloud/runtime/errors.ts';
import { describe, expect, test } from '@jest/globals';
import { deviceId } from '../testing/fakes.ts';
import { useGateway } from '../testing/suite.ts';

const suite = useGateway();
const { send, refused } = suite;
const app = '/v1/applications/app-1';
const device = `${app}/devices/${deviceId}`;
const caller = { clientId: 'client-1', applicationId: 'app-1' };
const message = (text: string) => JSON.parse(text).message as string;

/** `start`: prefix of a valid value. */
const textLimits =
  (method: string, path: string, body: Record<string, unknown>, name: string, start = '') =>
  async (): Promise<void> => {
    const longest = start.padEnd(128, 'x');
    expect((await send(method, path, { ...body, [name]: longest })).status).toBe(201);
    await refused(method, path, { ...body, [name]: undefined }, `/${name} is required.`);
    await refused(method, path, { ...body, [name]: '' }, `/${name} must not be empty.`);
    await refused(
      method,
      path,
      { ...body, [name]: `${longest}x` },
      `/${name} must have at most 128 characters.`,
    );
    for (const wrong of [null, 1, ['x']])
      await refused(method, path, { ...body, [name]: wrong }, `/${name} must be a string.`);
  };

const forms = {
  package: 'must be a package name such as com.example.app',
  version: 'must begin with a letter or digit, and hold only letters, digits, ".", "_", "+" and "-"',
};
const wrongForms = [
  ['package', 'app'],
  ['package', 'com.1example'],
  ['package', 'com..example'],
  ['package', 'com.example.app '],
  ['version', '1 0'],
  ['version', '.1'],
] as const;

// proves api/3/app-install, api/7/update-app
describe('update of software now', () => {
  const path = `${device}/apps`;
  const body = { package: 'com.example.app', version: '1.2.0' };
  test('is sent to the updates service', async () => {
    const answer = await send('PUT', path, body);
    expect([answer.status, answer.text, answer.headers['location']]).toEqual([
      201,
      '{"transactionId":104}',
      `${app}/transactions/104`,
    ]);
    expect(suite.asked('updateApp', UpdateAppRequestSchema)).toEqual(
      create(UpdateAppRequestSchema, { caller, deviceId, ...body }),
    );
  });
  test('package is required and has 1 to 128 characters', textLimits('PUT', path, body, 'package', 'x.'));
  test.each(wrongForms)('%s %j does not have the form of catalogue entries', (name, wrong) =>
    refused('PUT', path, { ...body, [name]: wrong }, `/${name} ${forms[name]}.`),
  );
  test('version is required and has 1 to 128 characters', textLimits('PUT', path, body, 'version'));
  test('an unknown field is rejected', () =>
    refused('PUT', path, { ...body, url: 'x' }, '/url is not a known field.'));
});

// proves api/3/firmware-update, api/7/update-firmware
describe('update of firmware now', () => {
  const path = `${device}/firmware`;
  const body = { version: '9.001.0' };
  test('is sent to the updates service', async () => {
    const answer = await send('PUT', path, body);
    expect([answer.status, answer.text, answer.headers['location']]).toEqual([
      201,
      '{"transactionId":105}',
      `${app}/transactions/105`,
    ]);
    expect(suite.asked('updateFirmware', UpdateFirmwareRequestSchema)).toEqual(
      create(UpdateFirmwareRequestSchema, { caller, deviceId, ...body }),
    );
  });
  test('version is required and has 1 to 128 characters', textLimits('PUT', path, body, 'version'));
  test('an unknown field is rejected', () =>
    refused('PUT', path, { ...body, package: 'x' }, '/package is not a known field.'));
  test('a downgrade is 400 with its message', async () => {
    suite.fakes.answers.updateFirmware = async () => {
      throw new DomainError('invalid_argument', 'version 8.0 is older than the installed 9.0.');
    };
    const answer = await send('PUT', path, body);
    expect([answer.status, message(answer.text)]).toEqual([
      400,
      'version 8.0 is older than the installed 9.0.',
    ]);
  });
});

describe('upload of software', () => {
  const path = `${app}/apps`;
  const body = { package: 'com.example.app', version: '1.2.0', fileSize: 1 };

  // proves api/3/upload-request, api/3/upload-result, api/3/upload-urls, api/7/upload-app
  test('returns 201 without Location, the URL and its times', async () => {
    suite.fakes.answers.requestUpload = async () => ({
      appFileExists: false,
      chunkPartSize: 10_485_760n,
      urls: [
        {
          uploadUrl: 'https://s3.test/u?x=1',
          startTimestampMs: 1_767_225_600_000n,
          endTimestampMs: 1_767_229_200_000n,
          expireIn: 3600,
        },
      ],
    });
    const answer = await send('POST', path, body);
    expect([answer.status, answer.headers['location']]).toEqual([201, undefined]);
    expect(JSON.parse(answer.text)).toEqual({
      appFileExists: false,
      chunkPartSize: 10_485_760,
      uploadId: null,
      urlList: [
        {
          uploadUrl: 'https://s3.test/u?x=1',
          startTimestamp: 1_767_225_600_000,
          endTimestamp: 1_767_229_200_000,
          expireIn: 3600,
        },
      ],
    });
    expect(suite.asked('requestUpload', RequestUploadRequestSchema)).toEqual(
      create(RequestUploadRequestSchema, { caller, package: body.package, version: '1.2.0', sizeBytes: 1n }),
    );
  });
  test('an existing version has no URL', async () => {
    expect((await send('POST', path, body)).text).toBe(
      '{"appFileExists":true,"chunkPartSize":10485760,"uploadId":null,"urlList":[]}',
    );
  });
  test('package is required and has 1 to 128 characters', textLimits('POST', path, body, 'package', 'x.'));
  test.each(wrongForms)('%s %j does not have the form of catalogue entries', (name, wrong) =>
    refused('POST', path, { ...body, [name]: wrong }, `/${name} ${forms[name]}.`),
  );
  test('version is required and has 1 to 128 characters', textLimits('POST', path, body, 'version'));
  // proves api/5/upload-size
  test('fileSize is an integer of at least 1', async () => {
    expect((await send('POST', path, { ...body, fileSize: Number.MAX_SAFE_INTEGER })).status).toBe(201);
    await refused('POST', path, { ...body, fileSize: undefined }, '/fileSize is required.');
    await refused('POST', path, { ...body, fileSize: 0 }, '/fileSize must be >= 1.');
    await refused('POST', path, { ...body, fileSize: -1 }, '/fileSize must be >= 1.');
    await refused('POST', path, { ...body, fileSize: 2 ** 53 }, '/fileSize must be <= 9007199254740991.');
    for (const wrong of [1.5, '1', null, [1]])
      await refused('POST', path, { ...body, fileSize: wrong }, '/fileSize must be an integer.');
  });
  test('an unknown field is rejected', () =>
    refused('POST', path, { ...body, splitted: 2 }, '/splitted is not a known field.'));
  test.each(['invalid_argument', 'unavailable'] as const)('an error (%s) keeps its message', async (code) => {
    suite.fakes.answers.requestUpload = async () => {
      throw new DomainError(code, 'package begins with the reserved prefix.');
    };
    const answer = await send('POST', path, body);
    expect([answer.status, message(answer.text)]).toEqual([
      code === 'unavailable' ? 503 : 400,
      'package begins with the reserved prefix.',
    ]);
  });
});

describe('list of software', () => {
  const path = `${app}/apps`;
  const asked = () => suite.asked('listApps', ListAppsRequestSchema);

  // proves api/3/software-list, api/9/software-page
  test('without parameters: all, 100 from the first', async () => {
    suite.fakes.answers.listApps = async () => ({
      appVersions: [{ package: 'a', version: '1.10' }],
      totalCount: 7,
    });
    const answer = await send('GET', path);
    expect(answer.text).toBe(
      '{"appVersions":[{"package":"a","version":"1.10"}],"totalCount":7,"offset":0,"limit":100}',
    );
    expect(asked()).toEqual(create(ListAppsRequestSchema, { caller, limit: 100 }));
  });
  // proves api/7/list-apps
  test('every parameter is passed on', async () => {
    const answer = await send('GET', `${path}?package=a%20b&mode=latest&offset=5&limit=50&unknown=1`);
    expect(answer.text).toBe('{"appVersions":[],"totalCount":0,"offset":5,"limit":50}');
    expect(asked()).toEqual(
      create(ListAppsRequestSchema, { caller, package: 'a b', latest: true, offset: 5, limit: 50 }),
    );
  });
  test.each([`package=${'x'.repeat(128)}`, 'offset=0', 'offset=1000000000', 'limit=1', 'limit=1000'])(
    '%s is accepted',
    async (query) => {
      expect((await send('GET', `${path}?${query}`)).status).toBe(200);
    },
  );
  test.each([
    ['package=', 'The query parameter package must be text of 1 to 128 characters.'],
    [`package=${'x'.repeat(129)}`, 'The query parameter package must be text of 1 to 128 characters.'],
    ['mode=all', 'The query parameter mode must be one of latest.'],
    ['mode=', 'The query parameter mode must be one of latest.'],
    ['offset=-1', 'The query parameter offset must be a whole number from 0 to 1000000000.'],
    ['offset=1000000001', 'The query parameter offset must be a whole number from 0 to 1000000000.'],
    ['offset=1.5', 'The query parameter offset must be a whole number from 0 to 1000000000.'],
    ['limit=0', 'The query parameter limit must be a whole number from 1 to 1000.'],
    ['limit=1001', 'The query parameter limit must be a whole number from 1 to 1000.'],
    ['limit=x', 'The query parameter limit must be a whole number from 1 to 1000.'],
    ['limit=1&limit=2', 'The query parameter limit is given twice.'],
  ])('%s is 400: %s', async (query, text) => {
    const answer = await send('GET', `${path}?${query}`);
    expect([answer.status, message(answer.text)]).toEqual([400, text]);
    expect(asked()).toBeUndefined();
  });
});

// proves api/3/firmware-list, api/7/list-firmware
test('the list of firmware has packages and versions', async () => {
  suite.fakes.answers.listFirmware = async () => ({
    firmwareVersions: [{ package: 'f', version: '9.001.0' }],
  });
  const answer = await send('GET', `${app}/firmware`);
  expect([answer.status, answer.text]).toEqual([
    200,
    '{"firmwareVersions":[{"package":"f","version":"9.001.0"}]}',
  ]);
  expect(suite.asked('listFirmware', ListFirmwareRequestSchema)).toEqual(
    create(ListFirmwareRequestSchema, { caller }),
  );
});
