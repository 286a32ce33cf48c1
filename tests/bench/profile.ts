import { readFileSync } from 'node:fs';
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { root } from '@headset-cloud/demo/stack/process.ts';

/**
 * Analyses a CPU profile: `node tests/bench/profile.ts FILE.cpuprofile [lines]` prints the functions and
 * modules with the most own time, and with the most time including their callees. Shares are relative to the
 * time that was not idle. Profiles come from
 * `BENCH_PROFILE=dir node tests/bench/main.ts …`.
 */
interface Profile {
  readonly nodes: readonly {
    readonly id: number;
    readonly callFrame: {
      readonly functionName: string;
      readonly url: string;
      readonly lineNumber: number;
    };
    readonly children?: readonly number[];
  }[];
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
}

const [file = '', lines = '25'] = process.argv.slice(2);
const profile = JSON.parse(readFileSync(file, 'utf8')) as Profile;
const nodes = new Map(profile.nodes.map((node) => [node.id, node]));
const ownUs = new Map<number, number>();
profile.samples.forEach((id, i) => {
  ownUs.set(id, (ownUs.get(id) ?? 0) + (profile.timeDeltas[i] ?? 0));
});

type Node = Profile['nodes'][number];

function moduleOf({ callFrame: { url, functionName } }: Node): string {
  if (url === '') return functionName.startsWith('(') ? functionName : '(native)';
  if (url.startsWith('node:')) return url;
  const path = url.startsWith('file:') ? relative(root, fileURLToPath(url)) : url;
  const inPackage = /node_modules\/((?:@[^/]+\/)?[^/]+)(?!.*node_modules)/.exec(path);
  return inPackage ? `npm ${inPackage[1]}` : path;
}

function functionOf(node: Node): string {
  const { functionName, url, lineNumber } = node.callFrame;
  const name = functionName || '(anonymous)';
  if (url === '') return name;
  const path = url.startsWith('file:') ? relative(root, fileURLToPath(url)) : url;
  return `${name}  ${path.replace(/^.*node_modules\//, '')}:${lineNumber + 1}`;
}

/** Sums by name; with `inclusive` the time of callees counts too, once for each name in a stack. */
function sums(nameOf: (node: Node) => string, inclusive: boolean): Map<string, number> {
  const total = new Map<string, number>();
  const walk = (id: number, above: ReadonlySet<string>): number => {
    const node = nodes.get(id) as Node;
    const name = nameOf(node);
    const isNew = !above.has(name);
    const inside = isNew ? new Set([...above, name]) : above;
    let us = ownUs.get(id) ?? 0;
    if (!inclusive) total.set(name, (total.get(name) ?? 0) + us);
    for (const child of node.children ?? []) us += walk(child, inside);
    if (inclusive && isNew) total.set(name, (total.get(name) ?? 0) + us);
    return us;
  };
  walk(profile.nodes[0]?.id ?? 1, new Set());
  return total;
}

const busyUs = [...ownUs]
  .filter(([id]) => nodes.get(id)?.callFrame.functionName !== '(idle)')
  .reduce((sum, [, us]) => sum + us, 0);

function print(title: string, total: Map<string, number>): void {
  process.stdout.write(`\n${title} (busy ${(busyUs / 1e6).toFixed(1)} s)\n`);
  [...total]
    .filter(([name]) => name !== '(idle)' && name !== '(root)')
    .sort((a, b) => b[1] - a[1])
    .slice(0, Number(lines))
    .forEach(([name, us]) => {
      process.stdout.write(`${((us / busyUs) * 100).toFixed(1).padStart(6)} %  ${name}\n`);
    });
}

print('Modules, own time', sums(moduleOf, false));
print('Functions, own time', sums(functionOf, false));
print('Modules, including callees', sums(moduleOf, true));
print('Functions, including callees', sums(functionOf, true));
