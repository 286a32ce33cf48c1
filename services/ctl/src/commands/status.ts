import type { Command } from 'commander';
import type { AdminProcess } from '../connection.ts';
import { CtlError, exitCodes } from '../exit-codes.ts';
import { table, time } from '../output.ts';
import type { Session } from '../session.ts';

const processes: readonly AdminProcess[] = [
  ...(['gateway', 'devices', 'transactions', 'device-link', 'notifier', 'updates'] as const),
  ...(['connectivity', 'communication', 'billing'] as const),
];

/** One line of the answer. */
interface Line {
  readonly service: string;
  readonly version: string;
  readonly ready: boolean;
  /** When the process was started, RFC 3339; empty: it cannot be asked. */
  readonly since: string;
  /** Why it is not ready. */
  readonly reason: string;
}

/** `status`: every process with its version, whether it is ready, and since when it runs. */
export function addStatus(program: Command, session: Session): void {
  program
    .command('status')
    .description('every service: its version, whether it is ready, since when it runs')
    .action(async () => {
      const lines = await Promise.all(processes.map((name) => lineOf(session, name)));
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
                ['REASON', (line) => line.reason],
              ],
              'No services.',
            ),
      );
      if (shown.some(({ ready }) => !ready)) {
        throw new CtlError(exitCodes.refused, 'Not all services are ready.');
      }
    });
}

async function lineOf(session: Session, name: AdminProcess): Promise<Line> {
  const answer = await session.status(name);
  if (typeof answer === 'string') {
    return { service: name, version: '', ready: false, since: '', reason: answer };
  }
  const { service, version, startedAtMs, notReady } = answer;
  const since = time(BigInt(startedAtMs));
  return { service, version, ready: notReady.length === 0, since, reason: notReady.join('; ') };
}
