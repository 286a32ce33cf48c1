import { type DescMethod, getOption } from '@bufbuild/protobuf';
import { type Component, ComponentSchema, callers } from '@headset-cloud/proto/common/v1/callers_pb.ts';
import type { ServiceName } from '@headset-cloud/runtime/service-names.ts';

/** A component that proves its identity by a certificate: a service, or the gateway. */
export type Peer = ServiceName | 'gateway';

/** The DNS name in a component's certificate, for example device-link.headset-cloud.internal. */
export function identityOf(peer: Peer, domain: string): string {
  return `${peer}.${domain}`;
}

/** The components that a certificate names: the DNS names of its subjectAltName in this domain. */
export function peersNamed(subjectAltName: string | undefined, domain: string): string[] {
  const end = `.${domain}`;
  return (subjectAltName ?? '')
    .split(', ')
    .filter((name) => name.startsWith('DNS:') && name.endsWith(end))
    .map((name) => name.slice('DNS:'.length, -end.length));
}

/** The components that may call a method, by the option `callers` of its proto. Operators (ctl) use another port. */
export function callersOf(method: DescMethod): ReadonlySet<string> {
  const nameOf = (one: Component) => ComponentSchema.value[one]?.name ?? '';
  return new Set(
    getOption(method, callers).map((one) =>
      nameOf(one)
        .replace(/^COMPONENT_/, '')
        .toLowerCase()
        .replaceAll('_', '-'),
    ),
  );
}
