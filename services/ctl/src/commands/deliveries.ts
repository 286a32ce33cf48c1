import { attemptEach, forEachItem, type Outcome, requireAll } from '@headset-cloud/cli/each.ts';
import { CliError, refusedError, usageError } from '@headset-cloud/cli/exit-codes.ts';
import { deliveryStateOption, earlierName } from '@headset-cloud/cli/options.ts';
import { type Column, fields, visible } from '@headset-cloud/cli/output.ts';
import { limitOption, moreHint } from '@headset-cloud/cli/paging.ts';
import {
  type Delivery,
  GetDeliveryResponseSchema,
  ListDeliveriesResponseSchema,
  NotifierAdminService,
  RedeliverDeliveryResponseSchema,
} from '@headset-cloud/proto/notifier/v1/admin_pb.ts';
import type { Command } from 'commander';
import { time } from '../output.ts';
import type { Session } from '../session.ts';

const columns: readonly Column<Delivery>[] = [
  ['NOTIFICATION', (d) => d.notificationId],
  ['STATE', (d) => d.status],
  ['APPLICATION', (d) => d.applicationId],
  ['DESTINATION', (d) => d.destination],
  ['HOST', (d) => d.host],
  ['ATTEMPTS', (d) => String(d.attempts)],
  ['CREATED', (d) => time(d.createdAtMs)],
  ['LAST OUTCOME', (d) => d.lastOutcome],
];

/** `deliveries list|show|redeliver`. */
export function addDeliveries(program: Command, session: Session): void {
  const group = program.command('deliveries').description("callbacks to integrators' servers");

  const state = deliveryStateOption();
  group
    .command('list')
    .description('deliveries, newest first')
    .option('--oldest', 'oldest first', false)
    .option('--application <applicationId>', 'only of this application', '')
    .addOption(state)
    .addOption(earlierName(state, '--status'))
    .addOption(limitOption('deliveries'))
    .action(async (options: { application: string; state?: string; oldest: boolean; limit: number }) => {
      const answer = await session.call('notifier', NotifierAdminService, (c) =>
        c.listDeliveries({
          applicationId: options.application,
          status: options.state ?? '',
          limit: options.limit,
          oldestFirst: options.oldest,
        }),
      );
      session.showMessage(
        ListDeliveriesResponseSchema,
        answer,
        ({ deliveries }) =>
          session.table(deliveries, columns, 'No deliveries.') + moreHint(deliveries, options.limit),
      );
    });

  group
    .command('show <notificationId>')
    .description('one delivery with its last attempts and its body')
    .action(async (notificationId: string) => {
      const answer = await session.call('notifier', NotifierAdminService, (c) =>
        c.getDelivery({ notificationId }),
      );
      session.showMessage(GetDeliveryResponseSchema, answer, ({ delivery, recentAttempts, body }) =>
        [
          describe(delivery),
          '\n',
          session.table(
            recentAttempts,
            [
              ['ATTEMPT', (a) => time(a.atMs)],
              ['MS', (a) => String(a.durationMs)],
              ['HOST', (a) => a.host],
              ['ANSWER', (a) => (a.statusCode ? String(a.statusCode) : '')],
              ['ERROR', (a) => a.error],
            ],
            'No attempts yet.',
          ),
          `\n${visible(body)}\n`,
        ].join(''),
      );
    });

  group
    .command('redeliver [notificationId...]')
    .description('send again with the same body and id and new attempts')
    .option('--dead-of <applicationId>', 'all dead deliveries of an application, oldest first')
    .option('--dry-run', 'only show them', false)
    .action(async (ids: string[], options: { deadOf?: string; dryRun: boolean }) => {
      const { deadOf, dryRun } = options;
      if ((deadOf === undefined) === (ids.length === 0)) {
        throw usageError('Name notifications, or --dead-of an application.');
      }
      const sent = (notificationId: string) =>
        session.call('notifier', NotifierAdminService, (c) => c.redeliverDelivery({ notificationId }));
      if (deadOf !== undefined) return redeliverDead(session, deadOf, dryRun ? undefined : sent);
      const work = async (notificationId: string) => {
        if (dryRun) {
          const answer = await session.call('notifier', NotifierAdminService, (c) =>
            c.getDelivery({ notificationId }),
          );
          session.showMessage(GetDeliveryResponseSchema, answer, ({ delivery }) => describe(delivery));
        } else {
          session.showMessage(RedeliverDeliveryResponseSchema, await sent(notificationId), ({ delivery }) =>
            describe(delivery),
          );
        }
      };
      await forEachItem(ids, work, { report: session.terminal.err, what: dryRun ? 'shown' : 'sent again' });
    });
}

/** Maximum deliveries that the notifier lists at once. */
const pageSize = 1000;

/**
 * Sends all dead deliveries of an application again, each once. A delivery that dies again meanwhile is not sent a
 * second time. Reports failures and continues. Without `send` it only shows the oldest deliveries.
 */
async function redeliverDead(
  session: Session,
  applicationId: string,
  send: ((notificationId: string) => Promise<unknown>) | undefined,
): Promise<void> {
  const dead = (createdAfterMs?: bigint) =>
    session.call('notifier', NotifierAdminService, (c) =>
      c.listDeliveries({
        ...{ applicationId, status: 'dead', limit: pageSize, oldestFirst: true },
        ...(createdAfterMs !== undefined && { createdAfterMs }),
      }),
    );
  if (!send) {
    const answer = await dead();
    session.showMessage(ListDeliveriesResponseSchema, answer, ({ deliveries }) => {
      const rows = session.table(
        deliveries,
        columns.filter(([head]) => !['STATE', 'APPLICATION', 'ATTEMPTS'].includes(head)),
        'No dead deliveries.',
      );
      return deliveries.length === pageSize
        ? `${rows}These are the oldest ${pageSize}; there may be more.\n`
        : rows;
    });
    return;
  }
  const tried = new Set<string>();
  const outcome: { done: string[]; failed: Outcome['failed'][number][]; left: string[] } = {
    ...{ done: [], failed: [], left: [] },
  };
  const unfinished = (error: CliError) => {
    const counts = `${outcome.done.length} sent again, ${outcome.failed.length} failed; there may be more.`;
    return new CliError(error.exitCode, `${error.message}\n${counts}`, { cause: error });
  };
  // A delivery that dies again keeps its creation time, so it is not on a later page.
  let createdAfterMs = -1n;
  for (let isMore = true; isMore && outcome.left.length === 0; ) {
    const { deliveries } = await dead(createdAfterMs).catch((error: unknown) => {
      if (!(error instanceof CliError) || tried.size === 0) throw error;
      throw unfinished(error);
    });
    isMore = deliveries.length >= pageSize;
    createdAfterMs = deliveries.at(-1)?.createdAtMs ?? createdAfterMs;
    const fresh = deliveries.map(({ notificationId }) => notificationId).filter((id) => !tried.has(id));
    if (isMore && fresh.length === 0) {
      throw unfinished(
        refusedError(
          'The notifier is older than ctl and does not list later dead deliveries. Upgrade the notifier, and run the command again.',
        ),
      );
    }
    for (const id of fresh) tried.add(id);
    const { done, failed, left } = await attemptEach(fresh, send, session.terminal.err);
    outcome.done.push(...done);
    outcome.failed.push(...failed);
    outcome.left.push(...left);
  }
  const failed = outcome.failed.map(({ item, error }) => ({ notificationId: item, reason: error.message }));
  session.show({ redelivered: outcome.done, failed, notTried: outcome.left }, () =>
    failed.length === 0 ? `${outcome.done.length} are sent again.\n` : '',
  );
  requireAll(outcome, 'sent again');
}

function describe(delivery: Delivery | undefined): string {
  if (!delivery) return '';
  return fields([
    ['notification', delivery.notificationId],
    ['application', delivery.applicationId],
    ['destination', delivery.destination],
    ['host', delivery.host],
    ['order key', delivery.orderKey],
    ['state', delivery.status],
    ['attempts', String(delivery.attempts)],
    ['created', time(delivery.createdAtMs)],
    ['next attempt', time(delivery.nextAttemptAtMs)],
    ['delivered', time(delivery.deliveredAtMs)],
    ['last outcome', delivery.lastOutcome],
  ]);
}
