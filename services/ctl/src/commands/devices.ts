import {
  type Device,
  DevicesAdminService,
  GetDeviceResponseSchema,
  ListDevicesResponseSchema,
  PutDeviceResponseSchema,
} from '@headset-cloud/proto/headset/devices/v1/admin_pb.ts';
import type { Command } from 'commander';
import { fields, table } from '../output.ts';
import { type Session, wholeNumber } from '../session.ts';
import { addDeviceKeys } from './device-keys.ts';

/** `devices put|show|list` and `devices keys …`. */
export function addDevices(program: Command, session: Session): void {
  const group = program.command('devices').description('the device registry and the headsets’ keys');

  group
    .command('put <imei...>')
    .description('register devices; the same again changes nothing')
    .action(async (deviceIds: string[]) => {
      for (const deviceId of deviceIds) {
        const answer = await session.call('devices', DevicesAdminService, (c) => c.putDevice({ deviceId }));
        session.show(PutDeviceResponseSchema, answer, ({ device }) => describe(device));
      }
    });

  group
    .command('show <imei>')
    .description('one device: its keys and who has it activated')
    .action(async (deviceId: string) => {
      const answer = await session.call('devices', DevicesAdminService, (c) => c.getDevice({ deviceId }));
      session.show(GetDeviceResponseSchema, answer, ({ device }) => describe(device));
    });

  group
    .command('list')
    .description('devices by IMEI')
    .option('--after <imei>', 'start after this one', '')
    .option('--limit <devices>', 'most devices to show, up to 1000', wholeNumber, 100)
    .action(async ({ after, limit }: { after: string; limit: number }) => {
      const answer = await session.call('devices', DevicesAdminService, (c) =>
        c.listDevices({ afterDeviceId: after, limit }),
      );
      session.show(ListDevicesResponseSchema, answer, ({ devices }) => {
        const shown = table(
          devices,
          [
            ['DEVICE', (d) => d.deviceId],
            ['KEYS', (d) => String(d.keyIds.length)],
            ['ACTIVATED BY', (d) => d.applicationId],
          ],
          after ? 'No more devices.' : 'No devices. Register one: ctl devices put IMEI',
        );
        const last = devices.length === limit ? devices.at(-1) : undefined;
        return last ? `${shown}There may be more: --after ${last.deviceId}\n` : shown;
      });
    });

  addDeviceKeys(group, session);
}

function describe(device: Device | undefined): string {
  if (!device) return '';
  return fields([
    ['device', device.deviceId],
    ['activated by', device.applicationId],
    ['keys', device.keyIds.join('\n              ')],
  ]);
}
