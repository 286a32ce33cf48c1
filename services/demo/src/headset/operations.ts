import { toJson } from '@bufbuild/protobuf';
import {
  ApnSchema,
  type Command,
  LaunchTypeSchema,
  type Offer,
  type Operation,
  WifiNetworkSchema,
} from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import { isOlder } from '@headset-cloud/rules/version.ts';
import { mustErase } from './activations.ts';
import type { Behaviour } from './behaviour.ts';
import { connectivity } from './connectivity.ts';
import { type DeviceState, type InstalledApp, languageInUse } from './content.ts';
import type { Device } from './device.ts';
import type { Effects } from './effects.ts';
import { extrasError, receivedExtras } from './extras.ts';
import type { Journal } from './journal.ts';
import type { Outcome } from './stored-types.ts';

/** A call of this package never returns, so that a test can kill the headset during the call. */
export const endlessPackage = 'com.example.conformance.endless';

/** The outcome of an operation. `state`: the headset's state after the operation; absent if it does not change. */
interface OperationOutcome extends Outcome {
  readonly state?: DeviceState;
}

/** The parts of a headset that its operations use. */
export interface OperationParts {
  readonly journal: Journal;
  readonly behaviour: Behaviour;
  readonly device: Device;
  readonly effects: Effects;
}

/** Returns why a started transaction must fail without an effect; undefined if it may continue. */
export function refusal(offer: Offer, { journal, behaviour, device }: OperationParts): string | undefined {
  const kind = offer.operation?.kind ?? { case: undefined };
  // Rule A7; protocol page, "Activations". An old deactivation succeeds without an effect, see `operate`.
  const isOld = Number(offer.activationEpoch) < journal.activationEpoch;
  if (isOld && kind.case !== 'deactivate') {
    return 'The transaction belongs to an earlier activation.';
  }
  if (kind.case === undefined) return 'This client does not know the operation.';
  // Rule A13: an earlier transaction may have installed a newer firmware.
  if (kind.case === 'updateFirmware' && isOlder(kind.value.version, device.state.firmwareVersion)) {
    return 'A newer firmware is installed.';
  }
  return behaviour.succeeds ? undefined : 'failed';
}

/**
 * Performs the operation of a started transaction and returns the outcome. An operation that was performed before is
 * not repeated. An operation of an earlier activation has no effect. The file of an update must be loaded before.
 */
export function operate(offer: Offer, parts: OperationParts): Outcome & { readonly tookPlace: boolean } {
  const { journal, device, effects } = parts;
  const effect = { transactionId: Number(offer.transactionId), operation: offer.operationId };
  // The process may have died after the device change and before its effect line.
  const recorded = device.outcomeOf(effect.transactionId);
  if (recorded) return { ...recorded, tookPlace: effects.apply(effect) };
  const kind = offer.operation?.kind ?? { case: undefined };
  if (effects.isInterrupted(effect.transactionId)) {
    return { success: false, message: 'The call was interrupted.', tookPlace: false };
  }
  if (effects.has(effect.transactionId)) {
    const { state: _, ...outcome } = perform(kind, parts);
    return { ...outcome, success: true, tookPlace: false };
  }
  const reason = refusal(offer, parts);
  if (reason !== undefined) return { ...failure(kind, reason), tookPlace: false };
  if (kind.case === 'deactivate' && Number(offer.activationEpoch) < journal.activationEpoch) {
    return { success: true, message: 'deactivated', tookPlace: false };
  }
  const { state, ...outcome } = perform(kind, parts);
  if (!outcome.success) return { ...outcome, tookPlace: false };
  if (state) device.change(state, effect.transactionId, outcome);
  const extras = receivedExtras(offer);
  return { ...outcome, tookPlace: effects.apply({ ...effect, ...(extras && { extras }) }) };
}

/**
 * Begins the call of an app of `endlessPackage`: it takes effect now and never returns. Returns false for other
 * operations and for a call that must fail.
 */
export function beginsEndlessCall(offer: Offer, parts: OperationParts): boolean {
  const { effects } = parts;
  const kind = offer.operation?.kind;
  if (kind?.case !== 'command' || kind.value.package !== endlessPackage) return false;
  if (refusal(offer, parts) !== undefined || !perform(kind, parts).success) return false;
  const extras = receivedExtras(offer);
  const effect = { transactionId: Number(offer.transactionId), operation: offer.operationId };
  effects.apply({ ...effect, ...(extras && { extras }), returned: false });
  return true;
}

/** A failed operation. The result of a connectivity operation also has a status code. */
function failure(kind: Operation['kind'], message: string): Outcome {
  const isConnectivity = /connectivity|pairing/i.test(kind.case ?? '');
  return {
    ...{ success: false, message },
    ...(isConnectivity && { connectivity: { statusCode: 500, devices: [], networks: [], state: 0 } }),
  };
}

function perform(kind: Operation['kind'], { journal, device }: OperationParts): OperationOutcome {
  const { state } = device;
  const done = (message: string, after?: Partial<DeviceState>): OperationOutcome => ({
    ...{ success: true, message },
    ...(after && { state: { ...state, ...after } }),
  });
  switch (kind.case) {
    case 'activate': {
      const erases = mustErase(journal.activation, kind.value.applicationId);
      return done('activated', erases ? device.withoutApplicationData() : undefined);
    }
    case 'deactivate':
      return done(
        'deactivated',
        mustErase(journal.activation, '') ? device.withoutApplicationData() : undefined,
      );
    case 'command':
      return callError(kind.value) ?? done('called');
    case 'applyApns':
      return done('applied', {
        apns: kind.value.apns.map((apn) => toJson(ApnSchema, apn) as Record<string, unknown>),
      });
    case 'applyWifi':
      return done('applied', {
        wifi: kind.value.networks.map(
          (network) => toJson(WifiNetworkSchema, network) as unknown as DeviceState['wifi'][number],
        ),
      });
    case 'applyLanguages': {
      const languages = [...kind.value.languages];
      return done(`applied: ${languageInUse({ languages })}`, { languages });
    }
    case 'applyLauncherKeys':
      return done('applied', { launcherKeys: kind.value.configJson });
    case 'updateApp':
      return done('installed', { apps: installed(state.apps, kind.value.package, kind.value.version) });
    case 'updateFirmware':
      return done('installed', { firmwareVersion: kind.value.version });
    case 'uninstall': {
      const apps = state.apps.filter((app) => app.package !== kind.value.package);
      if (apps.length === state.apps.length) {
        return { success: false, message: 'The package is not installed.' };
      }
      return done('uninstall success.', { apps });
    }
    case 'reset':
      return done('reset', device.afterReset());
    default: {
      const result = connectivity(kind, state);
      return result
        ? { ...result, success: result.connectivity.statusCode === 200 }
        : { success: false, message: 'This client does not know the operation.' };
    }
  }
}

/** Returns the failure if an app cannot be called, otherwise undefined. */
function callError(command: Command): Outcome | undefined {
  const message = LaunchTypeSchema.value[command.launchType]
    ? extrasError(command)
    : 'This client does not know the launch type.';
  return message === undefined ? undefined : { success: false, message };
}

function installed(apps: readonly InstalledApp[], name: string, version: string): InstalledApp[] {
  return [...apps.filter((app) => app.package !== name), { package: name, version }];
}
