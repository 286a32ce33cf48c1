import { forEachItem } from '@headset-cloud/cli/each.ts';
import { CliError, exceptOutputClosed, exitCodes, usageError } from '@headset-cloud/cli/exit-codes.ts';
import { imei, transactionId } from '@headset-cloud/cli/ids.ts';
import { deliveryStateOption, sinceOption, untilOption } from '@headset-cloud/cli/options.ts';
import { type Column, fields, visible } from '@headset-cloud/cli/output.ts';
import { afterHint, afterOption, limitOption } from '@headset-cloud/cli/paging.ts';
import { type Command, Option } from 'commander';
import { type Api, ApiError } from '../api.ts';
import { typesOption } from '../event-types.ts';
import { interruptible, pause, type Session, untilSuccess } from '../session.ts';
import { destinations } from './trigger.ts';

interface Attempt {
  readonly at: string;
  readonly durationMs: number;
  readonly status: number | null;
  readonly reason: string | null;
  readonly message: string | null;
  readonly host: string | null;
  readonly answer: string | null;
}

interface Delivery {
  readonly webhookId: string;
  readonly type: string;
  readonly destination: string;
  readonly deviceId: string | null;
  readonly transactionId: number | null;
  readonly state: string;
  readonly attemptCount: number;
  readonly createdAt: string;
  readonly nextAttemptAt: string | null;
  readonly endedAt: string | null;
  readonly lastAttempt: Attempt | null;
}

interface DeliveryDetail extends Delivery {
  readonly attempts: readonly Attempt[];
  readonly body: string;
}

interface DeliveryPage {
  readonly deliveries: readonly Delivery[];
  readonly cursor: string | null;
}

interface Recovery {
  readonly recoveryId: string;
  readonly state: 'running' | 'ended';
  readonly total: number;
  readonly done: number;
  readonly beganAt: string;
  readonly endedAt: string | null;
}

interface ListOptions {
  readonly state?: string;
  readonly destination?: string;
  readonly types?: string;
  readonly device?: string;
  readonly transaction?: number;
  readonly since?: number;
  readonly until?: number;
  readonly limit: number;
  readonly after?: string;
}

interface RecoverOptions {
  readonly since: number;
  readonly destination?: string;
  readonly types?: string;
  readonly device?: string;
  readonly delivered?: boolean;
  readonly dryRun?: boolean;
  readonly wait: boolean;
  readonly idempotencyKey?: string;
}

const destinationOption = () =>
  new Option('--destination <setting>', 'only this setting').choices(destinations);

/** `deliveries list|show|redeliver|recover|recovery`. */
export function addDeliveries(program: Command, session: Session): void {
  const group = program.command('deliveries').description('state of callbacks, and resending');

  group
    .command('list')
    .description('deliveries, newest first; finished ones in the order of their end')
    .addOption(deliveryStateOption())
    .addOption(destinationOption())
    .addOption(typesOption())
    .option('--device <imei>', 'only of this device', imei)
    .option('--transaction <transactionId>', 'only of this transaction', transactionId)
    .addOption(sinceOption('created since'))
    .addOption(untilOption('created until'))
    .addOption(limitOption('deliveries'))
    .addOption(afterOption())
    .addHelpText('after', '\nExample:\n  $ hc deliveries list --state dead --since 1d\n')
    .action((options: ListOptions) => list(session, options));

  group
    .command('show <webhookId>')
    .description('one delivery with its attempts and its body')
    .action(async (webhookId: string) => {
      const path = `/deliveries/${encodeURIComponent(webhookId)}`;
      const delivery = await session.api('cws:application:read').get<DeliveryDetail>(path);
      session.show(delivery, () =>
        [
          describe(delivery),
          '\n',
          session.table(
            delivery.attempts,
            attemptColumns,
            delivery.state === 'unsent'
              ? 'The event is only in the event feed and is not sent.'
              : 'No attempts yet.',
          ),
          `\n${visible(delivery.body)}\n`,
        ].join(''),
      );
    });

  group
    .command('redeliver <webhookId...>')
    .description('send again to the registered URL with the same body and id and new attempts')
    .option('--force', 'include deliveries that never failed')
    .option('--idempotency-key <key>', 'repeat an earlier call with this key safely; only for one delivery')
    .action(async (ids: string[], options: { force?: boolean; idempotencyKey?: string }) => {
      if (options.idempotencyKey !== undefined && ids.length > 1) {
        throw usageError('--idempotency-key is for one delivery.');
      }
      const api = session.api('cws:application:write');
      const redeliver = async (id: string) => {
        const path = `/deliveries/${encodeURIComponent(id)}/redeliver`;
        const body = options.force ? { force: true } : {};
        const sent = await api.post<Delivery>(path, body, options.idempotencyKey).catch(explainForce);
        await session
          .emit(sent, (one) => `${describe(one)}${ids.length > 1 ? '\n' : ''}`)
          .catch(exceptOutputClosed);
      };
      await forEachItem(ids, redeliver, { report: session.terminal.err, what: 'sent again' });
    });

  group
    .command('recover')
    .description('send dead deliveries since a time again, at a limited rate, and show the progress')
    .addOption(sinceOption('created since').makeOptionMandatory())
    .addOption(destinationOption())
    .addOption(typesOption())
    .option('--device <imei>', 'only of this device', imei)
    .option('--delivered', 'include delivered ones')
    .option('--dry-run', 'only count')
    .option('--no-wait', 'do not wait for the end')
    .option('--idempotency-key <key>', 'repeat an earlier call with this key safely')
    .addHelpText(
      'after',
      `
Ctrl-C ends the waiting, not the recovery: hc deliveries recovery ID continues to show it.

Example:
  $ hc deliveries recover --since 2026-01-31T12:00:00Z --destination deviceEvent --dry-run
`,
    )
    .action((options: RecoverOptions) => recover(session, options));

  group
    .command('recovery <recoveryId>')
    .description('the progress of a recovery until its end')
    .option('--no-wait', 'show only the current state')
    .action(async (recoveryId: string, { wait }: { wait: boolean }) => {
      const api = session.api('cws:application:read');
      const recovery = await api.get<Recovery>(recoveryPath(recoveryId));
      if (wait) await watch(session, api, recovery);
      else await session.emit(recovery, progressLine);
    });
}

/** Replaces the API's field "force" in an error's message by the option --force. */
function explainForce(error: unknown): never {
  if (error instanceof ApiError && error.message.includes('"force": true')) {
    const message = error.message.replace('set "force": true', 'use --force');
    throw new CliError(error.exitCode, message, { cause: error });
  }
  throw error;
}

async function list(session: Session, options: ListOptions): Promise<void> {
  const api = session.api('cws:application:read');
  const deliveries: Delivery[] = [];
  let cursor: string | null | undefined = options.after;
  do {
    const page: DeliveryPage = await api.get('/deliveries', {
      ...{ state: options.state, destination: options.destination, types: options.types },
      ...{ deviceId: options.device, transactionId: options.transaction },
      ...{ from: timeText(options.since), to: timeText(options.until) },
      ...{ after: cursor, limit: options.limit - deliveries.length },
    });
    deliveries.push(...page.deliveries);
    cursor = page.cursor;
  } while (cursor !== null && deliveries.length < options.limit);
  session.show(
    { deliveries, cursor },
    () =>
      session.table(
        deliveries,
        [
          ['WEBHOOK-ID', (d) => d.webhookId],
          ['STATE', (d) => d.state],
          ['TYPE', (d) => d.type],
          ['DESTINATION', (d) => d.destination],
          ['DEVICE', (d) => d.deviceId ?? ''],
          ['ATTEMPTS', (d) => String(d.attemptCount)],
          ['CREATED', (d) => d.createdAt],
          ['LAST ANSWER', (d) => outcomeOf(d.lastAttempt)],
        ],
        'No deliveries.',
      ) + afterHint(cursor),
  );
}

async function recover(session: Session, options: RecoverOptions): Promise<void> {
  const api = session.api('cws:application:read', 'cws:application:write');
  const { count, recovery } = await api.post<{ count: number; recovery: Recovery | null }>(
    '/deliveries/recover',
    {
      since: timeText(options.since),
      ...(options.destination && { destination: options.destination }),
      ...(options.types && { types: options.types.split(',') }),
      ...(options.device && { deviceId: options.device }),
      ...(options.delivered && { delivered: true }),
      ...(options.dryRun && { dryRun: true }),
    },
    options.idempotencyKey,
  );
  if (!recovery) {
    const outcome = options.dryRun ? 'would be sent again' : 'are being sent again';
    await session.emit({ count, recovery }, () => `${count} deliveries ${outcome}.\n`);
  } else if (options.wait) await watch(session, api, recovery);
  else await session.emit(recovery, progressLine);
}

const recoveryPath = (id: string) => `/recoveries/${encodeURIComponent(id)}`;

/** Shows each step of a recovery until its end. */
async function watch(session: Session, api: Api, first: Recovery): Promise<void> {
  const { stop, off } = interruptible(session);
  let shown = '';
  try {
    for (let recovery: Recovery | undefined = first; recovery; ) {
      const current = JSON.stringify(recovery);
      if (current !== shown) await session.emit(recovery, progressLine);
      shown = current;
      if (recovery.state === 'ended') return;
      await pause(session.pollMs, stop);
      recovery = await untilSuccess(() => api.get<Recovery>(recoveryPath(first.recoveryId)), {
        stop,
        note: session.note,
      });
    }
  } finally {
    off();
  }
  throw new CliError(
    exitCodes.interrupted,
    `The recovery continues: hc deliveries recovery ${visible(first.recoveryId)}`,
  );
}

function progressLine({ recoveryId, state, done, total }: Recovery): string {
  const end = state === 'ended' ? '; finished. See the results with: hc deliveries list' : '';
  return `${visible(recoveryId)}  ${done} of ${total} resent${end}\n`;
}

const attemptColumns: readonly Column<Attempt>[] = [
  ['ATTEMPT', (a) => a.at],
  ['MS', (a) => String(a.durationMs)],
  ['HOST', (a) => a.host ?? ''],
  ['STATUS', (a) => String(a.status ?? '')],
  ['REASON', (a) => a.message ?? ''],
  ['ANSWER', (a) => a.answer ?? ''],
];

function outcomeOf(attempt: Attempt | null): string {
  if (!attempt) return '';
  return [attempt.status, attempt.reason === 'answered' ? null : attempt.reason]
    .filter((one) => one !== null)
    .join(' ');
}

function describe(delivery: Delivery): string {
  return fields([
    ['webhook-id', delivery.webhookId],
    ['type', delivery.type],
    ['destination', delivery.destination],
    ['device', delivery.deviceId ?? ''],
    ['transaction', String(delivery.transactionId ?? '')],
    ['state', delivery.state],
    ['attempts', String(delivery.attemptCount)],
    ['created', delivery.createdAt],
    ['next attempt', nextAttemptOf(delivery)],
    ['ended', delivery.endedAt ?? ''],
    ['last answer', outcomeOf(delivery.lastAttempt)],
  ]);
}

/** A delivery that is overdue by more than this is shown with the possible reasons; milliseconds. */
const lateMs = 2000;

function nextAttemptOf({ nextAttemptAt }: Delivery): string {
  if (nextAttemptAt === null) return '';
  if (Date.parse(nextAttemptAt) > Date.now() - lateMs) return nextAttemptAt;
  return `due since ${nextAttemptAt}: waiting for an earlier delivery, or its URL is failing or not set`;
}

function timeText(ms: number | undefined): string | undefined {
  return ms === undefined ? undefined : new Date(ms).toISOString();
}
