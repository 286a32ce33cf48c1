import { forEachItem } from '@headset-cloud/cli/each.ts';
import { imei } from '@headset-cloud/cli/ids.ts';
import { allowEmpty } from '@headset-cloud/cli/options.ts';
import { afterHint, limitOption } from '@headset-cloud/cli/paging.ts';
import {
  DevicesAdminService,
  GetDeviceResponseSchema,
  ListDevicesResponseSchema,
  PutDeviceResponseSchema,
} from '@headset-cloud/proto/devices/v1/admin_pb.ts';
import { type Command, Option } from 'commander';
import type { Session } from '../session.ts';
import { deviceText } from './device-text.ts';
import { addForget } from './forget.ts';
import { addKeyCommands } from './headset-keys.ts';

/** `devices put|show|list|forget` and `devices keys …`. */
export function addDevices(program: Command, session: Session): void {
  const group = program.command('devices').description('the device registry and the headsets’ keys');

  group
    .command('put <imei...>')
    .description('register devices; a repeat changes nothing')
    .addOption(
      allowEmpty(
        new Option(
          '--destination <text>',
          'shipping destination of the devices, for example JP, shown in the hardware properties; "" removes it',
        ),
      ),
    )
    .action(async (deviceIds: string[], { destination }: { destination?: string }) => {
      const put = async (deviceId: string) => {
        const answer = await session.call('devices', DevicesAdminService, (c) =>
          c.putDevice({ deviceId, ...(destination !== undefined && { specificDestination: destination }) }),
        );
        session.showMessage(PutDeviceResponseSchema, answer, ({ device }) => deviceText(device));
      };
      await forEachItem(deviceIds, put, { report: session.terminal.err, what: 'registered' });
    });

  group
    .command('show <imei>')
    .description(
      "one device: its keys, its application, the version of the headset's client software, and its last reported state",
    )
    .action(async (deviceId: string) => {
      const answer = await session.call('devices', DevicesAdminService, (c) => c.getDevice({ deviceId }));
      session.showMessage(GetDeviceResponseSchema, answer, ({ device }) => deviceText(device));
    });

  group
    .command('list')
    .description('devices by IMEI')
    .option('--after <imei>', 'start after this IMEI', imei)
    .addOption(limitOption('devices'))
    .action(async ({ after, limit }: { after?: string; limit: number }) => {
      const answer = await session.call('devices', DevicesAdminService, (c) =>
        c.listDevices({ afterDeviceId: after ?? '', limit }),
      );
      session.showMessage(ListDevicesResponseSchema, answer, ({ devices }) => {
        const shown = session.table(
          devices,
          [
            ['DEVICE', (d) => d.deviceId],
            ['KEYS', (d) => String(d.keyIds.length)],
            ['ACTIVATED BY', (d) => d.applicationId],
            ['CLIENT VERSION', (d) => d.clientVersion],
          ],
          after ? 'No more devices.' : 'No devices. Register one: ctl devices put IMEI',
        );
        const last = devices.length === limit ? devices.at(-1) : undefined;
        return shown + afterHint(last?.deviceId, 'There may be more');
      });
    });

  addForget(group, session);

  // Spelling of 0.1.0.
  const keys = group.command('keys').description('the same as headset-keys add, generate and revoke');
  addKeyCommands(keys, session, 'remove');
}
