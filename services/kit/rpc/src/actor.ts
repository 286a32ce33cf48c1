import { AsyncLocalStorage } from 'node:async_hooks';
import { create, type DescMethod, fromBinary, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import { type Actor, ActorSchema } from '@headset-cloud/proto/common/v1/audit_pb.ts';

/** Metadata key that carries an actor between processes. */
export const actorKey = 'actor-bin';

/** The running call: its actor and its rpc. */
interface Scope {
  readonly actor: Actor | undefined;
  readonly method: DescMethod | undefined;
}

const scopes = new AsyncLocalStorage<Scope>();
const encoded = new WeakMap<Actor, Buffer>();

/** Runs `work` for a caller that a listener has authenticated. */
export function withActor<T>(actor: MessageInitShape<typeof ActorSchema>, work: () => T): T {
  return scopes.run({ actor: create(ActorSchema, actor), method: undefined }, work);
}

/** Runs the handler of an rpc; default actor: the actor of the running call. */
export function inCall<T>(method: DescMethod, work: () => T, actor = currentActor()): T {
  return scopes.run({ actor, method }, work);
}

/** Actor of the running call; undefined: none was named. */
export function currentActor(): Actor | undefined {
  return scopes.getStore()?.actor;
}

/** The running rpc: package and method, as in `devices.UpdateSettings`. */
export function currentAction(): string {
  const method = scopes.getStore()?.method;
  return method ? actionOf(method) : '';
}

/** An rpc as audit records name it. */
export function actionOf(method: DescMethod): string {
  return `${method.parent.typeName.split('.')[1]}.${method.name}`;
}

/** The running call's actor for the metadata of a further call. */
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
