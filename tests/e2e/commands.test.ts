import { type Command, ExtraType, LaunchType } from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { createTenant, describeOnStack, type Tenant } from './harness.ts';

const extrasLimit = 4096;
/** Extras with one text and this length as JSON; bytes in UTF-8. */
const extrasOf = (bytes: number, unit = 'x') => {
  const left = bytes - Buffer.byteLength('{"s":""}');
  const size = Buffer.byteLength(unit);
  return `{"s":"${unit.repeat(Math.floor(left / size))}${'x'.repeat(left % size)}"}`;
};
const nested = (depth: number) => `{"a":${'['.repeat(depth)}1${']'.repeat(depth)}}`;

describeOnStack('commands', () => {
  let tenant: Tenant;
  let path: string;
  const offered = new Map<number, Command>();
  beforeAll(async () => {
    tenant = await createTenant();
    path = `/devices/${tenant.devices[0]?.deviceId}/commands`;
    await tenant.activate();
    const headset = tenant.headset();
    headset.on('received', ({ body }) => {
      if (body.case !== 'offer') return;
      const kind = body.value.operation?.kind;
      if (kind?.case === 'command') offered.set(Number(body.value.transactionId), kind.value);
    });
    headset.connect();
    await waitFor('the session', () => headset.sessionEpoch > 0);
  });
  afterAll(() => tenant.close());

  /** Sends a command and returns it as the headset received it. */
  async function sent(body: unknown): Promise<Command> {
    const id = (await tenant.call(201, 'PUT', path, body)).body.transactionId;
    expect(await tenant.ended(id)).toMatchObject({ result: 'success', message: 'called' });
    return offered.get(id) as Command;
  }
  /** Sends a command that must be rejected and create nothing; returns the detail. */
  async function refused(body: unknown): Promise<string> {
    const before = await tenant.transactions();
    const answer = await tenant.call(400, 'PUT', path, body);
    expect(answer.body).toEqual({ message: 'Invalid request body' });
    const ids = (list: { transactionId: number }[]) => list.map((t) => t.transactionId);
    expect(ids(await tenant.transactions())).toEqual(ids(before));
    return String(answer.headers['x-error-detail']);
  }

  it.each([
    ['package', 1, 128],
    ['classpath', 1, 256],
    ['action', 1, 128],
  ] as const)('%s: %d to %d characters reach the headset whole, others are 400', async (field, min, max) => {
    for (const value of ['x'.repeat(min), 'x'.repeat(max), '\u{1F600}'.repeat(max), ' \u0000"\\漢']) {
      const command = await sent({ [field]: value, launchType: 'activity' });
      expect({ ...command, $typeName: '' }).toEqual({
        ...{ $typeName: '', package: '', classpath: '', action: '', extrasJson: '', extraTypes: {} },
        launchType: LaunchType.ACTIVITY,
        [field]: value,
      });
    }
    for (const value of ['', 'x'.repeat(max + 1), '\u{1F600}'.repeat(max + 1), 1, null, ['a'], { a: 1 }]) {
      expect(await refused({ [field]: value, launchType: 'activity' })).toMatch(`/${field} `);
    }
  });

  it.each([
    ['activity', LaunchType.ACTIVITY],
    ['service', LaunchType.SERVICE],
    ['foregroundservice', LaunchType.FOREGROUNDSERVICE],
    ['broadcast', LaunchType.BROADCAST],
  ])('launchType %s reaches the headset', async (launchType, expected) => {
    expect(await sent({ package: 'a', launchType })).toMatchObject({ launchType: expected });
  });

  it.each([undefined, null, '', 'Activity', 'activity ', 'foregroundService', 1, ['activity']])(
    'launchType %p is 400',
    async (launchType) => {
      expect(await refused({ package: 'a', launchType })).toMatch('/launchType ');
    },
  );

  it.each([
    ['one-byte', 'x'],
    ['two-byte', 'é'],
    ['three-byte', '漢'],
    ['four-byte', '\u{1F600}'],
  ])('extras of 4096 bytes in %s characters reach the headset, one byte more is 400', async (_, unit) => {
    const longest = extrasOf(extrasLimit, unit);
    expect(Buffer.byteLength(longest)).toBe(extrasLimit);
    expect((await sent(`{"package":"a","launchType":"activity","extras":${longest}}`)).extrasJson).toBe(
      longest,
    );
    const longer = extrasOf(extrasLimit + 1, unit);
    expect(await refused(`{"package":"a","launchType":"activity","extras":${longer}}`)).toMatch(
      /^\/extras .*4096/,
    );
  });

  it('white space between the parts of extras does not count and is removed, inside texts it stays', async () => {
    const text = `" ${'x'.repeat(3000)}\\n\\t "`;
    const spaced = `{ ${'\n\t '.repeat(1000)}"s" : ${text} ,\r\n "a":[ 1 , 2 ] }`;
    const command = await sent(`{"package":"a","launchType":"activity","extras":${spaced}}`);
    expect(command.extrasJson).toBe(`{"s":${text},"a":[1,2]}`);
  });

  it('escapes count as sent', async () => {
    const escapes = (count: number) => `{"s":"${'\\u00e9'.repeat(count)}"}`;
    const most = Math.floor((extrasLimit - 8) / 6);
    const command = await sent(`{"package":"a","launchType":"activity","extras":${escapes(most)}}`);
    expect(command.extrasJson).toBe(escapes(most));
    await refused(`{"package":"a","launchType":"activity","extras":${escapes(most + 1)}}`);
  });

  // proves api/5/extras-types, api/5/extras-top-numbers, api/5/extras-nested-numbers
  it('each top-level value keeps its type, each number its digits', async () => {
    const T = ExtraType;
    const values: [string, ExtraType][] = [
      ...(['""', '"1"', '"null"', '"漢"'] as const).map((v): [string, ExtraType] => [v, T.STRING]),
      ...(['true', 'false'] as const).map((v): [string, ExtraType] => [v, T.BOOLEAN]),
      ...['0', '-0', '2147483647', '-2147483648'].map((v): [string, ExtraType] => [v, T.INTEGER]),
      ...['2147483648', '-2147483649', '9007199254740993', '9223372036854775807', '-9223372036854775808'].map(
        (v): [string, ExtraType] => [v, T.LONG],
      ),
      ...['9223372036854775808', '-9223372036854775809', '1.0', '1e3', '1E-400', '0.1', '-0.0'].map(
        (v): [string, ExtraType] => [v, T.DOUBLE],
      ),
      ...['[]', '[1,"a",true,[],{}]'].map((v): [string, ExtraType] => [v, T.ARRAY]),
      ...['{}', '{"a":1,"b":[9007199254740993]}'].map((v): [string, ExtraType] => [v, T.OBJECT]),
    ];
    const extras = `{${values.map(([v], i) => `"k${i}":${v}`).join(',')}}`;
    const command = await sent(`{"package":"a","launchType":"activity","extras":${extras}}`);
    expect(command.extrasJson).toBe(extras);
    expect(command.extraTypes).toEqual(Object.fromEntries(values.map(([, type], i) => [`k${i}`, type])));
  });

  it.each(['1e999', '-1e999', '9'.repeat(400)])(
    'a number outside the range of a double is 400 (%#)',
    async (number) => {
      expect(await refused(`{"package":"a","launchType":"activity","extras":{"n":${number}}}`)).toMatch(
        '/extras/n',
      );
    },
  );

  it.each([
    ['at the top', '{"a":null}'],
    ['in an object', '{"a":{"b":null}}'],
    ['in a list', '{"a":[1,null]}'],
    ['far inside', '{"a":[{"b":[{"c":null}]}]}'],
  ])('null %s of the extras is 400', async (_, extras) => {
    expect(await refused(`{"package":"a","launchType":"activity","extras":${extras}}`)).toMatch('/extras/a');
  });

  it.each(['null', '[]', '"a"', '1', 'true'])('extras that are %s are 400', async (extras) => {
    expect(await refused(`{"package":"a","launchType":"activity","extras":${extras}}`)).toMatch('/extras ');
  });

  it('empty extras are extras', async () => {
    expect(await sent({ package: 'a', launchType: 'activity', extras: {} })).toMatchObject({
      extrasJson: '{}',
      extraTypes: {},
    });
  });

  // protects against rest/json-nesting
  it('nesting reaches the headset up to a limit, and is 400 beyond it', async () => {
    for (const depth of [1, 10, 50]) {
      const command = await sent(`{"package":"a","launchType":"activity","extras":${nested(depth)}}`);
      expect(command.extrasJson).toBe(nested(depth));
    }
    for (const depth of [100, 2000]) {
      await refused(`{"package":"a","launchType":"activity","extras":${nested(depth)}}`);
    }
  });

  // protects against rest/json-prototype
  it('names such as __proto__ and constructor are names like any other', async () => {
    const extras =
      '{"__proto__":{"polluted":true},"constructor":1,"toString":"x","":2,"a.b":3,"$set":{"a":1}}';
    const command = await sent(`{"package":"a","launchType":"activity","extras":${extras}}`);
    expect(command.extrasJson).toBe(extras);
    expect(Object.entries(command.extraTypes).toSorted()).toEqual(
      [
        ...[
          ['__proto__', 7],
          ['constructor', 3],
          ['toString', 1],
          ['', 3],
          ['a.b', 3],
          ['$set', 7],
        ],
      ].toSorted() as [string, number][],
    );
  });

  it.each<[string, unknown, string]>([
    ['an unknown field', { package: 'a', launchType: 'activity', flags: 1 }, '/flags'],
    ['a list', [], ''],
    ['nothing', '', ''],
  ])('%s is 400', async (_, body, pointer) => {
    expect((await refused(body)).startsWith(pointer)).toBe(true);
  });

  it('a headset’s failure is the callback’s failure, with its message', async () => {
    const own = await createTenant();
    try {
      await own.activate();
      const headset = own.headset(undefined, { behaviour: { succeeds: false } });
      headset.connect();
      const id = await own.command();
      expect(await own.ended(id)).toEqual({
        applicationId: own.applicationId,
        deviceId: own.devices[0]?.deviceId,
        timestamp: expect.any(Number),
        transactionId: id,
        operationId: 'put-v1-applications-devices-commands',
        notificationType: 'processed',
        result: 'failure',
        message: 'failed',
      });
      expect(await own.status(id)).toBe('processed');
      expect(own.callbacks(id).map((c) => c.body.notificationType)).toEqual(['accepted', 'processed']);
    } finally {
      await own.close();
    }
  });
});
