import { cidr, list, object, type Schema, when } from './schema-parts.ts';

/**
 * Kubernetes' own objects among the values, with its patterns of keys and values. The API server drops unknown keys,
 * and a selector that lost its only key would select everything.
 */

const label = '[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?';
const key = (letters: string): string => {
  const part = `[${letters}0-9]([${letters}0-9-]*[${letters}0-9])?`;
  return `^(${part}(\\.${part})*/)?${label}$`;
};
const labelKey = key('a-z');
const labelValue: Schema = { type: 'string', pattern: `^(${label})?$` };

/** Uses `patternProperties`, because Helm reports a wrong path for keys that `propertyNames` rejects. */
const map = (keys: string, values: Schema): Schema => ({
  type: 'object',
  additionalProperties: false,
  patternProperties: { [keys]: values },
});
export const labels = map(labelKey, labelValue);

/** Keys may have upper-case letters in the prefix; the values are any text. */
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

/** An empty selector, which selects everything, is written `{}`: empty parts are probably a mistake. */
const selector = object(
  {},
  {
    matchLabels: { ...labels, minProperties: 1 },
    matchExpressions: { ...list(expression), minItems: 1 },
  },
);

/** NetworkPolicyPeers. The chart checks, with a message, that ipBlock is alone and contains its exceptions. */
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
    // Without a key it matches every taint.
    when({ not: { required: ['key'] } }, { required: ['operator'], properties: exists }),
    when({ required: ['operator'], properties: exists }, { properties: { value: { maxLength: 0 } } }),
  ],
});
