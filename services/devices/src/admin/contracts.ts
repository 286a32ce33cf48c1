import { DomainError } from '@headset-cloud/runtime/errors.ts';
import { requireLimits } from '../domain/limits.ts';
import { pageSize, requireActivationLimit, requireContractDevices } from '../domain/provisioning.ts';
import type { AdminDependencies, AdminHandlers } from './dependencies.ts';

/** Maximum IMEIs of a contract in one answer, because a contract may contain more IMEIs than a message can. */
const devicesShown = 1000;

/** Contracts: which devices an application may activate, how many at the same time, and the limits of its calls. */
export function contractHandlers({
  applications,
  contracts,
  slots,
  registry,
  audit,
}: AdminDependencies): Pick<AdminHandlers, 'putContract' | 'getContract' | 'listContractDevices'> {
  async function contractMessage(applicationId: string) {
    const { activationLimit, limits } = await contractOf(applicationId);
    const activated = await slots.inUse(applicationId);
    const deviceIds = await contracts.devices(applicationId, '', devicesShown);
    return { contract: { applicationId, activationLimit, deviceIds, activated, limits } };
  }

  async function contractOf(applicationId: string) {
    const found = await contracts.get(applicationId);
    if (found) return found;
    throw noContract(applicationId);
  }

  return {
    async putContract({ applicationId, addDeviceIds, removeDeviceIds, ...request }) {
      const activationLimit = request.keepActivationLimit
        ? undefined
        : requireActivationLimit(request.activationLimit);
      const limits = requireLimits(request.limits ?? {});
      requireContractDevices(addDeviceIds, removeDeviceIds);
      if (!(await applications.get(applicationId))) {
        throw new DomainError(
          'not_found',
          `The application ${applicationId} does not exist. Create it first.`,
        );
      }
      const { defaultLimits } = request;
      const change = { activationLimit, add: addDeviceIds, remove: removeDeviceIds, limits, defaultLimits };
      const fields = [
        ...(activationLimit === undefined ? [] : ['activationLimit']),
        ...(addDeviceIds.length > 0 ? ['addDeviceIds'] : []),
        ...(removeDeviceIds.length > 0 ? ['removeDeviceIds'] : []),
        ...Object.keys(limits).map((name) => `limits.${name}`),
        ...(defaultLimits ? ['defaultLimits'] : []),
      ];
      const put = await audit.change({ applicationId, fields }, (record) =>
        contracts.put(applicationId, change, record),
      );
      if (!put) throw noContract(applicationId);
      // Registers the devices after the contract, because the contract's write includes the audit record. A contract
      // may contain devices before their keys are registered. If a crash prevents this registration, the operator
      // repeats the command.
      await registry.register(addDeviceIds);
      return contractMessage(applicationId);
    },
    getContract: ({ applicationId }) => contractMessage(applicationId),
    async listContractDevices({ applicationId, afterDeviceId, limit }) {
      const size = pageSize(limit);
      await contractOf(applicationId);
      return { deviceIds: await contracts.devices(applicationId, afterDeviceId, size) };
    },
  };
}

function noContract(applicationId: string): DomainError {
  return new DomainError(
    'not_found',
    `The application ${applicationId} has no contract. Put a contract with a limit first: ctl contracts put ${applicationId} --limit 10`,
  );
}
