import { fields } from '@headset-cloud/cli/output.ts';
import { BillingAdminService, ShowBillResponseSchema } from '@headset-cloud/proto/billing/v1/admin_pb.ts';
import type { Command } from 'commander';
import { type Month, monthOption } from '../month.ts';
import type { Session } from '../session.ts';

/** `bill show`. */
export function addBill(program: Command, session: Session): void {
  program
    .command('bill')
    .description('monthly bills, as integrators see them')
    .command('show <applicationId>')
    .description("an application's month")
    .addOption(monthOption())
    .action(async (applicationId: string, { month }: { month: Month }) => {
      const answer = await session.call('billing', BillingAdminService, (c) =>
        c.showBill({ applicationId, ...month }),
      );
      session.showMessage(ShowBillResponseSchema, answer, ({ bill }) => {
        if (!bill) return '';
        const head = fields([
          ['devices', String(bill.numberOfDevices)],
          ['activated now', bill.activateDevices === undefined ? '' : String(bill.activateDevices)],
          ['others, video hours', String(bill.othersVideoMeetingHours)],
          ['others, speech hours', String(bill.othersSpeechRecognitionHours)],
        ]);
        const devices = session.table(
          bill.devices,
          [
            ['DEVICE', (d) => d.deviceId],
            ['VIDEO PLAN', (d) => d.plans?.videoMeeting ?? 'none'],
            ['SPEECH PLAN', (d) => d.plans?.speechRecognition ?? 'none'],
            ['VIDEO HOURS', (d) => String(d.videoMeetingHours)],
            ['SPEECH HOURS', (d) => String(d.speechRecognitionHours)],
          ],
          'No devices in this month.',
        );
        return `${head}\n${devices}`;
      });
    });
}
