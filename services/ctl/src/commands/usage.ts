import { imei } from '@headset-cloud/cli/ids.ts';
import { wholeNumber } from '@headset-cloud/cli/numbers.ts';
import { fields } from '@headset-cloud/cli/output.ts';
import { limitOption } from '@headset-cloud/cli/paging.ts';
import { instant, instantForms } from '@headset-cloud/cli/time.ts';
import {
  AddUsageResponseSchema,
  BillingAdminService,
  ListUsageResponseSchema,
} from '@headset-cloud/proto/billing/v1/admin_pb.ts';
import { UsageKind } from '@headset-cloud/proto/billing/v1/events_pb.ts';
import { type Command, Option } from 'commander';
import { type Month, monthOption } from '../month.ts';
import { time } from '../output.ts';
import type { Session } from '../session.ts';

interface AddOptions {
  kind: keyof typeof kinds;
  started: number;
  durationMs: number;
  device?: string;
}

const kinds = { video: UsageKind.VIDEO_MEETING, speech: UsageKind.SPEECH_RECOGNITION } as const;

/** `usage add|list`. */
export function addUsage(program: Command, session: Session): void {
  const group = program.command('usage').description('usage of devices, from which bills are computed');

  group
    .command('add <usageId> <applicationId>')
    .description('add usage that no service metered; a repeated id adds nothing')
    .addOption(new Option('--kind <kind>', 'kind of usage').choices(Object.keys(kinds)).makeOptionMandatory())
    .requiredOption('--started <time>', `start: ${instantForms}`, instant)
    .requiredOption('--duration-ms <ms>', 'duration', wholeNumber(0, 999_999_999_999))
    .option('--device <imei>', 'device; default: unknown device', imei)
    .action(async (usageId: string, applicationId: string, options: AddOptions) => {
      const { device: deviceId = '' } = options;
      const durationMs = BigInt(options.durationMs);
      const startedAtMs = BigInt(options.started);
      const kind = kinds[options.kind];
      const usage = { usageId, applicationId, deviceId, kind, startedAtMs, durationMs };
      const answer = await session.call('billing', BillingAdminService, (c) => c.addUsage({ usage }));
      session.showMessage(AddUsageResponseSchema, answer, ({ added }) =>
        fields([
          ['usage', usageId],
          ['added', added ? 'yes' : 'no, it exists already'],
        ]),
      );
    });

  group
    .command('list <applicationId>')
    .description('usage of a month, oldest first')
    .addOption(monthOption())
    .addOption(limitOption('usages'))
    .option('--offset <usages>', 'number of entries to skip', wholeNumber(), 0)
    .action(async (applicationId: string, options: { month: Month; limit: number; offset: number }) => {
      const { month, limit, offset } = options;
      const answer = await session.call('billing', BillingAdminService, (c) =>
        c.listUsage({ applicationId, ...month, limit, offset }),
      );
      session.showMessage(ListUsageResponseSchema, answer, ({ usage }) =>
        session.table(
          usage,
          [
            ['USAGE', (u) => u.usageId],
            ['DEVICE', (u) => u.deviceId],
            ['KIND', (u) => Object.entries(kinds).find(([, kind]) => kind === u.kind)?.[0] ?? ''],
            ['STARTED', (u) => time(u.startedAtMs)],
            ['DURATION MS', (u) => String(u.durationMs)],
          ],
          'No usage.',
        ),
      );
    });
}
