import { fields } from '@headset-cloud/cli/output.ts';
import {
  DevicesAdminService,
  ListDevelopersResponseSchema,
  PutDeveloperResponseSchema,
} from '@headset-cloud/proto/devices/v1/admin_pb.ts';
import type { Command } from 'commander';
import type { Session } from '../session.ts';

/** `developers put|list`. */
export function addDevelopers(program: Command, session: Session): void {
  const group = program.command('developers').description('developers and their OIDC clients');

  group
    .command('put <developerId>')
    .description("create a developer or change it; the clients given become all of the developer's clients")
    .option('--name <name>', 'display name; default: the id')
    .requiredOption('--client <clientId...>', 'OIDC client ids that belong to the developer')
    .action(async (developerId: string, { name = '', client }: { name?: string; client: string[] }) => {
      const developer = { developerId, name, clientIds: client };
      const answer = await session.call('devices', DevicesAdminService, (c) => c.putDeveloper({ developer }));
      session.showMessage(PutDeveloperResponseSchema, answer, ({ developer: put }) =>
        fields([
          ['developer', put?.developerId ?? ''],
          ['name', put?.name ?? ''],
          ['clients', put?.clientIds.join(', ') ?? ''],
        ]),
      );
    });

  group
    .command('list')
    .description('all developers')
    .action(async () => {
      const answer = await session.call('devices', DevicesAdminService, (c) => c.listDevelopers({}));
      session.showMessage(ListDevelopersResponseSchema, answer, ({ developers }) =>
        session.table(
          developers,
          [
            ['DEVELOPER', (d) => d.developerId],
            ['NAME', (d) => d.name],
            ['CLIENTS', (d) => d.clientIds.join(', ')],
          ],
          'No developers. Create one: ctl developers put DEVELOPER --client CLIENT',
        ),
      );
    });
}
