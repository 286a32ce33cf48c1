import type { DescService } from '@bufbuild/protobuf';
import { DomainError } from '@headset-cloud/runtime/errors.ts';
import { bind, type Handlers, type RpcBinding } from '../types.ts';

/** A service with some calls implemented by a test; the others fail with `internal`. */
export function bindSome<S extends DescService>(service: S, played: Partial<Handlers<S>>): RpcBinding {
  const others = service.methods.map(({ localName }) => [
    localName,
    () =>
      Promise.reject(new DomainError('internal', `${service.name}.${localName} is not part of this test.`)),
  ]);
  return bind(service, { ...Object.fromEntries(others), ...played } as Handlers<S>);
}
