import { CliError, exitCodes, refusedError } from '@headset-cloud/cli/exit-codes.ts';
import { imei, transactionId } from '@headset-cloud/cli/ids.ts';
import { fields, visible } from '@headset-cloud/cli/output.ts';
import { limitOption } from '@headset-cloud/cli/paging.ts';
import { type Command, Option } from 'commander';
import { type Api, ApiError } from '../api.ts';
import { interruptible, pause, type Session, untilStopped, untilSuccess } from '../session.ts';

interface Transaction {
  readonly transactionId: number;
  readonly deviceId: string;
  readonly transactionStatus: string;
  readonly operationId: string;
  readonly createdAt: string;
  readonly updatedAt: string;
}

/** Result of a transaction in its callback. */
interface Outcome {
  readonly webhookId: string;
  readonly result: string | null;
  readonly message: string | null;
}

interface ListOptions {
  readonly device?: string;
  readonly status?: string;
  readonly order: 'newest' | 'oldest';
  readonly limit: number;
}

const pageSize = 100;
/** Longest wait for the callback after the end of a transaction; milliseconds. */
const outcomeWaitMs = 10_000;

/** `transactions list|show|watch`. */
export function addTransactions(program: Command, session: Session): void {
  const group = program.command('transactions').description('asynchronous operations on devices');

  group
    .command('list')
    .description('the transactions of the application')
    .option('--device <imei>', 'only of this device', imei)
    .addOption(
      new Option('--status <status>', 'only in this state').choices(['uncompleted', 'completed', 'canceled']),
    )
    .addOption(
      new Option('--order <order>', 'order by creation').choices(['newest', 'oldest']).default('newest'),
    )
    .addOption(limitOption('transactions'))
    .action((options: ListOptions) => list(session, options));

  group
    .command('show')
    .argument('<transactionId>', 'its id', transactionId)
    .description('one transaction; its callbacks: hc deliveries list --transaction ID')
    .action(async (id: number) => {
      const api = session.api('cws:application:read');
      session.show(await api.get<Transaction>(`/transactions/${id}`), describe);
    });

  group
    .command('watch')
    .argument('<transactionId>', 'its id', transactionId)
    .description('show each change of a transaction until its end, and the result')
    .addHelpText('after', '\nEnds with exit code 1 if the transaction failed or was canceled.\n')
    .action((id: number) => watch(session, id));
}

async function list(session: Session, options: ListOptions): Promise<void> {
  const api = session.api('cws:application:read');
  const found = new Map<number, Transaction>();
  let isMore = true;
  for (let page = 1; isMore && found.size < options.limit; page++) {
    const answer = await api.get<{
      transactions: Transaction[];
      parameters: { isNext: boolean };
    }>('/transactions', {
      deviceId: options.device,
      completionStatus: options.status,
      order: options.order === 'newest' ? 'desc' : 'asc',
      perPage: pageSize,
      page,
    });
    // A new transaction moves others to later pages, so a page may repeat transactions of the page before.
    for (const one of answer.transactions) found.set(one.transactionId, one);
    isMore = answer.parameters.isNext;
  }
  const transactions = [...found.values()].slice(0, options.limit);
  session.show({ transactions }, () => {
    const shown = session.table(
      transactions,
      [
        ['TRANSACTION', (t) => String(t.transactionId)],
        ['STATUS', (t) => t.transactionStatus],
        ['OPERATION', (t) => t.operationId],
        ['DEVICE', (t) => t.deviceId],
        ['CREATED', (t) => t.createdAt],
        ['UPDATED', (t) => t.updatedAt],
      ],
      'No transactions.',
    );
    return isMore || found.size > transactions.length ? `${shown}There are more: --limit\n` : shown;
  });
}

async function watch(session: Session, id: number): Promise<void> {
  const api = session.api('cws:application:read');
  const { stop, off } = interruptible(session);
  const retry = { stop, note: session.note };
  let shown = '';
  let end: Transaction | undefined;
  try {
    while (!end && !stop.aborted) {
      const now = await untilSuccess(() => api.get<Transaction>(`/transactions/${id}`), retry);
      if (!now) break;
      if (now.transactionStatus !== shown) await session.emit(now, statusLine);
      shown = now.transactionStatus;
      if (shown === 'processed' || shown === 'canceled') end = now;
      else await pause(session.pollMs, stop);
    }
    if (!end)
      throw new CliError(
        exitCodes.interrupted,
        `Transaction ${id} continues: its state is ${visible(shown)}.`,
      );
    const outcome = await outcomeOf(session, api, end, stop);
    if (outcome) await session.emit(outcome, outcomeLine);
    if (end.transactionStatus === 'canceled' || (outcome && outcome.result !== 'success')) {
      throw refusedError(`Transaction ${id} did not succeed.`);
    }
    if (!outcome && stop.aborted) {
      throw new CliError(
        exitCodes.interrupted,
        `Transaction ${id} has ended. Its callback is not available yet: hc deliveries list --transaction ${id}`,
      );
    }
    if (!outcome) {
      session.note(`Its callback is not available yet: hc deliveries list --transaction ${id}`);
    }
  } finally {
    off();
  }
}

/** Result in the callback of a transaction's end; undefined: the callback is not stored yet, or was removed. */
async function outcomeOf(
  { pollMs }: Session,
  api: Api,
  { transactionId: id, transactionStatus }: Transaction,
  stop: AbortSignal,
): Promise<Outcome | undefined> {
  // ADR 0006: a callback's id contains its transaction and its kind.
  const webhookId = `tx-${id}-${transactionStatus}`;
  const untilMs = Date.now() + outcomeWaitMs;
  for (;;) {
    try {
      const delivery = await untilStopped(api.get<{ body: string }>(`/deliveries/${webhookId}`), stop);
      return delivery && { webhookId, ...resultIn(JSON.parse(delivery.body)) };
    } catch (error) {
      if (!(error instanceof ApiError) || (error.status !== 404 && !error.isTransient)) throw error;
    }
    if (stop.aborted || Date.now() > untilMs) return undefined;
    await pause(pollMs, stop);
  }
}

/** The result in the body of a callback: `result`, the status code of a connectivity operation, or neither. */
function resultIn(body: {
  result?: unknown;
  statusCode?: unknown;
  message?: unknown;
}): Omit<Outcome, 'webhookId'> {
  const { result, statusCode, message } = body;
  return { result: resultWord(result, statusCode), message: typeof message === 'string' ? message : null };
}

function resultWord(result: unknown, statusCode: unknown): string | null {
  if (typeof result === 'string') return result;
  if (typeof statusCode !== 'number') return null;
  return statusCode === 200 ? 'success' : `failure (${statusCode})`;
}

function statusLine({ updatedAt, transactionId: id, transactionStatus }: Transaction): string {
  return `${[updatedAt, String(id), transactionStatus].map(visible).join('  ')}\n`;
}

function outcomeLine({ result, message }: Outcome): string {
  return `${visible([result ?? 'no result', message].filter(Boolean).join(': '))}\n`;
}

function describe(transaction: Transaction): string {
  return fields([
    ['transaction', String(transaction.transactionId)],
    ['status', transaction.transactionStatus],
    ['operation', transaction.operationId],
    ['device', transaction.deviceId],
    ['created', transaction.createdAt],
    ['updated', transaction.updatedAt],
  ]);
}
