import { listLimit } from '@headset-cloud/kit/cli/options.ts';
import { visible } from '@headset-cloud/kit/cli/output.ts';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { pastTime } from '../feed.ts';
import type { Session } from '../session.ts';

/** A device's status as `GET …/device_statuses` gives it: what this shows of it. */
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

/** Most devices of one page of the call. */
const mostOfPage = 100;

/** `devices list`, which is the default. */
export function addDevices(program: Command, session: Session): void {
  program
    .command('devices')
    .description('the devices that the application has activated')
    .command('list', { isDefault: true })
    .description('their statuses, by IMEI')
    .addOption(new Option('--network <state>', 'only these').choices(['online', 'offline']))
    .option('--battery-below <percent>', 'only with less than this, as last reported', percent)
    .option('--client-version <version>', 'only with this version of the client')
    .option('--activated-since <time>', 'only activated since then: 2h (before now) or a date', pastTime)
    .option('--limit <devices>', 'most to show, up to 1000', listLimit, 100)
    .option('--all', 'all of them')
    .option('--after <cursor>', 'continue behind a cursor that a former call with the same filters has shown')
    .addHelpText('after', '\nExamples:\n  $ hc devices --network offline\n  $ hc devices --all --json\n')
    .action((options: DevicesOptions) => list(session, options));
}

async function list(session: Session, options: DevicesOptions): Promise<void> {
  const api = session.api('cws:device:read');
  const most = options.all ? Number.POSITIVE_INFINITY : options.limit;
  const devices: Status[] = [];
  let cursor: string | null | undefined = options.after;
  do {
    const page: Page = await api.get('/device_statuses', {
      cursor,
      limit: Math.min(mostOfPage, most - devices.length),
      network: options.network && `connectivity_${options.network}`,
      batteryBelow: options.batteryBelow,
      clientVersion: options.clientVersion,
      activatedSince:
        options.activatedSince === undefined ? undefined : new Date(options.activatedSince).toISOString(),
    });
    devices.push(...page.devices);
    cursor = page.cursor;
  } while (cursor !== null && devices.length < most);
  session.show({ devices, cursor }, () => {
    const shown = session.table(
      devices,
      [
        ['DEVICE', (d) => d.deviceId],
        ['NETWORK', (d) => d.network?.replace('connectivity_', '') ?? ''],
        ['POWER', (d) => d.power ?? ''],
        ['WEARING', (d) => d.wearing?.replace('device_', '') ?? ''],
        ['BATTERY', (d) => batteryOf(d)],
        ['FIRMWARE', (d) => d.firmware?.version ?? ''],
        ['CLIENT', (d) => d.clientVersion ?? ''],
        ['ACTIVATED', (d) => d.activatedAt ?? ''],
      ],
      'No devices.',
    );
    return cursor === null ? shown : `${shown}More: --after ${visible(cursor ?? '')}\n`;
  });
}

function batteryOf({ batteryPercentage, charging }: Status): string {
  if (batteryPercentage === null) return '';
  return `${batteryPercentage} %${charging === 'start_charging' ? ' charging' : ''}`;
}

function percent(text: string): number {
  const n = /^\d{1,3}$/.test(text) ? Number(text) : 0;
  if (n < 1 || n > 100) throw new InvalidArgumentError('It is not a whole number from 1 to 100.');
  return n;
}
