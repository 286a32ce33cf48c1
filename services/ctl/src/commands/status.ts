import { setTimeout as delay } from 'node:timers/promises';
import { CliError, exitCodes, refusedError } from '@headset-cloud/cli/exit-codes.ts';
import type { Warning } from '@headset-cloud/runtime/lifecycle.ts';
import type { Command } from 'commander';
import { type AdminProcess, adminProcesses } from '../connection.ts';
import { time } from '../output.ts';
import type { Session } from '../session.ts';

/** Reason that a process reports between its stop signal and its end (lifecycle.ts). */
const stopping = 'shutting down';

/** One process of the answer. */
export interface Line {
  /** Service name, with a number from the second process on: notifier, notifier-2. */
  readonly service: string;
  readonly version: string;
  readonly ready: boolean;
  /** Start time of the process, RFC 3339; empty if the process cannot be asked. */
  readonly since: string;
  /** Why the process is not ready. */
  readonly reason: string;
  /** Dependencies that the process continues without. */
  readonly warnings: readonly Warning[];
  /** True if nothing answered. */
  readonly silent: boolean;
  /** True if the process requires another admin token. */
  readonly refusesToken: boolean;
}

/** `status`. */
export function addStatus(program: Command, session: Session): void {
  program
    .command('status')
    .description(
      'every process of every service: version, readiness, start time, and warnings about degraded dependencies',
    )
    .action(async () => {
      const shown = await settled(() => linesOfAll(session));
      session.show({ services: shown.map(({ silent, refusesToken, ...line }) => line) }, () =>
        session.table(
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
      requireStatus(shown);
      if (shown.some((line) => !line.ready && !isReplaced(line, shown))) {
        throw refusedError('Not all services are ready.');
      }
      if (shown.some(({ warnings }) => warnings.length > 0)) {
        throw new CliError(exitCodes.warnings, 'All services are ready, with warnings.');
      }
    });
}

/** Throws if no process has reported its status: the state of the platform is unknown. */
function requireStatus(shown: readonly Line[]): void {
  // Only a process that reports its status has a start time.
  if (shown.some(({ since }) => since !== '')) return;
  if (shown.some(({ refusesToken }) => refusesToken)) {
    throw new CliError(
      exitCodes.unauthenticated,
      'No process accepts the admin token. Set ADMIN_TOKEN, ADMIN_TOKEN_FILE or --token-file.',
    );
  }
  throw new CliError(
    exitCodes.unreachable,
    'No process can be asked. Start the platform (make up; on Kubernetes check its pods), or give the correct address with --admin URL.',
  );
}

function reasons({ reason, warnings }: Line): string {
  const texts = warnings.map(({ name, message }) => `warning: ${name}: ${message}`);
  return [reason, ...texts].filter((text) => text !== '').join('; ');
}

/** How long, and at which interval, processes that do not answer are asked again; milliseconds. */
const retryForMs = 30_000;
const retryIntervalMs = 1000;

/**
 * Returns the lines when they are stable. DNS still returns deleted pods for some seconds. Therefore all processes are
 * asked again, for up to 30 s, while the only problem is silent processes of services that have a ready process.
 */
export async function settled(
  ask: () => Promise<readonly Line[]>,
  pause: (ms: number) => Promise<unknown> = (ms) => delay(ms),
): Promise<readonly Line[]> {
  for (let waitedMs = 0; ; waitedMs += retryIntervalMs) {
    const lines = await ask();
    const wrong = lines.filter((line) => !line.ready && !isReplaced(line, lines));
    const mayBeDeletedPods =
      wrong.length > 0 && wrong.every((line) => line.silent && hasReadyOne(line, lines));
    if (!mayBeDeletedPods || waitedMs >= retryForMs) return lines;
    await pause(retryIntervalMs);
  }
}

/** True for a stopping process beside a ready process of the same service. This is not a problem. */
function isReplaced(line: Line, all: readonly Line[]): boolean {
  return line.reason === stopping && hasReadyOne(line, all);
}

function hasReadyOne({ service }: Line, all: readonly Line[]): boolean {
  const nameOf = (numbered: string) => numbered.replace(/-\d+$/, '');
  return all.some((other) => other.ready && nameOf(other.service) === nameOf(service));
}

async function linesOfAll(session: Session): Promise<Line[]> {
  const lines = (await Promise.all(adminProcesses.map((name) => linesOf(session, name)))).flat();
  // If one process is the whole platform, it answers for each service.
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
      // If one process is the whole platform, another service's name is returned.
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
