import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createAdmin } from '@headset-cloud/demo/provision.ts';
import { retryReads } from './retry-reads.ts';

test('a read is repeated after a lost connection, but not after a refusal', async () => {
  let calls = 0;
  const server = createServer((request, response) => {
    calls++;
    if (calls === 1) request.socket.destroy();
    else {
      const isFound = calls === 2;
      response.writeHead(isFound ? 200 : 404, {
        'content-type': isFound ? 'application/proto' : 'application/json',
      });
      response.end(isFound ? '' : '{"code":"not_found","message":"none"}');
    }
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const names = [
    'devices',
    'transactions',
    'notifier',
    'updates',
    'connectivity',
    'communication',
    'billing',
  ];
  const addresses = Object.fromEntries(names.map((name) => [name, url])) as never;
  const { devices } = createAdmin(addresses, undefined, [retryReads]);
  await expect(devices.getDevice({ deviceId: '350000000000001' })).resolves.toBeDefined();
  expect(calls).toBe(2);
  await expect(devices.getDevice({ deviceId: '350000000000001' })).rejects.toThrow('none');
  expect(calls).toBe(3);
  server.closeAllConnections();
  server.close();
});
