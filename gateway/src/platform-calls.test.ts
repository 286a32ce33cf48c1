import { create } from '@bufbuild/protobuf';
import { DomainError } from '@headset-cloud/kit/errors.ts';
import { GetBillRequestSchema } from '@headset-cloud/proto/billing/v1/service_pb.ts';
import {
  CreateChannelRequestSchema,
  ListSoraVersionsRequestSchema,
} from '@headset-cloud/proto/communication/v1/service_pb.ts';
import { GetHardwarePropertiesRequestSchema } from '@headset-cloud/proto/devices/v1/service_pb.ts';
import { describe, expect, test } from '@jest/globals';
import { deviceId } from './testing/fakes.ts';
import { useGateway } from './testing/suite.ts';

const suite = useGateway();
const { send, refused } = suite;
const app = '/v1/applications/app-1';
const caller = { clientId: 'client-1', applicationId: 'app-1' };
const message = (text: string) => JSON.parse(text).message as string;

describe('hardware properties', () => {
  const path = `/v1/devices/${deviceId}/hardware-properties`;
  // proves api/3/hardware-model, api/3/hardware-camera, api/3/hardware-mac, api/3/hardware-destination
  // proves api/7/hardware
  test('everything that is known', async () => {
    suite.fakes.answers.getHardwareProperties = async () => ({
      deviceId,
      model: {
        identifier: 'HB-1',
        name: 'Box',
        description: '',
        shape: 'neck-mounted',
        cameras: [{ direction: 'portrait', mountedPosition: 'front', maxWidth: 1920, maxHeight: 1080 }],
      },
      macAddressWifi: '02:00:00:00:00:01',
      macAddressBluetooth: '02:00:00:00:00:02',
      specificDestination: 'JP',
    });
    const answer = await send('GET', path);
    expect([answer.status, JSON.parse(answer.text)]).toEqual([
      200,
      {
        deviceId,
        model: { name: 'Box', identifier: 'HB-1', description: '', shape: 'neck-mounted' },
        camera: [
          {
            direction: 'portrait',
            mountedPosition: 'front',
            resolution: { maxWidth: 1920, maxHeight: 1080 },
          },
        ],
        macAddressWifi: '02:00:00:00:00:01',
        macAddressBluetooth: '02:00:00:00:00:02',
        specificDestination: 'JP',
      },
    ]);
    expect(suite.asked('getHardwareProperties', GetHardwarePropertiesRequestSchema)).toEqual(
      create(GetHardwarePropertiesRequestSchema, { clientId: 'client-1', deviceId }),
    );
  });
  test('fields that are not registered or reported are null; only specificDestination is absent', async () => {
    expect((await send('GET', path)).text).toBe(
      `{"deviceId":"${deviceId}","model":null,"camera":null,"macAddressWifi":null,"macAddressBluetooth":null}`,
    );
  });
  test('a model without cameras has none', async () => {
    suite.fakes.answers.getHardwareProperties = async () => ({
      deviceId,
      model: { identifier: 'HB-1', name: 'Box', description: 'd', shape: 'box', cameras: [] },
    });
    expect(JSON.parse((await send('GET', path)).text)).toMatchObject({
      model: { shape: 'box' },
      camera: null,
    });
  });
  test('needs no application: the devices service judges by the client', async () => {
    suite.fakes.answers.getHardwareProperties = async () => {
      throw new DomainError('application_forbidden', 'Not a device of yours.');
    };
    expect((await send('GET', path)).status).toBe(403);
    suite.fakes.answers.getHardwareProperties = async () => {
      throw new DomainError('developer_not_registered', 'No such developer.');
    };
    expect((await send('GET', path)).status).toBe(500);
    const asked = suite.fakes.seen.map((s) => s.rpc).filter((rpc) => !rpc.startsWith('authorize'));
    expect(asked).toEqual(['getHardwareProperties', 'getHardwareProperties']);
  });
  test('an unregistered developer is 500, before a wrong device id and a wrong query', async () => {
    const headers = { authorization: `Bearer ${suite.gateway.token({ client_id: 'unregistered' })}` };
    for (const asked of [path, '/v1/devices/1/hardware-properties', `${path}?page=0`]) {
      const answer = await send('GET', asked, undefined, { headers });
      expect([asked, answer.status]).toEqual([asked, 500]);
    }
    expect(suite.fakes.seen.filter((s) => s.rpc === 'getHardwareProperties')).toEqual([]);
  });
  test('a wrong device id is 404', async () => {
    expect((await send('GET', '/v1/devices/1/hardware-properties')).status).toBe(404);
  });
});

describe('channels', () => {
  const path = `${app}/channels`;
  // proves api/3/channel-request, api/3/channel-response, api/7/channels
  test.each([
    [{}, ''],
    [{ soraVersion: 'x' }, 'x'],
    [{ soraVersion: 'x'.repeat(32) }, 'x'.repeat(32)],
  ])('%j reserves a channel: 201 without Location', async (body, soraVersion) => {
    const answer = await send('POST', path, body);
    expect([answer.status, answer.text, answer.headers['location']]).toEqual([
      201,
      '{"endpointUrl":"wss://sora.test/","channelId":"a1B2c3D4e5_1767225600000"}',
      undefined,
    ]);
    expect(suite.asked('createChannel', CreateChannelRequestSchema)).toEqual(
      create(CreateChannelRequestSchema, { caller, soraVersion }),
    );
  });
  test('other bodies are refused', async () => {
    await refused('POST', path, { soraVersion: '' }, '/soraVersion must NOT have fewer than 1 characters.');
    await refused(
      'POST',
      path,
      { soraVersion: 'x'.repeat(33) },
      '/soraVersion must NOT have more than 32 characters.',
    );
    for (const wrong of [null, 1])
      await refused('POST', path, { soraVersion: wrong }, '/soraVersion must be string.');
    await refused('POST', path, { version: '1' }, '/version is not a known field.');
    await refused('POST', path, [], 'must be object.');
  });
  test('503 with Retry-After when every endpoint is full', async () => {
    suite.fakes.answers.createChannel = async () => {
      throw new DomainError('unavailable', 'Every endpoint has reached its limit.', { retryAfterMs: 5000 });
    };
    const answer = await send('POST', path, {});
    expect([answer.status, message(answer.text), answer.headers['retry-after']]).toEqual([
      503,
      'Every endpoint has reached its limit.',
      '5',
    ]);
  });
});

// proves api/3/sora-versions, api/7/sora-versions
test('Sora versions keep the order of the service', async () => {
  suite.fakes.answers.listSoraVersions = async () => ({
    versions: [
      { soraVersion: '2025.1.0', isDefault: false },
      { soraVersion: '2024.2.0', isDefault: true },
    ],
  });
  const answer = await send('GET', `${app}/sora/versions`);
  expect([answer.status, answer.text]).toEqual([
    200,
    '{"soraVersions":[{"soraVersion":"2025.1.0","isDefault":false},{"soraVersion":"2024.2.0","isDefault":true}]}',
  ]);
  expect(suite.asked('listSoraVersions', ListSoraVersionsRequestSchema)).toEqual(
    create(ListSoraVersionsRequestSchema, { applicationId: 'app-1' }),
  );
});

describe('billing', () => {
  const path = `${app}/billing`;
  const asked = () => suite.asked('getBill', GetBillRequestSchema);
  // proves api/3/plan, api/3/billing-devices, api/3/billing-others, api/7/billing
  test('a bill with activateDevices, in the current month', async () => {
    suite.fakes.answers.getBill = async () => ({
      numberOfDevices: 2,
      activateDevices: 0,
      devices: [
        {
          deviceId,
          plans: { videoMeeting: 'basic 200', speechRecognition: 'ja' },
          videoMeetingHours: 3,
          speechRecognitionHours: 1,
        },
        { deviceId: '350000000000014', plans: {} },
      ],
      othersVideoMeetingHours: 4,
      othersSpeechRecognitionHours: 5,
    });
    const answer = await send('GET', `${path}?month=12&year=2026`);
    expect([answer.status, JSON.parse(answer.text)]).toEqual([
      200,
      {
        numberOfDevices: 2,
        activateDevices: 0,
        devices: [
          {
            deviceId,
            plans: { videoMeeting: 'basic 200', speechRecognition: 'ja' },
            amountVideoMeeting: 3,
            amountSpeechRecognition: 1,
          },
          {
            deviceId: '350000000000014',
            plans: { videoMeeting: null, speechRecognition: null },
            amountVideoMeeting: 0,
            amountSpeechRecognition: 0,
          },
        ],
        others: { amountVideoMeeting: 4, amountSpeechRecognition: 5 },
      },
    ]);
    expect(asked()).toEqual(create(GetBillRequestSchema, { applicationId: 'app-1', year: 2026, month: 12 }));
  });
  // proves api/3/billing-counts
  test('in other months activateDevices is absent', async () => {
    expect((await send('GET', `${path}?month=1&year=2022`)).text).toBe(
      '{"numberOfDevices":0,"devices":[],"others":{"amountVideoMeeting":0,"amountSpeechRecognition":0}}',
    );
    expect(asked()).toEqual(create(GetBillRequestSchema, { applicationId: 'app-1', year: 2022, month: 1 }));
  });
  const month = 'The query parameter month must be a whole number from 1 to 12.';
  const year = 'The query parameter year must be a whole number from 2022 to 9999.';
  // proves api/5/billing-month, api/5/billing-year
  test.each([
    ['', 'The query parameter month is required.'],
    ['year=2026', 'The query parameter month is required.'],
    ['month=1', 'The query parameter year is required.'],
    ['month=0&year=2026', month],
    ['month=13&year=2026', month],
    ['month=-1&year=2026', month],
    ['month=&year=2026', month],
    ['month=1.5&year=2026', month],
    ['month=Jan&year=2026', month],
    ['month=1&year=2021', year],
    ['month=1&year=10000', year],
    ['month=1&year=x', year],
    ['month=1&month=1&year=2026', 'The query parameter month is given twice.'],
  ])('%p is 400: %s', async (query, text) => {
    const answer = await send('GET', `${path}?${query}`);
    expect([answer.status, message(answer.text)]).toEqual([400, text]);
    expect(asked()).toBeUndefined();
  });
});
