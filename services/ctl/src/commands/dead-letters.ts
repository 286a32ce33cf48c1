import { create } from '@bufbuild/protobuf';
import { Code, ConnectError } from '@connectrpc/connect';
import { fields } from '@headset-cloud/cli/output.ts';
import { limitOption } from '@headset-cloud/cli/paging.ts';
import {
  type DeadLetter,
  DeadLettersAdminService,
  DiscardDeadLetterResponseSchema,
  type GetDeadLetterResponse,
  GetDeadLetterResponseSchema,
  ListDeadLettersResponseSchema,
  ReplayDeadLetterResponseSchema,
} from '@headset-cloud/proto/eventlog/v1/admin_pb.ts';
import { type Command, Option } from 'commander';
import type { AdminService } from '../connection.ts';
import { time } from '../output.ts';
import type { Session } from '../session.ts';

/** The services that consume events: each stores the dead letters of its own groups. */
const consumers = ['transactions', 'devices', 'notifier', 'billing'] as const;

/** `dead-letters list|show|replay|discard`. */
export function addDeadLetters(program: Command, session: Session): void {
  const group = program.command('dead-letters').description('events that a service could not handle');
  const inServices = () =>
    new Option('--service <service...>', 'only these services').choices(consumers).default([...consumers]);

  group
    .command('list')
    .description('the newest dead letters of each service, oldest first')
    .addOption(limitOption('events', ' per service'))
    .option('--all', 'include replayed and discarded ones; they are kept for 30 days')
    .addOption(inServices())
    .action(async ({ limit, all, service }: { limit: number; all?: boolean; service: AdminService[] }) => {
      const found = new Map<string, DeadLetter>();
      for (const one of service) {
        const { deadLetters } = await session.call(one, DeadLettersAdminService, (c) =>
          c.listDeadLetters({ limit, ended: all === true }),
        );
        // If all services share one admin port, this port answers for all of them.
        for (const deadLetter of deadLetters) found.set(deadLetter.id, deadLetter);
      }
      const deadLetters = [...found.values()].sort((a, b) => Number(a.atMs - b.atMs));
      session.showMessage(
        ListDeadLettersResponseSchema,
        create(ListDeadLettersResponseSchema, { deadLetters }),
        (answer) =>
          session.table(
            answer.deadLetters,
            [
              ['ID', (d) => d.id],
              ['AT', (d) => time(d.atMs)],
              ['KIND', (d) => d.kind],
              ['STATE', (d) => d.state],
              ['KEY', (d) => d.key],
              ['ERROR', (d) => d.error],
              ['REASON', (d) => d.reason],
            ],
            'No dead letters.',
          ),
      );
    });

  group
    .command('show <id>')
    .description('one event with its content (secrets masked) and its outcome')
    .addOption(inServices())
    .action(async (id: string, { service }: { service: AdminService[] }) => {
      const answer = await findIn(service, (one) =>
        session.call(one, DeadLettersAdminService, (c) => c.getDeadLetter({ id })),
      );
      session.showMessage(GetDeadLetterResponseSchema, answer, (shown) => describe(session, shown));
    });

  group
    .command('replay <id>')
    .description('send the event again to the group that could not handle it; takes effect once')
    .requiredOption('--reason <text>', 'stored with the event and shown')
    .addOption(inServices())
    .action(async (id: string, { reason, service }: { reason: string; service: AdminService[] }) => {
      const answer = await findIn(service, (one) =>
        session.call(one, DeadLettersAdminService, (c) => c.replayDeadLetter({ id, reason })),
      );
      session.showMessage(ReplayDeadLetterResponseSchema, answer, ({ deadLetter }) =>
        fields(summary(deadLetter)),
      );
    });

  group
    .command('discard <id>')
    .description('close the event without handling it; later events continue')
    .requiredOption('--reason <text>', 'stored with the event and shown')
    .addOption(inServices())
    .action(async (id: string, { reason, service }: { reason: string; service: AdminService[] }) => {
      const answer = await findIn(service, (one) =>
        session.call(one, DeadLettersAdminService, (c) => c.discardDeadLetter({ id, reason })),
      );
      session.showMessage(DiscardDeadLetterResponseSchema, answer, ({ deadLetter }) =>
        fields(summary(deadLetter)),
      );
    });
}

/** Asks one service after the other until one knows the event. */
async function findIn<A>(
  services: readonly AdminService[],
  ask: (service: AdminService) => Promise<A>,
): Promise<A> {
  const [first, ...rest] = services;
  try {
    return await ask(first as AdminService);
  } catch (error) {
    if (rest.length > 0 && isNotFound(error)) return findIn(rest, ask);
    throw error;
  }
}

function isNotFound(error: unknown): boolean {
  const { cause } = error as { cause?: unknown };
  return cause !== undefined && ConnectError.from(cause).code === Code.NotFound;
}

function summary(deadLetter: DeadLetter | undefined): [string, string][] {
  if (!deadLetter) return [];
  return [
    ['id', deadLetter.id],
    ['topic', deadLetter.topic],
    ['position', deadLetter.position],
    ['key', deadLetter.key],
    ['group', deadLetter.group],
    ['kind', deadLetter.kind],
    ['state', deadLetter.state],
    ['created', time(deadLetter.atMs)],
    ['error', deadLetter.error],
    ['reason', deadLetter.reason],
  ];
}

function describe({ table }: Session, answer: GetDeadLetterResponse): string {
  const { deadLetter, headers, content, steps } = answer;
  const size = `${deadLetter?.sizeBytes ?? 0} bytes, SHA-256 ${answer.sha256}`;
  return [
    fields([
      ...summary(deadLetter),
      ['published', time(answer.publishedAtMs)],
      ...Object.entries(headers).map(([name, value]): [string, string] => [`header ${name}`, value]),
      ['event', size],
    ]),
    '\n',
    table(
      steps,
      [
        ['AT', (s) => time(s.atMs)],
        ['WHAT', (s) => s.what],
      ],
      'Nothing was done with it.',
    ),
    `\n${content === '' ? 'The event cannot be decoded.' : JSON.stringify(JSON.parse(content), null, 2)}\n`,
  ].join('');
}
