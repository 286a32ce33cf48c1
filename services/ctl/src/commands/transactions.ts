import { transactionId } from '@headset-cloud/cli/ids.ts';
import { type Column, fields } from '@headset-cloud/cli/output.ts';
import { limitOption, moreHint } from '@headset-cloud/cli/paging.ts';
import { duration } from '@headset-cloud/cli/time.ts';
import {
  FindTransactionsResponseSchema,
  ListTransactionsOfDeviceResponseSchema,
  ShowTransactionResponseSchema,
  TransactionsAdminService,
} from '@headset-cloud/proto/transactions/v1/admin_pb.ts';
import { type Transaction, TransactionStatus } from '@headset-cloud/proto/transactions/v1/service_pb.ts';
import { type Command, Option } from 'commander';
import { time, word } from '../output.ts';
import type { Session } from '../session.ts';

const columns: readonly Column<Transaction>[] = [
  ['TRANSACTION', (t) => String(t.transactionId)],
  ['STATUS', (t) => statusText(t.status)],
  ['OPERATION', (t) => t.operationId],
  ['DEVICE', (t) => t.deviceId],
  ['APPLICATION', (t) => t.applicationId],
  ['CREATED', (t) => time(t.createdAtMs)],
  ['UPDATED', (t) => time(t.updatedAtMs)],
];

/** `transactions list|find|show`. */
export function addTransactions(program: Command, session: Session): void {
  const group = program.command('transactions').description('asynchronous operations on devices');

  group
    .command('list <imei>')
    .description("a device's transactions, newest first")
    .option('--open', 'only unprocessed transactions', false)
    .addOption(limitOption('transactions'))
    .action(async (deviceId: string, { open, limit }: { open: boolean; limit: number }) => {
      const answer = await session.call('transactions', TransactionsAdminService, (c) =>
        c.listTransactionsOfDevice({ deviceId, openOnly: open, limit }),
      );
      session.showMessage(
        ListTransactionsOfDeviceResponseSchema,
        answer,
        ({ transactions }) =>
          session.table(
            transactions,
            columns.filter(([head]) => head !== 'DEVICE'),
            open ? 'No unprocessed transactions.' : 'No transactions.',
          ) + moreHint(transactions, limit),
      );
    });

  group
    .command('find')
    .description(
      'transactions by application, state and age, oldest first; default: unprocessed transactions',
    )
    .option('--application <applicationId>', 'only of this application', '')
    .addOption(
      new Option('--status <status>', 'only in this state').choices(
        Object.keys(TransactionStatus)
          .slice(1)
          .map((name) => name.toLowerCase()),
      ),
    )
    .option('--older-than <time>', 'only transactions older than this: 90s, 15m, 2h, 1d', duration)
    .addOption(limitOption('transactions'))
    .action(async (options: FindOptions) => {
      const { application, status, olderThan, limit } = options;
      const answer = await session.call('transactions', TransactionsAdminService, (c) =>
        c.findTransactions({
          applicationId: application,
          status: statusNumber(status),
          createdBeforeMs: olderThan === undefined ? 0n : BigInt(Date.now() - olderThan),
          limit,
        }),
      );
      session.showMessage(
        FindTransactionsResponseSchema,
        answer,
        ({ transactions }) =>
          session.table(transactions, columns, 'No transactions.') + moreHint(transactions, limit),
      );
    });

  group
    .command('show')
    .argument('<transactionId>', 'its id', transactionId)
    .description('one transaction with its deliveries to the headset')
    .action(async (id: number) => {
      const answer = await session.call('transactions', TransactionsAdminService, (c) =>
        c.showTransaction({ transactionId: BigInt(id) }),
      );
      session.showMessage(ShowTransactionResponseSchema, answer, (shown) => {
        const t = shown.transaction;
        return fields([
          ['transaction', String(t?.transactionId ?? id)],
          ['device', t?.deviceId ?? ''],
          ['application', t?.applicationId ?? ''],
          ['operation', t?.operationId ?? ''],
          ['status', t ? statusText(t.status) : ''],
          ['created', t ? time(t.createdAtMs) : ''],
          ['updated', t ? time(t.updatedAtMs) : ''],
          ['end message', shown.endMessage],
          ['attempts', String(shown.attempts)],
          ['session epoch', shown.sessionEpoch ? String(shown.sessionEpoch) : ''],
          ['activation epoch', String(shown.activationEpoch)],
          ['unpublished events', String(shown.outboxSize)],
        ]);
      });
    });
}

interface FindOptions {
  readonly application: string;
  readonly status?: string;
  /** Milliseconds. */
  readonly olderThan?: number;
  readonly limit: number;
}

function statusNumber(word = 'unspecified'): TransactionStatus {
  return TransactionStatus[word.toUpperCase() as keyof typeof TransactionStatus];
}

function statusText(status: TransactionStatus): string {
  return word(TransactionStatus, status) || String(status);
}
