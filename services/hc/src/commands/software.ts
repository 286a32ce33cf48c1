import { visible } from '@headset-cloud/cli/output.ts';
import type { Command } from 'commander';
import type { Session } from '../session.ts';

interface AppVersion {
  readonly package: string;
  readonly version: string;
}

/** `software withdraw`. */
export function addSoftware(program: Command, session: Session): void {
  program
    .command('software')
    .description('the uploaded versions of apps')
    .command('withdraw')
    .argument('<package>', 'the package name')
    .argument('<version>', 'the version')
    .description('withdraw a version that was never sent in an update, so that it can be uploaded again')
    .option('--idempotency-key <key>', 'repeat an earlier call with this key safely')
    .addHelpText('after', '\nExamples:\n  $ hc software withdraw com.example.app 1.2.0\n')
    .action(async (name: string, version: string, options: { idempotencyKey?: string }) => {
      const api = session.api('cws:application:write');
      const wanted = { package: name, version };
      const withdrawn = await api.post<AppVersion>('/apps/withdraw', wanted, options.idempotencyKey);
      session.show(
        withdrawn,
        (one) =>
          `${visible(one.version)} of ${visible(one.package)} is withdrawn and can be uploaded again.\n`,
      );
    });
}
