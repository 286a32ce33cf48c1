import type { DescService } from '@bufbuild/protobuf';
import { DomainError } from '../errors.ts';
import { bind, type Handlers, type RpcBinding } from '../rpc/types.ts';

/** The time `ms` before now, by the machine's wall clock; milliseconds since 1970. For test data only. */
export function ago(ms: number): number {
  return Date.now() - ms;
}

/** A service of which a test plays some calls; the others fail with `internal`. */
export function bindSome<S extends DescService>(service: S, played: Partial<Handlers<S>>): RpcBinding {
  const others = service.methods.map(({ localName }) => [
    localName,
    () =>
      Promise.reject(new DomainError('internal', `${service.name}.${localName} is not part of this test.`)),
  ]);
  return bind(service, { ...Object.fromEntries(others), ...played } as Handlers<S>);
}
