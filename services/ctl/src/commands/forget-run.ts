import { setTimeout as sleep } from 'node:timers/promises';
import { create, type DescService, type MessageInitShape } from '@bufbuild/protobuf';
import type { Client } from '@connectrpc/connect';
import { CliError, refusedError } from '@headset-cloud/cli/exit-codes.ts';
import type { ForgottenSchema } from '@headset-cloud/proto/common/v1/forget_pb.ts';
import { type ForgetReport, ForgetReportSchema } from '@headset-cloud/proto/devices/v1/admin_pb.ts';
import type { Command } from 'commander';
import type { AdminService } from '../connection.ts';
import type { Session } from '../session.ts';

/** Length of a pause, as a multiple of the time of the call before it. The pauses give priority to other work. */
const pausePerWork = 4;
/** Maximum number of checks for callbacks that are still being published, and the time between two checks. */
export const maxChecks = 5;
export const checkIntervalMs = 1000;
/** Minimum time between two lines of progress, because many records take minutes. */
const progressIntervalMs = 10_000;

type Counts = MessageInitShape<typeof ForgottenSchema>;

/** Options of `devices forget` and `applications forget`. */
export interface ForgetOptions {
  readonly reference: string;
  /** Run id: the calls of one run leave one audit record. */
  readonly run: string;
  readonly dryRun: boolean;
  readonly endOpen: boolean;
}

export interface Tally {
  readonly what: string;
  removed: number;
  left: number;
}

interface Failure {
  readonly service: AdminService;
  readonly error: CliError;
}

/** Numbers of removed and remaining items, and failures. */
export interface Outcome {
  readonly counts: ReadonlyMap<AdminService, readonly Tally[]>;
  readonly failures: readonly Failure[];
}

/** Calls of one run, service by service. */
export interface ForgetRun extends Outcome {
  add(service: AdminService, forgotten: readonly Counts[]): void;
  /** Resets the numbers of remaining items before another check. */
  resetLeft(): void;
  /** Makes one call, followed by a pause that is proportional to the time of the call. */
  ask<S extends DescService, A extends { readonly forgotten: readonly Counts[] }>(
    service: AdminService,
    description: S,
    call: (client: Client<S>) => Promise<A>,
  ): Promise<A>;
  /**
   * Runs the work of one service. If the service is unavailable, the failure is recorded and the other services
   * continue.
   */
  part(work: () => Promise<void>): Promise<void>;
}

/** Adds the options of ForgetOptions to a command. `endOpen`: help text of --end-open. */
export function forgetOptions(command: Command, endOpen: string): Command {
  return command
    .requiredOption('--reference <id>', 'id of the deletion request, for the audit record')
    .option('--end-open', endOpen, false)
    .option('--dry-run', 'only count what would be removed', false);
}

export function startForgetRun(session: Session, dryRun: boolean): ForgetRun {
  const counts = new Map<AdminService, Tally[]>();
  const failures: Failure[] = [];
  let currentService: AdminService = 'devices';
  let progressAtMs = performance.now();

  const add: ForgetRun['add'] = (service, forgotten) => {
    const of = counts.get(service) ?? [];
    counts.set(service, of);
    for (const { what = '', removed = 0, left = 0 } of forgotten) {
      const known = of.find((one) => one.what === what);
      if (known) {
        known.removed += removed;
        known.left += left;
      } else of.push({ what, removed, left });
    }
  };
  return {
    ...{ counts, failures, add },
    resetLeft() {
      for (const tally of [...counts.values()].flat()) tally.left = 0;
    },
    async ask(service, description, call) {
      currentService = service;
      const began = performance.now();
      const answer = await session.call(service, description, call);
      add(service, answer.forgotten);
      if (began - progressAtMs > progressIntervalMs) {
        progressAtMs = began;
        const done = [...counts.values()].flat().reduce((sum, { removed }) => sum + removed, 0);
        session.terminal.err(`${service}: ${done} ${dryRun ? 'counted' : 'removed'} so far …\n`);
      }
      if (!dryRun) await sleep(pausePerWork * (performance.now() - began));
      return answer;
    },
    async part(work) {
      try {
        await work();
      } catch (error) {
        if (!(error instanceof CliError)) throw error;
        failures.push({ service: currentService, error });
        add(currentService, []);
      }
    },
  };
}

/** Throws the failure of a service that decides whether the command may begin. */
export function requireCounted({ failures }: Outcome, deciding: readonly AdminService[]): void {
  const failed = failures.find(({ service }) => deciding.includes(service));
  if (failed) throw failed.error;
}

/** Throws if work failed or items remain; `again` is the command to repeat. */
export function requireNoneLeft({ counts, failures }: Outcome, again: string): void {
  const [failed] = failures;
  if (failed) {
    const services = [...new Set(failures.map(({ service }) => service))].join(', ');
    throw new CliError(failed.error.exitCode, `Not done in ${services}: ${failed.error.message} ${again}`);
  }
  const left = [...counts.values()].flat().reduce((sum, one) => sum + one.left, 0);
  if (left === 0) return;
  throw refusedError(
    `${left} are left, because callbacks must still be delivered or events must still be processed. ${again}`,
  );
}

export function showForgotten(
  session: Session,
  of: { readonly deviceId: string } | { readonly applicationId: string },
  dryRun: boolean,
  { counts, failures }: Outcome,
): void {
  const parts = [...counts].map(([service, forgotten]) => ({
    ...{ service, forgotten: [...forgotten] },
    failed: failures.find((one) => one.service === service)?.error.message ?? '',
  }));
  session.showMessage(ForgetReportSchema, create(ForgetReportSchema, { ...of, dryRun, parts }), (report) =>
    describe(session, report),
  );
}

function describe({ table }: Session, { dryRun, parts }: ForgetReport): string {
  const rows = parts.flatMap(({ service, forgotten, failed }) => [
    ...forgotten.map(({ what, removed, left }) => ({
      ...{ service, what },
      ...{ removed: String(removed), left: left === 0 ? '' : String(left) },
    })),
    ...(failed === ''
      ? []
      : [{ service, what: 'not done', removed: '', left: failed.replaceAll('\n', ' ') }]),
  ]);
  return table(
    rows,
    [
      ['SERVICE', (one) => one.service],
      ['WHAT', (one) => one.what],
      [dryRun ? 'WOULD REMOVE' : 'REMOVED', (one) => one.removed],
      ['LEFT', (one) => one.left],
    ],
    'Nothing.',
  );
}
