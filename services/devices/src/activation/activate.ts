import type { OwedRecord } from '@headset-cloud/kit/audit/record.ts';
import { systemTime, type Time } from '@headset-cloud/kit/clock.ts';
import type { DomainError } from '@headset-cloud/kit/errors.ts';
import { nextActivationStep } from '../domain/activation.ts';
import type { DeviceState } from '../domain/device.ts';
import { refusals } from '../domain/refusals.ts';
import { requireDestination } from '../domain/settings.ts';
import { repeatedActivation } from '../domain/undo.ts';
import { completePending } from './complete.ts';
import type { ActivationDependencies } from './dependencies.ts';
import { findRoom } from './room.ts';
import { settleTake } from './slots.ts';

export interface ActivateRequest {
  readonly applicationId: string;
  readonly deviceId: string;
  /** Drawn for this call; a repeat has the same id. */
  readonly transactionId: number;
  readonly clientId: string;
  /** Sealed, base64; absent: none was given. */
  readonly clientSecret?: string;
  /** Stored with the change. */
  readonly record: OwedRecord;
}

/** How long a call waits for another one's first activation of the same device, or with the last slot. */
const waitMs = 2000;
/** Most steps of one call; each step that is not a wait makes progress. */
const mostSteps = 200;
const pollMs = 20;

/**
 * Activates a device (specification API 7, rule C13, rules A7 and B8); resolves when its transaction
 * exists. A first activation has four steps: the device's document takes the intent; the contract's
 * document counts a slot as taken; the device's document turns both into the activation; then the pending
 * work is done, that is, the transaction is created and the take confirmed (ADR 0011). After a crash at any
 * point the intent expires and its slot is freed, or the sweeper does the pending work. Only the holder of
 * the intent can activate. So a slot is counted before its activation begins and freed after it ends,
 * whatever the clocks say.
 *
 * Throws the refusals of the API, `conflict` when a later change of the device came first, and
 * `unavailable` while another call activates the device or moves the contract's last slot.
 */
export async function activateDevice(
  deps: ActivationDependencies,
  request: ActivateRequest,
  time: Time = systemTime,
): Promise<void> {
  const { deviceId } = request;
  const giveUpAtMs = time.monotonicNow() + waitMs;
  let checked = false;
  for (let steps = 0; steps < mostSteps; steps += 1) {
    const device = await deps.devices.find(deviceId);
    if (!device) throw refusals.activationLimit();
    const step = nextActivationStep(device, request, deps.clock.now());
    if (!checked && step !== 'done') {
      await requireAllowed(deps, request, device, giveUpAtMs);
      checked = true;
    }
    switch (step) {
      case 'done':
        return completePending(deps, deviceId);
      case 'finish':
        await completePending(deps, deviceId);
        break;
      case 'wait':
        if (time.monotonicNow() > giveUpAtMs) throw refusals.busy();
        await time.sleep(pollMs);
        break;
      case 'abandon':
        if (device.intent) await deps.devices.abandon(deviceId, device.intent, true);
        break;
      case 'intend':
        await deps.devices.intend(deviceId, {
          id: deps.newId(),
          applicationId: request.applicationId,
          transactionId: request.transactionId,
          untilMs: deps.clock.now() + deps.intentMs,
        });
        deps.failpoints('devices.intended');
        break;
      case 'reserve':
        if ((await reserveAndActivate(deps, request, device, giveUpAtMs)) === 'busy') {
          if (time.monotonicNow() > giveUpAtMs) throw refusals.busy();
          await time.sleep(pollMs);
        }
        break;
      case 'again':
        await activateAgain(deps, request, device);
        break;
    }
  }
  throw refusals.busy();
}

/** Checks everything that can refuse an activation before a write, in the order of rule A3. */
async function requireAllowed(
  deps: ActivationDependencies,
  { applicationId, deviceId, clientId }: ActivateRequest,
  device: DeviceState,
  giveUpAtMs: number,
): Promise<void> {
  const [contract, inUse, destination] = await Promise.all([
    deps.contracts.standing(applicationId, deviceId),
    deps.devices.clientIdInUse(clientId, deviceId),
    deps.applications.destination(applicationId),
  ]);
  if (!destination) throw refusals.applicationForbidden();
  const holdsSlot = device.slot?.applicationId === applicationId || contract.taking;
  const needsSlot = !device.activation && !holdsSlot;
  if (!contract.named) throw refusals.activationLimit();
  if (needsSlot && contract.freeSlots <= 0) await requireRoom(deps, applicationId, deviceId, giveUpAtMs);
  if (inUse) throw refusals.clientIdInUse();
  requireDestination(destination);
}

/** Refuses unless there is room, or another call has meanwhile activated the device. */
async function requireRoom(
  deps: ActivationDependencies,
  applicationId: string,
  deviceId: string,
  giveUpAtMs: number,
): Promise<void> {
  const room = await findRoom(deps, applicationId, giveUpAtMs);
  if (room === 'room') return;
  const device = await deps.devices.find(deviceId);
  if (device?.slot?.applicationId !== applicationId) throw refusalOf(room);
}

/** Only a full contract refuses for good. */
function refusalOf(room: 'full' | 'moving'): DomainError {
  return room === 'full' ? refusals.activationLimit() : refusals.slotUnderWay();
}

/**
 * The holder of the intent takes a slot, then activates. Whatever the outcome, the caller reads the device
 * again.
 */
async function reserveAndActivate(
  deps: ActivationDependencies,
  request: ActivateRequest,
  device: DeviceState,
  giveUpAtMs: number,
): Promise<'busy' | undefined> {
  const { applicationId, deviceId, clientId, clientSecret } = request;
  const intent = device.intent;
  if (!intent) return undefined;
  const wanted = { id: deps.newId(), deviceId, intentId: intent.id, atMs: deps.clock.now() };
  const result = await deps.contracts.take(applicationId, wanted);
  if (result === 'busy') return result;
  if (result === 'none') {
    const room = await findRoom(deps, applicationId, giveUpAtMs);
    // Refuses only if no other call with the same intent was faster.
    if (room !== 'room' && (await deps.devices.abandon(deviceId, intent, false))) throw refusalOf(room);
    return undefined;
  }
  deps.failpoints('devices.reserved');
  const activation = {
    applicationId,
    clientId,
    ...(clientSecret !== undefined && { clientSecret }),
    epoch: device.epoch + 1,
    sinceEpoch: device.epoch + 1,
  };
  const { id } = result.take;
  const outcome = await deps.devices.activate(deviceId, intent, activation, id, request.record);
  deps.failpoints('devices.activated');
  if (outcome === 'lost') await settleTake(deps, applicationId, result.take);
  if (outcome !== 'client_id_in_use') return undefined;
  if (await deps.devices.abandon(deviceId, intent, true)) await completePending(deps, deviceId);
  throw refusals.clientIdInUse();
}

/**
 * The same application activates again: the client id is replaced, the slot and the activation epoch stay.
 */
async function activateAgain(
  deps: ActivationDependencies,
  { transactionId, clientId, clientSecret, record }: ActivateRequest,
  device: DeviceState,
): Promise<void> {
  if (!device.activation) return;
  const client = { clientId, ...(clientSecret !== undefined && { clientSecret }) };
  const next = repeatedActivation(device, device.activation, client);
  const outcome = await deps.devices.reactivate(device, transactionId, next, record);
  deps.failpoints('devices.activated');
  if (outcome === 'client_id_in_use') throw refusals.clientIdInUse();
}
