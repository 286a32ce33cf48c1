import { imei } from '@headset-cloud/cli/ids.ts';
import { earlierName, sinceOption, untilOption } from '@headset-cloud/cli/options.ts';
import { afterHint, afterOption, limitOption } from '@headset-cloud/cli/paging.ts';
import {
  AuditAdminService,
  type ListAuditRecordsResponse,
  ListAuditRecordsResponseSchema,
} from '@headset-cloud/proto/audit/v1/admin_pb.ts';
import type { AuditRecord } from '@headset-cloud/proto/common/v1/audit_pb.ts';
import { auditActions } from '@headset-cloud/rules/audit/actions.ts';
import type { Command } from 'commander';
import { time } from '../output.ts';
import type { Session } from '../session.ts';

interface ListOptions {
  actor: string;
  application: string;
  developer: string;
  device?: string;
  action: string;
  since?: number;
  until?: number;
  limit: number;
  after?: string;
}

const example = `
Filters may be combined; a record must pass each of them. For example, an operator's changes of an application's
contract on one day:
  $ ctl audit list --application acme-field --actor kim --action PutContract --since 2026-11-24 --until 2026-11-25
`;

/** `audit list`. */
export function addAudit(program: Command, session: Session): void {
  const group = program
    .command('audit')
    .description(
      'who changed what: by actor, application, developer, device, action and time (audit list --help)',
    )
    .addHelpText('after', example);

  const [since, until, after] = [sinceOption('since'), untilOption('before'), afterOption()];
  group
    .command('list')
    .description("operators' and integrators' changes, newest first")
    .option('--actor <name>', "only of this client, or of this operator's name", '')
    .option('--application <applicationId>', 'only of this application', '')
    .option('--developer <developerId>', 'only of this developer', '')
    .option('--device <imei>', 'only of this device', imei)
    .option(
      '--action <action>',
      'only this action: devices.UpdateSettings, or UpdateSettings (see below)',
      '',
    )
    .addOption(since)
    .addOption(earlierName(since, '--from'))
    .addOption(until)
    .addOption(earlierName(until, '--to'))
    .addOption(limitOption('records'))
    .addOption(after)
    .addOption(earlierName(after, '--cursor'))
    .addHelpText('after', `${example}\nActions:\n${wrapped(auditActions)}`)
    .action(async (options: ListOptions) => {
      const { actor, developer, device = '', action, since = 0, until = 0, limit, after = '' } = options;
      const answer = await session.call('billing', AuditAdminService, (c) =>
        c.listAuditRecords({
          ...{ actor, action, limit, cursor: after, developerId: developer, deviceId: device },
          ...{ applicationId: options.application, fromMs: BigInt(since), toMs: BigInt(until) },
        }),
      );
      session.showMessage(ListAuditRecordsResponseSchema, answer, (shown) => text(session, shown));
    });
}

function text({ table }: Session, { records, nextCursor }: ListAuditRecordsResponse): string {
  const rows = table(
    records,
    [
      ['TIME', (r) => time(r.atMs)],
      ['ACTOR', (r) => r.actor?.clientId || r.actor?.operator || ''],
      ['FROM', (r) => r.actor?.address ?? ''],
      ['ACTION', (r) => r.action],
      ['CHANGED', changed],
      ['FIELDS', (r) => r.fields.join(',')],
      ['TOKEN', (r) => r.actor?.tokenId ?? ''],
      ['REQUEST', (r) => r.actor?.requestId ?? ''],
    ],
    'No records.',
  );
  return rows + afterHint(nextCursor);
}

function changed({ applicationId, developerId, deviceId, target }: AuditRecord): string {
  return [applicationId, developerId, deviceId, target].filter((id) => id !== '').join('/');
}

/** Wraps words into lines for a terminal. */
function wrapped(words: readonly string[]): string {
  const lines = [''];
  for (const word of words) {
    const line = `${lines.at(-1)} ${word}`;
    if (line.length > 110) lines.push(` ${word}`);
    else lines[lines.length - 1] = line;
  }
  return lines.map((line) => ` ${line}\n`).join('');
}
