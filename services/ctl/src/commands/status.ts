import { setTimeout as delay } from 'node:timers/promises';
import { CliError } from '@headset-cloud/kit/cli/exit-codes.ts';
import { table } from '@headset-cloud/kit/cli/output.ts';
import type { Warning } from '@headset-cloud/kit/lifecycle.ts';
import type { Command } from 'commander';
import type { AdminProcess } from '../connection.ts';
import { exitCodes } from '../exit-codes.ts';
import { time } from '../output.ts';
import type { Session } from '../session.ts';

const processes: readonly AdminProcess[] = [
  ...(['gateway', 'devices', 'transactions', 'device-link', 'notifier', 'updates'] as const),
  ...(['connectivity', 'communication', 'billing'] as const),
];

/** What a process says from the signal to stop on (lifecycle.ts). */
const stopping = 'shutting down';

/** One line of the answer. */
export interface Line {
  /** Its name, and from its second process on the number: notifier, notifier-2. */
  readonly service: string;
  readonly version: string;
  readonly ready: boolean;
  /** When the process was started, RFC 3339; empty: it cannot be asked. */
  readonly since: string;
  /** Why it is not ready. */
  readonly reason: string;
  /** What it continues without. */
  readonly warnings: readonly Warning[];
  /** True: nobody answered. */
  readonly silent: boolean;
  /** True: somebody answered who wants another admin token. */
  readonly refusesToken: boolean;
}

/** `status`: every process with its version, whether it is ready, and since when it runs. */
export function addStatus(program: Command, session: Session): void {
  program
    .command('status')
    .description(
      'every process of every service: its version, whether it is ready, since when it runs, and warnings of what it continues without',
    )
    .action(async () => {
      const shown = await settled(() => linesOfAll(session));
      session.terminal.out(
        session.json
          ? `${JSON.stringify({ services: shown.map(({ silent, refusesToken, ...line }) => line) }, null, 2)}\n`
          : table(
              shown,
              [
                ['SERVICE', (line) => line.service],
                ['VERSION', (line) => line.version],
                ['READY', (line) => (line.ready ? 'yes' : 'no')],
                ['SINCE', (line) => line.since],
                ['REASON', reasons],
              ],
              'No services.',
            ),
      );
      refuseUnasked(shown);
      if (shown.some((line) => !line.ready && !isReplaced(line, shown))) {
        throw new CliError(exitCodes.refused, 'Not all services are ready.');
      }
      if (shown.some(({ warnings }) => warnings.length > 0)) {
        throw new CliError(exitCodes.warnings, 'All services are ready, with warnings.');
      }
    });
}

/** Throws where no process has told how it is: nothing is known of the platform. */
function refuseUnasked(shown: readonly Line[]): void {
  // A process that tells of itself says since when it runs.
  if (shown.some(({ since }) => since !== '')) return;
  if (shown.some(({ refusesToken }) => refusesToken)) {
    throw new CliError(
      exitCodes.unauthenticated,
      'No process accepts the admin token. Set ADMIN_TOKEN, ADMIN_TOKEN_FILE or --token-file.',
    );
  }
  throw new CliError(
    exitCodes.unreachable,
    'No process can be asked. Start the platform (make up; on Kubernetes see whether its pods run), or name the right address with --admin URL.',
  );
}

function reasons({ reason, warnings }: Line): string {
  const texts = warnings.map(({ name, message }) => `warning: ${name}: ${message}`);
  return [reason, ...texts].filter((text) => text !== '').join('; ');
}

/** For how long, and how often, processes are asked again that do not answer; milliseconds. */
const patienceMs = 30_000;
const againMs = 1000;

/**
 * The lines once they are no longer in motion: DNS names pods that are gone for some seconds. While nothing is
 * wrong but processes that do not answer beside a ready one of the same service, all are asked again, for 30 s.
 */
export async function settled(
  ask: () => Promise<readonly Line[]>,
  pause: (ms: number) => Promise<unknown> = (ms) => delay(ms),
): Promise<readonly Line[]> {
  for (let waitedMs = 0; ; waitedMs += againMs) {
    const lines = await ask();
    const wrong = lines.filter((line) => !line.ready && !isReplaced(line, lines));
    const inMotion = wrong.length > 0 && wrong.every((line) => line.silent && hasReadyOne(line, lines));
    if (!inMotion || waitedMs >= patienceMs) return lines;
    await pause(againMs);
  }
}

/** A process that is told to stop, beside a ready one of the same service: nothing is wrong. */
function isReplaced(line: Line, all: readonly Line[]): boolean {
  return line.reason === stopping && hasReadyOne(line, all);
}

function hasReadyOne({ service }: Line, all: readonly Line[]): boolean {
  const nameOf = (numbered: string) => numbered.replace(/-\d+$/, '');
  return all.some((other) => other.ready && nameOf(other.service) === nameOf(service));
}

async function linesOfAll(session: Session): Promise<Line[]> {
  const lines = (await Promise.all(processes.map((name) => linesOf(session, name)))).flat();
  // One process that is the whole platform answers for each of them.
  return [...new Map(lines.map((line) => [line.service, line])).values()];
}

async function linesOf(session: Session, service: AdminProcess): Promise<Line[]> {
  const instances = await session.status(service);
  return instances.map(({ name, answer }) => {
    if ('reason' in answer) {
      const { reason, answered, refusesToken } = answer;
      const unknown = { version: '', ready: false, since: '', warnings: [] };
      return { service: name, ...unknown, reason, silent: !answered, refusesToken };
    }
    const { version, startedAtMs, notReady, warnings = [] } = answer;
    return {
      // Another one answers where one process is the whole platform.
      service: answer.service === service ? name : answer.service,
      version,
      ready: notReady.length === 0,
      since: time(BigInt(startedAtMs)),
      reason: notReady.join('; '),
      warnings,
      silent: false,
      refusesToken: false,
    };
  });
}
