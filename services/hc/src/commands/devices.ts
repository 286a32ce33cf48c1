import { wholeNumber } from '@headset-cloud/cli/numbers.ts';
import { afterHint, afterOption, limitOption } from '@headset-cloud/cli/paging.ts';
import { instant, instantForms } from '@headset-cloud/cli/time.ts';
import { type Command, Option } from 'commander';
import type { Session } from '../session.ts';

/** The fields of a device's status (`GET …/device_statuses`) that this command shows. */
interface Status {
  readonly deviceId: string;
  readonly power: string | null;
  readonly wearing: string | null;
  readonly network: string | null;
  readonly charging: string | null;
  readonly batteryPercentage: number | null;
  readonly firmware: { readonly version: string } | null;
  readonly clientVersion: string | null;
  readonly activatedAt: string | null;
}

interface Page {
  readonly devices: readonly Status[];
  readonly cursor: string | null;
}

interface DevicesOptions {
  readonly network?: 'online' | 'offline';
  readonly batteryBelow?: number;
  readonly clientVersion?: string;
  readonly activatedSince?: number;
  readonly limit: number;
  readonly all?: boolean;
  readonly after?: string;
}

/** Maximum number of devices in one page of the API. */
const maxPageSize = 100;

/** `devices list`, which is the default. */
export function addDevices(program: Command, session: Session): void {
  program
    .command('devices')
    .description('the devices that the application has activated')
    .command('list', { isDefault: true })
    .description('their statuses, by IMEI')
    .addOption(new Option('--network <state>', 'only these').choices(['online', 'offline']))
    .option('--battery-below <percent>', 'only below this last reported percentage', wholeNumber(1, 100))
    .option('--client-version <version>', 'only with this version of the client software')
    .option('--activated-since <time>', `only activated since: ${instantForms}`, instant)
    .addOption(limitOption('devices'))
    .option('--all', 'show all devices')
    .addOption(afterOption())
    .addHelpText('after', '\nExamples:\n  $ hc devices --network offline\n  $ hc devices --all --json\n')
    .action((options: DevicesOptions) => list(session, options));
}

async function list(session: Session, options: DevicesOptions): Promise<void> {
  const api = session.api('cws:device:read');
  const limit = options.all ? Number.POSITIVE_INFINITY : options.limit;
  const devices: Status[] = [];
  let cursor: string | null | undefined = options.after;
  do {
    const page: Page = await api.get('/device_statuses', {
      cursor,
      limit: Math.min(maxPageSize, limit - devices.length),
      network: options.network && `connectivity_${options.network}`,
      batteryBelow: options.batteryBelow,
      clientVersion: options.clientVersion,
      activatedSince:
        options.activatedSince === undefined ? undefined : new Date(options.activatedSince).toISOString(),
    });
    devices.push(...page.devices);
    cursor = page.cursor;
  } while (cursor !== null && devices.length < limit);
  session.show(
    { devices, cursor },
    () =>
      session.table(
        devices,
        [
          ['DEVICE', (d) => d.deviceId],
          ['NETWORK', (d) => d.network?.replace('connectivity_', '') ?? ''],
          ['POWER', (d) => d.power ?? ''],
          ['WEARING', (d) => d.wearing?.replace('device_', '') ?? ''],
          ['BATTERY', (d) => batteryOf(d)],
          ['FIRMWARE', (d) => d.firmware?.version ?? ''],
          ['CLIENT VERSION', (d) => d.clientVersion ?? ''],
          ['ACTIVATED', (d) => d.activatedAt ?? ''],
        ],
        'No devices.',
      ) + afterHint(cursor),
  );
}

function batteryOf({ batteryPercentage, charging }: Status): string {
  if (batteryPercentage === null) return '';
  return `${batteryPercentage} %${charging === 'start_charging' ? ' charging' : ''}`;
}
