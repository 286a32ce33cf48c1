import { instant, instantForm, listLimit, wholeNumber } from '@headset-cloud/cli/options.ts';
import { fields, table } from '@headset-cloud/cli/output.ts';
import {
  AddUsageResponseSchema,
  BillingAdminService,
  ListUsageResponseSchema,
} from '@headset-cloud/proto/billing/v1/admin_pb.ts';
import { UsageKind } from '@headset-cloud/proto/billing/v1/events_pb.ts';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { time } from '../output.ts';
import { type Month, month, type Session } from '../session.ts';

interface AddOptions {
  kind: keyof typeof kinds;
  started: number;
  durationMs: bigint;
  device: string;
}

const kinds = { video: UsageKind.VIDEO_MEETING, speech: UsageKind.SPEECH_RECOGNITION } as const;

/** `usage add|list`. */
export function addUsage(program: Command, session: Session): void {
  const group = program.command('usage').description('usage of devices, from which bills are computed');

  group
    .command('add <usageId> <applicationId>')
    .description('add usage that no service metered; a repeated id adds nothing')
    .addOption(new Option('--kind <kind>', 'kind of usage').choices(Object.keys(kinds)).makeOptionMandatory())
    .requiredOption('--started <time>', `start: ${instantForm}`, instant)
    .requiredOption('--duration-ms <ms>', 'duration', milliseconds)
    .option('--device <imei>', 'device; default: unknown device', '')
    .action(async (usageId: string, applicationId: string, options: AddOptions) => {
      const { durationMs, device: deviceId } = options;
      const startedAtMs = BigInt(options.started);
      const kind = kinds[options.kind];
      const usage = { usageId, applicationId, deviceId, kind, startedAtMs, durationMs };
      const answer = await session.call('billing', BillingAdminService, (c) => c.addUsage({ usage }));
      session.show(AddUsageResponseSchema, answer, ({ added }) =>
        fields([
          ['usage', usageId],
          ['added', added ? 'yes' : 'no, it exists already'],
        ]),
      );
    });

  group
    .command('list <applicationId>')
    .description('usage of a month, oldest first')
    .requiredOption('--month <month>', 'month, for example 2026-11', month)
    .option('--limit <usages>', 'maximum to show, up to 1000', listLimit, 100)
    .option('--offset <usages>', 'number of entries to skip', wholeNumber, 0)
    .action(async (applicationId: string, options: { month: Month; limit: number; offset: number }) => {
      const { month, limit, offset } = options;
      const answer = await session.call('billing', BillingAdminService, (c) =>
        c.listUsage({ applicationId, ...month, limit, offset }),
      );
      session.show(ListUsageResponseSchema, answer, ({ usage }) =>
        table(
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

function milliseconds(text: string): bigint {
  if (!/^\d{1,12}$/.test(text)) throw new InvalidArgumentError('It is not a whole number.');
  return BigInt(text);
}
