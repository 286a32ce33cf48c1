import { forgetSubject, requireForgetApplication } from '@headset-cloud/rules/forget/request.ts';
import { DomainError } from '@headset-cloud/runtime/errors.ts';
import type { ApplicationForgetStore, TracesOfApplication } from '../ports/application-forget-store.ts';
import type { AdminDependencies, AdminHandlers } from './dependencies.ts';

export interface ForgetApplicationDependencies extends Pick<AdminDependencies, 'clock' | 'audit'> {
  readonly forgettingApplications: ApplicationForgetStore;
}

/** Removes personal and secret data of an application that has no device (ADR 0047). */
export function applicationForgetHandler({
  forgettingApplications: forgetting,
  clock,
  audit,
}: ForgetApplicationDependencies): Pick<AdminHandlers, 'forgetApplication'> {
  /** Counts the data of an application. Throws if the application cannot be forgotten now. */
  async function tracesOf(applicationId: string): Promise<TracesOfApplication> {
    const traces = await forgetting.traces(applicationId);
    if (!traces) throw new DomainError('not_found', `The application ${applicationId} does not exist.`);
    if (traces.activated > 0) throw hasDevices(applicationId, traces.activated);
    if (traces.unsettled) throw unsettled(applicationId);
    return traces;
  }

  return {
    async forgetApplication(request) {
      requireForgetApplication(request);
      const { applicationId, run, dryRun } = request;
      let traces = await tracesOf(applicationId);
      if (dryRun) return { forgotten: counts(traces, await forgetting.countNamed(applicationId)) };
      // The first call of a run removes all data except IMEIs. Each call of the run removes some IMEIs.
      const first = traces.run !== run;
      for (let tries = 1; first; tries += 1) {
        const { contractChanges } = traces;
        const nowMs = clock.now();
        const forgotten = await audit.change(forgetSubject(request), (record) =>
          forgetting.forget(applicationId, { contractChanges, run, nowMs }, record),
        );
        if (forgotten) break;
        if (tries === maxTries) throw unsettled(applicationId);
        // The contract has changed since it was read: a device may have been activated. Reads and checks again.
        traces = await tracesOf(applicationId);
      }
      const { removed, more } = await forgetting.removeNamed(applicationId);
      return { forgotten: counts(first ? traces : none, removed), more };
    },
  };
}

const maxTries = 5;
const none = { settings: 0, authenticationKeys: 0, names: 0, contracts: 0 };

function hasDevices(applicationId: string, activated: number): DomainError {
  return new DomainError(
    'conflict',
    `The application ${applicationId} has ${activated} devices activated. Its integrator has to deactivate them first (DELETE …/devices/IMEI).`,
  );
}

function unsettled(applicationId: string): DomainError {
  return new DomainError(
    'conflict',
    `A change of a device or of the contract of the application ${applicationId} is still being published to other services, or has just begun. Try again in a minute.`,
  );
}

function counts(
  traces: Pick<TracesOfApplication, 'settings' | 'authenticationKeys' | 'names' | 'contracts'>,
  named: number,
) {
  return [
    { what: 'settings', removed: traces.settings },
    { what: 'authentication keys', removed: traces.authenticationKeys },
    { what: 'name and owner', removed: traces.names },
    { what: 'limits of its contract', removed: traces.contracts },
    { what: 'IMEIs of its contract', removed: named },
  ];
}
