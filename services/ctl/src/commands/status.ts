import type { Warning } from '@headset-cloud/kit/lifecycle.ts';
import type { Command } from 'commander';
import type { AdminProcess } from '../connection.ts';
import { CtlError, exitCodes } from '../exit-codes.ts';
import { table, time } from '../output.ts';
import type { Session } from '../session.ts';

const processes: readonly AdminProcess[] = [
  ...(['gateway', 'devices', 'transactions', 'device-link', 'notifier', 'updates'] as const),
  ...(['connectivity', 'communication', 'billing'] as const),
];

/** What a process says from the signal to stop on (lifecycle.ts). */
const stopping = 'shutting down';

/** One line of the answer. */
interface Line {
  /** Its name, and from its second process on the number: notifier, notifier-2. */
  readonly service: string;
  readonly version: string;
  readonly ready: boolean;
  /** When the process was started, RFC 3339; empty: it cannot be asked. */
  readonly since: string;
  /** Why it is not ready. */
  readonly reason: string;
  /** What it goes on without. */
  readonly warnings: readonly Warning[];
}

/** `status`: every process with its version, whether it is ready, and since when it runs. */
export function addStatus(program: Command, session: Session): void {
  program
    .command('status')
    .description(
      'every process of every service: its version, whether it is ready, since when it runs, and warnings of what it goes on without',
    )
    .action(async () => {
      const lines = (await Promise.all(processes.map((name) => linesOf(session, name)))).flat();
      // One process that is the whole platform answers for each of them.
      const shown = [...new Map(lines.map((line) => [line.service, line])).values()];
      session.terminal.out(
        session.json
          ? `${JSON.stringify({ services: shown }, null, 2)}\n`
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
      if (shown.some((line) => !line.ready && !isReplaced(line, shown))) {
        throw new CtlError(exitCodes.refused, 'Not all services are ready.');
      }
      if (shown.some(({ warnings }) => warnings.length > 0)) {
        throw new CtlError(exitCodes.warnings, 'All services are ready, with warnings.');
      }
    });
}

function reasons({ reason, warnings }: Line): string {
  const texts = warnings.map(({ name, message }) => `warning: ${name}: ${message}`);
  return [reason, ...texts].filter((text) => text !== '').join('; ');
}

/** A process that is told to stop, beside a ready one of the same service: nothing is wrong. */
function isReplaced({ service, reason }: Line, all: readonly Line[]): boolean {
  const nameOf = (numbered: string) => numbered.replace(/-\d+$/, '');
  return reason === stopping && all.some((other) => other.ready && nameOf(other.service) === nameOf(service));
}

async function linesOf(session: Session, service: AdminProcess): Promise<Line[]> {
  const instances = await session.status(service);
  return instances.map(({ name, answer }) => {
    if (typeof answer === 'string') {
      return { service: name, version: '', ready: false, since: '', reason: answer, warnings: [] };
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
    };
  });
}
