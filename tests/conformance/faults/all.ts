import type { HeadsetOptions } from '@headset-cloud/demo/headset/headset.ts';
import { type Fault, faultyHeadset } from './fault.ts';
import { reportFaults } from './reports.ts';
import { sessionFaults } from './session.ts';
import { transactionFaults } from './transactions.ts';
import { transferFaults } from './transfers.ts';

/** Faults by name. */
export const faults = { ...sessionFaults, ...transactionFaults, ...reportFaults, ...transferFaults };
export type FaultName = keyof typeof faults;

/** Creates the reference client with a named fault. Throws an Error for an unknown name. */
export function headsetWith(name: string, options: HeadsetOptions) {
  const fault: Fault | (() => Fault) | undefined = faults[name as FaultName];
  if (!fault) throw new Error(`no fault is named ${name}`);
  return faultyHeadset(options, [typeof fault === 'function' ? fault() : fault]);
}
