import {
  DeadLettersAdminService,
  ListDeadLettersResponseSchema,
} from '@headset-cloud/proto/eventlog/v1/admin_pb.ts';
import type { Command } from 'commander';
import { table, time } from '../output.ts';
import { type Session, wholeNumber } from '../session.ts';

/** `dead-letters list`. */
export function addDeadLetters(program: Command, session: Session): void {
  program
    .command('dead-letters')
    .description('events that could not be handled and were set aside')
    .command('list')
    .description('the newest ones of each topic, oldest first')
    .option('--limit <events>', 'most to show of a topic, up to 1000', wholeNumber, 100)
    .action(async ({ limit }: { limit: number }) => {
      const answer = await session.call('transactions', DeadLettersAdminService, (c) =>
        c.listDeadLetters({ limit }),
      );
      session.show(ListDeadLettersResponseSchema, answer, ({ deadLetters }) =>
        table(
          deadLetters,
          [
            ['AT', (d) => time(d.atMs)],
            ['TOPIC', (d) => d.topic],
            ['GROUP', (d) => d.group],
            ['KEY', (d) => d.key],
            ['POSITION', (d) => d.position],
            ['ERROR', (d) => d.error],
          ],
          'No dead letters.',
        ),
      );
    });
}
