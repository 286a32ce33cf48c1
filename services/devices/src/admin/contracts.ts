import { DomainError } from '@headset-cloud/runtime/errors.ts';
import { requireLimits } from '../domain/limits.ts';
import { pageSize, requireActivationLimit, requireContractDevices } from '../domain/provisioning.ts';
import type { AdminDependencies, AdminHandlers } from './dependencies.ts';

/** Maximum IMEIs in an answer. A contract may name more than a message can contain. */
const devicesShown = 1000;

/** Contracts: the number of devices that an application may activate at once, which devices, and its limits. */
export function contractHandlers({
  applications,
  contracts,
  slots,
  registry,
  audit,
}: AdminDependencies): Pick<AdminHandlers, 'putContract' | 'getContract' | 'listContractDevices'> {
  async function show(applicationId: string) {
    const { activationLimit, limits } = await contractOf(applicationId);
    const activated = await slots.inUse(applicationId);
    const deviceIds = await contracts.devices(applicationId, '', devicesShown);
    return { contract: { applicationId, activationLimit, deviceIds, activated, limits } };
  }

  async function contractOf(applicationId: string) {
    const found = await contracts.get(applicationId);
    if (found) return found;
    throw withoutContract(applicationId);
  }

  return {
    async putContract({ applicationId, addDeviceIds, removeDeviceIds, ...more }) {
      const activationLimit = more.keepActivationLimit
        ? undefined
        : requireActivationLimit(more.activationLimit);
      const limits = requireLimits(more.limits ?? {});
      requireContractDevices(addDeviceIds, removeDeviceIds);
      if (!(await applications.get(applicationId))) {
        throw new DomainError(
          'not_found',
          `The application ${applicationId} does not exist. Create it first.`,
        );
      }
      const { defaultLimits } = more;
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
      if (!put) throw withoutContract(applicationId);
      // After the contract, whose write includes the audit record. A contract may name devices before their keys are
      // registered. If a crash leaves out a device, the operator's repeat registers it.
      await registry.register(addDeviceIds);
      return show(applicationId);
    },
    getContract: ({ applicationId }) => show(applicationId),
    async listContractDevices({ applicationId, afterDeviceId, limit }) {
      const most = pageSize(limit);
      await contractOf(applicationId);
      return { deviceIds: await contracts.devices(applicationId, afterDeviceId, most) };
    },
  };
}

function withoutContract(applicationId: string): DomainError {
  return new DomainError(
    'not_found',
    `The application ${applicationId} has no contract. Put a contract with a limit first: ctl contracts put ${applicationId} --limit 10`,
  );
}
