import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type DescMethod, type DescService, getOption } from '@bufbuild/protobuf';
import { type Component, ComponentSchema, callers } from '@headset-cloud/proto/common/v1/callers_pb.ts';
import { serviceNames } from '@headset-cloud/runtime/service-names.ts';
import { root, sources } from './imports.ts';

/** A component of the platform, or `ctl`: an operator. */
export type Caller = (typeof serviceNames)[number] | 'gateway' | 'ctl';

/** Components that call others. */
export const components: readonly Caller[] = ['gateway', ...serviceNames, 'ctl'];

/** The way that a call takes: to a service's gRPC port, or to its admin port. */
export type Listener = 'grpc' | 'admin';

/** One connection that the platform needs between its components. */
export interface Edge {
  readonly from: Caller;
  readonly to: string;
  readonly listener: Listener;
}

/** Services for clients outside the platform, which have no callers in it. */
const forOutside: readonly string[] = ['headset.device_link.v1.HeadsetLinkService'];

/** All calls inside the platform, as the protos define them. */
export async function methodsOfProtos(): Promise<DescMethod[]> {
  const files = globSync('proto/gen/**/*_pb.ts', { cwd: root }).sort();
  const modules = await Promise.all(files.map((file) => import(pathToFileURL(join(root, file)).href)));
  return modules
    .flatMap((module) => Object.values(module as Record<string, unknown>))
    .filter((it): it is DescService => (it as { kind?: unknown } | undefined)?.kind === 'service')
    .filter(({ typeName }) => !forOutside.includes(typeName))
    .flatMap(({ methods }) => methods);
}

/** The permitted callers of a method, as declared in its proto. */
export function namedCallers(method: DescMethod): Caller[] {
  const nameOf = (one: Component) => ComponentSchema.value[one]?.name ?? 'unknown';
  return getOption(method, callers).map(
    (one) =>
      nameOf(one)
        .replace(/^COMPONENT_/, '')
        .toLowerCase()
        .replaceAll('_', '-') as Caller,
  );
}

/** The sources of a component, without its tests. */
export type Sources = Readonly<Record<string, readonly string[]>>;

export function sourcesOfComponents(): Sources {
  const folder = (name: Caller) => (name === 'gateway' ? 'gateway/src' : `services/${name}/src`);
  return Object.fromEntries(
    components.map((name) => [
      name,
      sources(folder(name))
        .filter((file) => !file.endsWith('.test.ts') && !file.includes('/testing/'))
        .map((file) => readFileSync(join(root, file), 'utf8')),
    ]),
  );
}

/**
 * The components that call a method in the code: a component's sources create a client of the service, and contain the
 * method's name as a call. A client is created where the service's description is an argument of any function but
 * `bind`.
 */
export function actualCallers(method: DescMethod, of: Sources): Caller[] {
  const client = new RegExp(`(?<!\\bbind)[(,]\\s*${method.parent.name}\\b`);
  const call = new RegExp(`\\.${method.localName}\\b`);
  return components.filter((name) => {
    // Imports name the service, too.
    const texts = (of[name] ?? []).map((text) => text.replaceAll(/^import [^;]*;$/gm, ''));
    return texts.some((text) => client.test(text)) && texts.some((text) => call.test(text));
  });
}

/** Who serves a call: the component that binds its service; all services, if the kit does it for them. */
function servers(method: DescMethod, of: Sources): readonly string[] {
  const bound = new RegExp(`\\bbind\\(\\s*${method.parent.name}\\b`);
  const own = [...serviceNames, 'gateway' as const].filter((name) =>
    of[name]?.some((text) => bound.test(text)),
  );
  return own.length > 0 ? own : serviceNames;
}

/** The connections that the named callers need, each once, in order: what network policies must let through. */
export async function edges(): Promise<Edge[]> {
  const of = sourcesOfComponents();
  const found = (await methodsOfProtos()).flatMap((method) => {
    const listener: Listener = method.parent.file.name.endsWith('/admin') ? 'admin' : 'grpc';
    return namedCallers(method).flatMap((from) => servers(method, of).map((to) => ({ from, to, listener })));
  });
  const text = ({ from, to, listener }: Edge) => `${from} ${to} ${listener}`;
  return [...new Map(found.map((edge) => [text(edge), edge])).values()].sort((a, b) =>
    text(a).localeCompare(text(b)),
  );
}
