import { HeldState, type Hello } from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import type { DeviceState } from './content.ts';
import type { Journal } from './journal.ts';
import { fittingHello } from './limits.ts';

/** Fields of the hello that no transaction changes. Each has a default. */
export interface SelfDescription {
  readonly clientVersion?: string;
  readonly hardware?: { macAddressWifi: string; macAddressBluetooth: string; modelIdentifier: string };
}

const heldStates = {
  offered: HeldState.OFFERED,
  started: HeldState.STARTED,
  finished: HeldState.FINISHED,
} as const;

/** Builds the first message of a session. `clockMs`: the uncorrected clock, milliseconds since 1970. */
export function hello(self: SelfDescription, device: DeviceState, journal: Journal, clockMs: number): Hello {
  const { lastReportId, numberedUpTo = lastReportId } = journal;
  return fittingHello({
    protocolVersion: 1,
    clientVersion: self.clientVersion ?? '3.4.0',
    firmwareVersion: device.firmwareVersion,
    apps: [...device.apps],
    languages: [...device.languages],
    hardware: self.hardware ?? {
      macAddressWifi: '02:00:00:00:00:01',
      macAddressBluetooth: '02:00:00:00:00:02',
      modelIdentifier: 'simulator',
    },
    held: [...journal.held].map(([id, held]) => ({
      transactionId: BigInt(id),
      state: heldStates[held.state],
    })),
    activationEpoch: BigInt(journal.activationEpoch),
    clockMs: BigInt(clockMs),
    knowsRevoke: true,
    // Absent while reports have provisional ids, because these reports may get higher ids at the welcome.
    ...(numberedUpTo >= lastReportId && { lastReportId: BigInt(lastReportId) }),
  });
}
