import {
  type Delivery,
  GetDeliveryResponseSchema,
  ListDeliveriesResponseSchema,
  NotifierAdminService,
  RedeliverDeliveryResponseSchema,
} from '@headset-cloud/proto/notifier/v1/admin_pb.ts';
import { type Command, Option } from 'commander';
import { fields, table, time } from '../output.ts';
import { type Session, wholeNumber } from '../session.ts';

/** `deliveries list|show|redeliver`. */
export function addDeliveries(program: Command, session: Session): void {
  const group = program.command('deliveries').description("callbacks to integrators' servers");

  group
    .command('list')
    .description('deliveries, newest first')
    .option('--application <applicationId>', 'only of this application', '')
    .addOption(
      new Option('--status <status>', 'only in this state')
        .choices(['pending', 'delivered', 'dead', 'replaced'])
        .default(''),
    )
    .option('--limit <deliveries>', 'most to show, up to 1000', wholeNumber, 100)
    .action(async (options: { application: string; status: string; limit: number }) => {
      const answer = await session.call('notifier', NotifierAdminService, (c) =>
        c.listDeliveries({
          applicationId: options.application,
          status: options.status,
          limit: options.limit,
        }),
      );
      session.show(ListDeliveriesResponseSchema, answer, ({ deliveries }) =>
        table(
          deliveries,
          [
            ['NOTIFICATION', (d) => d.notificationId],
            ['STATUS', (d) => d.status],
            ['APPLICATION', (d) => d.applicationId],
            ['DESTINATION', (d) => d.destination],
            ['ATTEMPTS', (d) => String(d.attempts)],
            ['CREATED', (d) => time(d.createdAtMs)],
            ['LAST OUTCOME', (d) => d.lastOutcome],
          ],
          'No deliveries.',
        ),
      );
    });

  group
    .command('show <notificationId>')
    .description('one delivery with its last attempts and its body')
    .action(async (notificationId: string) => {
      const answer = await session.call('notifier', NotifierAdminService, (c) =>
        c.getDelivery({ notificationId }),
      );
      session.show(GetDeliveryResponseSchema, answer, ({ delivery, recentAttempts, body }) =>
        [
          describe(delivery),
          '\n',
          table(
            recentAttempts,
            [
              ['ATTEMPT', (a) => time(a.atMs)],
              ['MS', (a) => String(a.durationMs)],
              ['ANSWER', (a) => (a.statusCode ? String(a.statusCode) : '')],
              ['ERROR', (a) => a.error],
            ],
            'No attempts yet.',
          ),
          `\n${body}\n`,
        ].join(''),
      );
    });

  group
    .command('redeliver <notificationId...>')
    .description('send again: the same body and id, a new budget of attempts')
    .action(async (notificationIds: string[]) => {
      for (const notificationId of notificationIds) {
        const answer = await session.call('notifier', NotifierAdminService, (c) =>
          c.redeliverDelivery({ notificationId }),
        );
        session.show(RedeliverDeliveryResponseSchema, answer, ({ delivery }) => describe(delivery));
      }
    });
}

function describe(delivery: Delivery | undefined): string {
  if (!delivery) return '';
  return fields([
    ['notification', delivery.notificationId],
    ['application', delivery.applicationId],
    ['destination', delivery.destination],
    ['order key', delivery.orderKey],
    ['status', delivery.status],
    ['attempts', String(delivery.attempts)],
    ['created', time(delivery.createdAtMs)],
    ['next attempt', time(delivery.nextAttemptAtMs)],
    ['delivered', time(delivery.deliveredAtMs)],
    ['last outcome', delivery.lastOutcome],
  ]);
}
