import { create } from '@bufbuild/protobuf';
import { GetHardwarePropertiesRequestSchema } from '@headset-cloud/proto/devices/v1/service_pb.ts';
import { DomainError } from '@headset-cloud/runtime/errors.ts';
import { describe, expect, test } from '@jest/globals';
import { deviceId } from '../testing/fakes.ts';
import { useGateway } from '../testing/suite.ts';

const suite = useGateway();
const { send } = suite;

describe('hardware properties', () => {
  const path = `/v1/devices/${deviceId}/hardware-properties`;
  // proves api/3/hardware-model, api/3/hardware-camera, api/3/hardware-mac, api/3/hardware-destination
  // proves api/7/hardware
  test('all known fields', async () => {
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
  // proves api/3/hardware-model, api/3/hardware-camera, api/3/hardware-destination
  test('fields that are not registered or reported are null; only specificDestination is absent', async () => {
    expect((await send('GET', path)).text).toBe(
      `{"deviceId":"${deviceId}","model":null,"camera":null,"macAddressWifi":null,"macAddressBluetooth":null}`,
    );
  });
  // proves api/3/hardware-model, api/3/hardware-camera
  test('a model without cameras has an empty list', async () => {
    suite.fakes.answers.getHardwareProperties = async () => ({
      deviceId,
      model: { identifier: 'HB-1', name: 'Box', description: 'd', shape: 'box', cameras: [] },
    });
    expect(JSON.parse((await send('GET', path)).text)).toMatchObject({
      model: { shape: 'box' },
      camera: null,
    });
  });
  test('needs no application: the devices service checks the client', async () => {
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
