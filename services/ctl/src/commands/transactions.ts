import {
  ListTransactionsOfDeviceResponseSchema,
  ShowTransactionResponseSchema,
  TransactionsAdminService,
} from '@headset-cloud/proto/transactions/v1/admin_pb.ts';
import { TransactionStatus } from '@headset-cloud/proto/transactions/v1/service_pb.ts';
import type { Command } from 'commander';
import { fields, table, time } from '../output.ts';
import { type Session, transactionId, wholeNumber } from '../session.ts';

/** `transactions list|show`. */
export function addTransactions(program: Command, session: Session): void {
  const group = program.command('transactions').description('asynchronous operations on devices');

  group
    .command('list <imei>')
    .description("a device's transactions, newest first")
    .option('--open', 'only unprocessed ones', false)
    .option('--limit <transactions>', 'most to show, up to 1000', wholeNumber, 100)
    .action(async (deviceId: string, { open, limit }: { open: boolean; limit: number }) => {
      const answer = await session.call('transactions', TransactionsAdminService, (c) =>
        c.listTransactionsOfDevice({ deviceId, openOnly: open, limit }),
      );
      session.show(ListTransactionsOfDeviceResponseSchema, answer, ({ transactions }) =>
        table(
          transactions,
          [
            ['TRANSACTION', (t) => String(t.transactionId)],
            ['STATUS', (t) => statusText(t.status)],
            ['OPERATION', (t) => t.operationId],
            ['APPLICATION', (t) => t.applicationId],
            ['CREATED', (t) => time(t.createdAtMs)],
            ['UPDATED', (t) => time(t.updatedAtMs)],
          ],
          open ? 'No unprocessed transactions.' : 'No transactions.',
        ),
      );
    });

  group
    .command('show')
    .argument('<transactionId>', 'its id', transactionId)
    .description('one transaction with its deliveries to the headset')
    .action(async (id: bigint) => {
      const answer = await session.call('transactions', TransactionsAdminService, (c) =>
        c.showTransaction({ transactionId: id }),
      );
      session.show(ShowTransactionResponseSchema, answer, (shown) => {
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

function statusText(status: TransactionStatus): string {
  const [name = String(status)] =
    Object.entries(TransactionStatus).find(([, value]) => value === status) ?? [];
  return name.toLowerCase();
}
