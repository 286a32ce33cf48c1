import { instant, instantForm, listLimit, wholeNumber } from '@headset-cloud/kit/cli/options.ts';
import { fields, table } from '@headset-cloud/kit/cli/output.ts';
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
  const group = program.command('usage').description('what devices used, as bills add it up');

  group
    .command('add <usageId> <applicationId>')
    .description('add usage that no service metered; the same id again adds nothing')
    .addOption(new Option('--kind <kind>', 'what was used').choices(Object.keys(kinds)).makeOptionMandatory())
    .requiredOption('--started <time>', `when it began: ${instantForm}`, instant)
    .requiredOption('--duration-ms <ms>', 'for how long', milliseconds)
    .option('--device <imei>', 'by which device; without it, by none that is known', '')
    .action(async (usageId: string, applicationId: string, options: AddOptions) => {
      const { durationMs, device: deviceId } = options;
      const startedAtMs = BigInt(options.started);
      const kind = kinds[options.kind];
      const usage = { usageId, applicationId, deviceId, kind, startedAtMs, durationMs };
      const answer = await session.call('billing', BillingAdminService, (c) => c.addUsage({ usage }));
      session.show(AddUsageResponseSchema, answer, ({ added }) =>
        fields([
          ['usage', usageId],
          ['added', added ? 'yes' : 'no, it was known'],
        ]),
      );
    });

  group
    .command('list <applicationId>')
    .description('what was used in a month, oldest first')
    .requiredOption('--month <month>', 'which month, as 2026-11', month)
    .option('--limit <usages>', 'most to show, up to 1000', listLimit, 100)
    .option('--offset <usages>', 'how many to leave out first', wholeNumber, 0)
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
