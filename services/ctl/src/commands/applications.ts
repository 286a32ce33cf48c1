import { fields } from '@headset-cloud/cli/output.ts';
import {
  CreateApplicationResponseSchema,
  DevicesAdminService,
  ListApplicationsResponseSchema,
} from '@headset-cloud/proto/devices/v1/admin_pb.ts';
import type { Command } from 'commander';
import type { Session } from '../session.ts';
import { addForgetApplication } from './forget-application.ts';

/** `applications create|list|forget`. */
export function addApplications(program: Command, session: Session): void {
  const group = program.command('applications').description('applications and their owners');

  group
    .command('create [applicationId]')
    .description(
      'create an application; with an id, a repeated call changes nothing; without an id, each call creates another one',
    )
    .requiredOption('--developer <developerId>', 'developer who owns it')
    .option('--name <name>', 'display name; default: the id')
    .action(async (applicationId: string | undefined, options: { developer: string; name?: string }) => {
      const application = {
        applicationId: applicationId ?? '',
        developerId: options.developer,
        name: options.name ?? '',
      };
      const answer = await session.call('devices', DevicesAdminService, (c) =>
        c.createApplication({ application }),
      );
      session.showMessage(CreateApplicationResponseSchema, answer, ({ application: created }) =>
        fields([
          ['application', created?.applicationId ?? ''],
          ['developer', created?.developerId ?? ''],
          ['name', created?.name ?? ''],
        ]),
      );
    });

  group
    .command('list')
    .description('applications, all or of one developer')
    .option('--developer <developerId>', 'only of this developer')
    .action(async ({ developer = '' }: { developer?: string }) => {
      const answer = await session.call('devices', DevicesAdminService, (c) =>
        c.listApplications({ developerId: developer }),
      );
      session.showMessage(ListApplicationsResponseSchema, answer, ({ applications }) =>
        session.table(
          applications,
          [
            ['APPLICATION', (a) => a.applicationId],
            ['DEVELOPER', (a) => a.developerId],
            ['NAME', (a) => a.name],
          ],
          'No applications. Create one: ctl applications create --developer DEVELOPER',
        ),
      );
    });

  addForgetApplication(group, session);
}
