import { AsyncLocalStorage } from 'node:async_hooks';
import { create, type DescMethod, fromBinary, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import { type Actor, ActorSchema } from '@headset-cloud/proto/common/v1/audit_pb.ts';

/** Metadata key that carries an actor between processes. */
export const actorKey = 'actor-bin';

/** The running call: its actor and its RPC. */
interface Scope {
  readonly actor: Actor | undefined;
  readonly method: DescMethod | undefined;
}

const scopes = new AsyncLocalStorage<Scope>();
/** Cache of encoded actors. */
const encoded = new WeakMap<Actor, Buffer>();

/** Runs `work` for a caller that a listener has authenticated. */
export function withActor<T>(actor: MessageInitShape<typeof ActorSchema>, work: () => T): T {
  return scopes.run({ actor: create(ActorSchema, actor), method: undefined }, work);
}

/** Runs the handler of an RPC for an actor; default: the actor of the running call. */
export function inCall<T>(method: DescMethod, work: () => T, actor = currentActor()): T {
  return scopes.run({ actor, method }, work);
}

/** Actor of the running call; undefined: the call has none. */
export function currentActor(): Actor | undefined {
  return scopes.getStore()?.actor;
}

/** Package and method of the running RPC, for example `devices.UpdateSettings`; empty outside of an RPC. */
export function currentAction(): string {
  const method = scopes.getStore()?.method;
  return method ? actionOf(method) : '';
}

/** The name of an RPC in audit records. */
export function actionOf(method: DescMethod): string {
  return `${method.parent.typeName.split('.')[1]}.${method.name}`;
}

/** The actor of the running call, encoded for the metadata of an outgoing call. */
export function actorToSend(): Buffer | undefined {
  const actor = currentActor();
  if (!actor) return undefined;
  let bytes = encoded.get(actor);
  if (!bytes) {
    bytes = Buffer.from(toBinary(ActorSchema, actor));
    encoded.set(actor, bytes);
  }
  return bytes;
}

/** The actor in a call's metadata; undefined: none, or an invalid one. */
export function actorReceived(value: Buffer | string | undefined): Actor | undefined {
  if (!Buffer.isBuffer(value)) return undefined;
  try {
    return fromBinary(ActorSchema, value);
  } catch {
    return undefined;
  }
}
