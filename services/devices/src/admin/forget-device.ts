import type { DeadLettersOfDevice } from '@headset-cloud/rules/forget/dead-letters.ts';
import { forgetSubject, requireForgetRequest } from '@headset-cloud/rules/forget/request.ts';
import { DomainError } from '@headset-cloud/runtime/errors.ts';
import type { ForgetStore, TracesOfDevice } from '../ports/forget-store.ts';
import type { AdminDependencies, AdminHandlers } from './dependencies.ts';
import { unknownDevice } from './devices.ts';

export interface ForgetDependencies extends Pick<AdminDependencies, 'clock' | 'audit'> {
  readonly forgetting: ForgetStore;
  readonly deadLetters: DeadLettersOfDevice;
}

/** Removes personal data of a device that no application has activated (ADR 0047). */
export function forgetHandler({
  forgetting,
  deadLetters,
  clock,
  audit,
}: ForgetDependencies): Pick<AdminHandlers, 'forgetDevice'> {
  return {
    async forgetDevice(request) {
      requireForgetRequest(request);
      const { deviceId, dryRun } = request;
      const traces = await forgetting.traces(deviceId);
      if (!traces) throw unknownDevice(deviceId);
      if (traces.applicationId !== undefined || traces.unsettled) throw inUse(deviceId, traces);
      if (dryRun)
        return { forgotten: counts(traces, { removed: await deadLetters.count(deviceId), left: 0 }) };
      const forgotten = await audit.change(forgetSubject(request), (record) =>
        forgetting.forget(deviceId, clock.now(), record),
      );
      // The device has changed since it was read.
      if (!forgotten) throw inUse(deviceId, { ...traces, unsettled: true });
      // Removed after the device is marked as forgotten, because later events of a forgotten device are ignored.
      return { forgotten: counts(traces, await deadLetters.remove(deviceId)) };
    },
  };
}

function inUse(deviceId: string, { applicationId }: TracesOfDevice): DomainError {
  if (applicationId !== undefined) {
    return new DomainError(
      'conflict',
      `The application ${applicationId} has the device ${deviceId} activated. Its integrator has to deactivate it first (DELETE …/devices/${deviceId}).`,
    );
  }
  return new DomainError(
    'conflict',
    `A change of the device ${deviceId} is still being published to other services, or another change has just begun. Try again in a minute.`,
  );
}

function counts(
  { keys, reported, past, texts }: TracesOfDevice,
  deadLetters: { readonly removed: number; readonly left: number },
) {
  return [
    { what: 'headset keys', removed: keys },
    { what: 'reported values', removed: reported },
    { what: 'former activations', removed: past },
    { what: 'destination texts', removed: texts },
    { what: 'dead letters', ...deadLetters },
  ];
}
