import { fields } from '@headset-cloud/cli/output.ts';
import {
  BillingAdminService,
  ListPlansResponseSchema,
  PutPlansResponseSchema,
} from '@headset-cloud/proto/billing/v1/admin_pb.ts';
import { type Command, Option } from 'commander';
import type { Session } from '../session.ts';

interface PutOptions {
  video: string;
  speech: string;
}

/** `plans put|list`. */
export function addPlans(program: Command, session: Session): void {
  const group = program.command('plans').description('plans of devices, as shown on bills');

  group
    .command('put <applicationId> <imei>')
    .description("a device's plans with an application, from now on")
    .addOption(
      new Option('--video <plan>', 'for video meetings')
        .choices(['lite', 'basic-100', 'basic-200', 'none'])
        .makeOptionMandatory(),
    )
    .addOption(
      new Option('--speech <plan>', 'for speech recognition').choices(['ja', 'none']).makeOptionMandatory(),
    )
    .action(async (applicationId: string, deviceId: string, { video, speech }: PutOptions) => {
      const videoMeeting = video.replace('-', ' ');
      const plans = {
        ...(video !== 'none' && { videoMeeting }),
        ...(speech !== 'none' && { speechRecognition: speech }),
      };
      const answer = await session.call('billing', BillingAdminService, (c) =>
        c.putPlans({ applicationId, deviceId, plans }),
      );
      session.showMessage(PutPlansResponseSchema, answer, () =>
        fields([
          ['application', applicationId],
          ['device', deviceId],
          ['video', videoMeeting],
          ['speech', speech],
        ]),
      );
    });

  group
    .command('list <applicationId>')
    .description("the plans of an application's devices, as they are now")
    .action(async (applicationId: string) => {
      const answer = await session.call('billing', BillingAdminService, (c) =>
        c.listPlans({ applicationId }),
      );
      session.showMessage(ListPlansResponseSchema, answer, ({ plans }) =>
        session.table(
          plans,
          [
            ['DEVICE', (p) => p.deviceId],
            ['VIDEO', (p) => p.plans?.videoMeeting ?? 'none'],
            ['SPEECH', (p) => p.plans?.speechRecognition ?? 'none'],
          ],
          'No plans. Put one: ctl plans put APPLICATION IMEI --video lite --speech none',
        ),
      );
    });
}
