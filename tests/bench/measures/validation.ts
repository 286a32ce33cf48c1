import type { StackKind } from '@headset-cloud/demo/stack/stack.ts';
import type { Report } from '../lib/figures.ts';
import type { Settings } from '../lib/settings.ts';
import { startWorker } from '../lib/worker.ts';
import type { Load } from '../load/main.ts';
import type { GatewaySurroundings } from '../surroundings/gateway.ts';

const callers = 16;
/** The one device that the stand-in services know. */
const deviceId = '350000000000006';

/**
 * The share of validation against the contract in the gateway's own time for a call with a body, from its CPU
 * profile: the functions of openapi/validators.ts and their callees, against all time that is not idle. It is
 * the same on both stacks, because the gateway does not depend on them.
 */
export async function measureValidation(kind: StackKind, settings: Settings): Promise<Report> {
  if (kind === 'real') return { figures: [], notes: ['validation: as on the embedded stack.'] };
  const services = startWorker<GatewaySurroundings>('surroundings/gateway.ts');
  const gateway = startWorker<GatewaySurroundings>('surroundings/gateway.ts');
  const load = startWorker<Load>('load/main.ts');
  try {
    const reached = await gateway.call('gateway', { services: await services.call('services', {}) });
    const target = { ...reached, applicationId: 'app-1', deviceIds: [deviceId] };
    const create = () => load.call('create', { target, callers, seconds: settings.seconds });
    await create();
    await gateway.call('profile', {});
    const { done } = await create();
    const { matchedMs, busyMs } = await gateway.call('share', { file: 'gateway/src/openapi/validators' });
    const share = (100 * matchedMs) / busyMs;
    return {
      figures: [
        {
          measure: 'validation of a command, share of the gateway’s time',
          unit: '%',
          ours: share,
          baseline: undefined,
          goal: { atMost: 10 },
        },
      ],
      notes: [
        `validation: ${done} commands, ${((1000 * busyMs) / done).toFixed(0)} µs of the gateway each, ${((1000 * matchedMs) / done).toFixed(1)} µs of them for the contract.`,
      ],
    };
  } finally {
    await gateway.call('stop', {}).catch(() => {});
    await Promise.all([gateway.stop(), services.stop(), load.stop()]);
  }
}
