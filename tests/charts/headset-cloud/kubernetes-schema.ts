import { cidr, list, object, type Schema, when } from './schema-parts.ts';

/**
 * Kubernetes' own objects among the values, with its forms of keys and values. The API server drops a key that it does
 * not know, and a selector without its only key selects everything.
 */

const label = '[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?';
const key = (letters: string): string => {
  const part = `[${letters}0-9]([${letters}0-9-]*[${letters}0-9])?`;
  return `^(${part}(\\.${part})*/)?${label}$`;
};
const labelKey = key('a-z');
const labelValue: Schema = { type: 'string', pattern: `^(${label})?$` };

/** By patterns, since Helm names a wrong path where `propertyNames` refuses a key. */
const map = (keys: string, values: Schema): Schema => ({
  type: 'object',
  additionalProperties: false,
  patternProperties: { [keys]: values },
});
export const labels = map(labelKey, labelValue);

/** Their keys may have capitals in the prefix, too; the values are any text. */
export const annotations = map(key('A-Za-z'), { type: 'string' });

const expression: Schema = {
  ...object(
    {
      key: { type: 'string', pattern: labelKey },
      operator: { enum: ['In', 'NotIn', 'Exists', 'DoesNotExist'] },
    },
    { values: list(labelValue) },
  ),
  ...when(
    { properties: { operator: { enum: ['In', 'NotIn'] } } },
    { required: ['values'], properties: { values: { minItems: 1 } } },
    { properties: { values: { maxItems: 0 } } },
  ),
};

/** An empty one, which selects everything, is written `{}`: parts of it that are empty are rather a mistake. */
const selector = object(
  {},
  {
    matchLabels: { ...labels, minProperties: 1 },
    matchExpressions: { ...list(expression), minItems: 1 },
  },
);

/** NetworkPolicyPeers. That ipBlock stands alone, and has its exceptions within it, the chart judges, with a text. */
export const peers = list({
  ...object(
    {},
    {
      ipBlock: object({ cidr }, { except: list(cidr) }),
      namespaceSelector: selector,
      podSelector: selector,
    },
  ),
  minProperties: 1,
});

const exists = { operator: { const: 'Exists' } };

export const tolerations = list({
  ...object(
    {},
    {
      key: { type: 'string', pattern: labelKey },
      operator: { enum: ['Exists', 'Equal'] },
      value: labelValue,
      effect: { enum: ['NoSchedule', 'PreferNoSchedule', 'NoExecute'] },
      tolerationSeconds: { type: 'integer' },
    },
  ),
  dependencies: {
    tolerationSeconds: { required: ['effect'], properties: { effect: { const: 'NoExecute' } } },
  },
  allOf: [
    // Without a key it is every taint.
    when({ not: { required: ['key'] } }, { required: ['operator'], properties: exists }),
    when({ required: ['operator'], properties: exists }, { properties: { value: { maxLength: 0 } } }),
  ],
});
