import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isMap, isScalar, type Pair, parseDocument, type YAMLMap } from 'yaml';
import { chartFolder } from './chart.ts';

export const readmeFile = join(chartFolder, 'README.md');

interface Row {
  readonly path: string;
  readonly fallback: string;
  readonly meaning: string;
}

const oneLine = (comment: string) => comment.replace(/\s*\n\s*/g, ' ').trim();

/** Values with a comment, in order; a comment above a map describes the whole map. */
function rowsOf(map: YAMLMap, path: string): Row[] {
  return map.items.flatMap((item, index) => {
    const { key, value } = item as Pair;
    if (!isScalar(key)) throw new Error(`values.yaml: a key below ${path} is no text.`);
    const here = path ? `${path}.${key.value}` : String(key.value);
    // The library attaches the comment of a map's first key to the map.
    const comment = key.commentBefore ?? (index === 0 ? map.commentBefore : undefined);
    const inner = isMap(value) ? rowsOf(value, here) : [];
    if (!comment) return inner;
    const fallback =
      inner.length > 0 || !isLeaf(value)
        ? ''
        : `\`${JSON.stringify((value as { toJSON(): unknown }).toJSON())}\``;
    return [{ path: here, fallback, meaning: oneLine(comment) }, ...inner];
  });
}

/** True for a value that fits into a table's cell. */
const isLeaf = (value: unknown): boolean =>
  JSON.stringify((value as { toJSON(): unknown }).toJSON()).length <= 80;

interface ComponentValues {
  readonly replicas: number;
  readonly maxReplicas?: number;
  readonly resources: {
    readonly requests: Readonly<Record<string, string>>;
    readonly limits: Readonly<Record<string, string>>;
  };
}

/** The chart's README.md, from the comments of values.yaml. */
export function readmeDocument(): string {
  const document = parseDocument(readFileSync(join(chartFolder, 'values.yaml'), 'utf8'));
  const rows = rowsOf(document.contents as YAMLMap, '').map(
    ({ path, fallback, meaning }) => `| \`${path}\` | ${fallback} | ${meaning} |`,
  );
  const components = Object.entries(document.toJS().components as Record<string, ComponentValues>).map(
    ([name, { replicas, maxReplicas, resources }]) =>
      `| ${name} | ${replicas}${maxReplicas ? ` to ${maxReplicas}` : ''} | ${resources.requests['cpu']}, ${resources.requests['memory']} | ${resources.limits['memory']} |`,
  );
  return `# The chart of the platform

Written by \`make generate\` from the comments in values.yaml: do not edit.

- [values-production.yaml](values-production.yaml) shows what an installation must give; [docs/operations](../../docs/operations/README.md) is the operators' manual.
- [values-trial.yaml](values-trial.yaml) adds small stores and an issuer.
- A wrong value stops the install, with its path. \`templates/_validate.tpl\` checks values that depend on each other, and texts with error-prone forms (\`files/forms.yaml\`). \`values.schema.json\` checks the rest; \`make generate\` writes it from the services’ specifications.
- What each component is and whom it calls stands in [files/components.yaml](files/components.yaml); NetworkPolicies follow from it.
- Checks: \`make test-charts\` ([tests/charts](../../tests/charts)).

## Values

| value | default | meaning |
|---|---|---|
${rows.join('\n')}

## Components

| component | replicas | requests | memory limit |
|---|---|---|---|
${components.join('\n')}
`;
}

if (import.meta.main) writeFileSync(readmeFile, readmeDocument());
