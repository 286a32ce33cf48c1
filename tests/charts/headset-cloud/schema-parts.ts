export type Schema = Readonly<Record<string, unknown>>;

/**
 * An object with the required properties `always` and the optional properties `sometimes`. A required property has a
 * default in values.yaml, so it is missing only if null removed it.
 */
export const object = (always: Record<string, Schema>, sometimes: Record<string, Schema> = {}): Schema => ({
  type: 'object',
  additionalProperties: false,
  ...(Object.keys(always).length > 0 ? { required: Object.keys(always) } : {}),
  properties: { ...always, ...sometimes },
});
export const list = (items: Schema): Schema => ({ type: 'array', items });

/** A rule that applies under a condition. */
export const when = (condition: Schema, is: Schema, otherwise?: Schema): Schema =>
  Object.fromEntries([['if', condition], ['then', is], ...(otherwise ? [['else', otherwise]] : [])]);

const octet = '(25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)';
const ipv4 = `${octet}(\\.${octet}){3}`;

const h = '[0-9a-fA-F]{1,4}';
const upTo = (most: number, part: string) => (most === 1 ? part : `(${part}){1,${most}}`);
/** Each position that `::` may have, and none. */
const ipv6 = [
  `(${h}:){7}${h}`,
  ...[1, 2, 3, 4, 5, 6].map((after) => `${upTo(7 - after, `${h}:`)}${upTo(after, `:${h}`)}`),
  `${upTo(7, `${h}:`)}:`,
  `:${upTo(7, `:${h}`)}`,
  '::',
].join('|');
/** The form that Node also reads: the last four bytes as an IPv4 address. */
const mapped = [
  `(${h}:){6}${ipv4}`,
  ...[1, 2, 3, 4].map((after) => `${upTo(5 - after, `${h}:`)}${upTo(after, `:${h}`)}:${ipv4}`),
  `${upTo(5, `${h}:`)}:${ipv4}`,
  `:(:${h}){0,5}:${ipv4}`,
].join('|');

const bits4 = '([12]?\\d|3[0-2])';
const bits6 = '([1-9]?\\d|1[01]\\d|12[0-8])';

/** The same without 0, which is every address. */
const some4 = '([1-9]|[12]\\d|3[0-2])';
const some6 = '([1-9]\\d?|1[01]\\d|12[0-8])';

const cidrOf = (prefix4: string, prefix6: string): Schema => ({
  type: 'string',
  // Helm shows this short pattern for most mistakes; only a wrong IPv6 network shows the long pattern.
  pattern: '^[0-9a-fA-F.:]+/[0-9]{1,3}$',
  ...when({ pattern: ':' }, { pattern: `^(${ipv6})/${prefix6}$` }, { pattern: `^${ipv4}/${prefix4}$` }),
});
/** A network in the form that Kubernetes accepts. */
export const cidr = cidrOf(bits4, bits6);
/** A network other than every address. */
export const someCidr = cidrOf(some4, some6);

/** An address, or a name in the form of EGRESS_NO_PROXY. */
const hostName =
  '\\.?[A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?(\\.[A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?)*';
export const addressOrName: Schema = {
  type: 'string',
  pattern: `^(${hostName}|${ipv6}|${mapped})$`,
};

/** Addresses and networks, except every address, separated by commas, as the processes read them; part of files/forms.yaml. */
const network = `\\s*(${ipv4}(/0*${some4})?|(${ipv6}|${mapped})(/0*${some6})?)\\s*`;
export const networksPattern = `^${network}(,${network})*$`;
