import { DomainError } from '@headset-cloud/kit/errors.ts';
import { requireActivationLimit, requireContractDevices } from '../domain/provisioning.ts';
import type { AdminDependencies, AdminHandlers } from './dependencies.ts';

/** Contracts: how many devices an application may have activated at once, and which. */
export function contractHandlers({
  applications,
  contracts,
  registry,
  clock,
}: AdminDependencies): Pick<AdminHandlers, 'putContract' | 'getContract'> {
  async function show(applicationId: string) {
    const found = await contracts.get(applicationId);
    if (!found) {
      throw new DomainError('not_found', `The application ${applicationId} has no contract. Put one first.`);
    }
    const { activationLimit, slotsInUse, deviceIds } = found;
    return {
      contract: { applicationId, activationLimit, deviceIds: [...deviceIds], activated: slotsInUse },
    };
  }

  return {
    async putContract({ applicationId, activationLimit, addDeviceIds, removeDeviceIds }) {
      requireActivationLimit(activationLimit);
      requireContractDevices(addDeviceIds, removeDeviceIds);
      if (!(await applications.get(applicationId))) {
        throw new DomainError(
          'not_found',
          `The application ${applicationId} does not exist. Create it first.`,
        );
      }
      // A contract may name devices before their keys are registered.
      await registry.register(addDeviceIds);
      const change = { activationLimit, add: addDeviceIds, remove: removeDeviceIds };
      await contracts.put(applicationId, change, clock.now());
      return show(applicationId);
    },
    getContract: ({ applicationId }) => show(applicationId),
  };
}
