import { limitOption } from '@headset-cloud/cli/paging.ts';
import {
  CommunicationAdminService,
  ListRecordingsResponseSchema,
} from '@headset-cloud/proto/communication/v1/admin_pb.ts';
import type { Command } from 'commander';
import { time } from '../output.ts';
import type { Session } from '../session.ts';

/** `recordings list`. */
export function addRecordings(program: Command, session: Session): void {
  program
    .command('recordings')
    .description("recordings on their way to integrators' storages")
    .command('list')
    .description('newest first')
    .option('--application <applicationId>', 'only of this application', '')
    .addOption(limitOption('recordings'))
    .action(async ({ application, limit }: { application: string; limit: number }) => {
      const answer = await session.call('communication', CommunicationAdminService, (c) =>
        c.listRecordings({ applicationId: application, limit }),
      );
      session.showMessage(ListRecordingsResponseSchema, answer, ({ recordings }) =>
        session.table(
          recordings,
          [
            ['RECORDING', (r) => r.recordingId],
            ['STATE', (r) => r.state],
            ['APPLICATION', (r) => r.applicationId],
            ['CHANNEL', (r) => r.channelId],
            ['BYTES', (r) => `${r.uploadedBytes}/${r.totalBytes}`],
            ['RUNS', (r) => String(r.attempts)],
            ['CREATED', (r) => time(r.createdAtMs)],
            ['MESSAGE', (r) => r.message],
          ],
          'No recordings.',
        ),
      );
    });
}
