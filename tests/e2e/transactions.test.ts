import { randomInt } from 'node:crypto';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import {
  createTenant,
  describeOnStack,
  imei,
  type ListedTransaction,
  stack,
  type Tenant,
} from './harness.ts';
import { instancesWanted } from './instances.ts';

const activate = 'post-v1-applications-devices';
const command = 'put-v1-applications-devices-commands';
const defaults = {
  deviceId: null,
  completionStatus: null,
  order: 'asc',
  sortBy: 'transactionId',
  perPage: 100,
  page: 1,
  isNext: false,
};
const unknown = { message: 'The transaction was not found.' };
type SortKey = 'transactionId' | 'deviceId' | 'transactionStatus' | 'operationId';

describeOnStack('transactions', () => {
  let tenant: Tenant;
  /** Everything the tenant has, by id: three devices, every end state, several of each key. */
  let all: ListedTransaction[];
  const list = async (query: string) => (await tenant.call(200, 'GET', `/transactions${query}`)).body;
  const sorted = (some: Partial<ListedTransaction>[]) => {
    const key = (t: Partial<ListedTransaction>) => `${t.deviceId} ${t.operationId} ${t.transactionStatus}`;
    return some.toSorted((a, b) => (key(a) < key(b) ? -1 : 1));
  };
  const ids = (transactions: ListedTransaction[]) => transactions.map((t) => t.transactionId);

  beforeAll(async () => {
    tenant = await createTenant({ devices: 4 });
    const [waits, works, canceled, starts] = tenant.devices;
    await tenant.activate(waits);
    await tenant.activate(canceled);
    const done = await tenant.activate(works);
    const headset = tenant.headset(works);
    headset.connect();
    await tenant.ended(done);
    await tenant.ended(await tenant.command(works));
    await tenant.command(canceled);
    await tenant.call(200, 'DELETE', `/devices/${canceled?.deviceId}/transactions`);
    await tenant.command(waits);
    await tenant.command(waits);
    const busy = tenant.headset(starts, { behaviour: { answersStarts: false } });
    busy.connect();
    await waitFor('the session', () => busy.sessionEpoch > 0);
    const started = await tenant.activate(starts);
    await waitFor('the start', async () => (await tenant.status(started)) === 'accepted');
    all = await tenant.transactions();
  });
  afterAll(() => tenant.close());

  it('lists everything by id without a query, and returns the applied parameters', async () => {
    const [waits, works, canceled, starts] = tenant.devices.map((d) => d.deviceId);
    const date = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    const expected = [
      [waits, 'published', activate],
      [canceled, 'canceled', activate],
      [works, 'processed', activate],
      [works, 'processed', command],
      [canceled, 'canceled', command],
      [waits, 'published', command],
      [waits, 'published', command],
      [starts, 'accepted', activate],
    ].map(([deviceId, transactionStatus, operationId]) => ({
      transactionId: expect.any(Number),
      ...{ deviceId, transactionStatus, operationId, createdAt: date, updatedAt: date },
    }));
    const body = await list('');
    // With several instances, ids do not follow the order of creation.
    const alone = stack.kind === 'embedded' || instancesWanted() === 1;
    const order = alone ? (some: Partial<ListedTransaction>[]) => some : sorted;
    expect({ ...body, transactions: order(body.transactions) }).toEqual({
      transactions: order(expected),
      parameters: defaults,
    });
    expect(ids(body.transactions)).toEqual(ids(body.transactions).toSorted((a, b) => a - b));
    for (const t of body.transactions) expect(t.updatedAt >= t.createdAt).toBe(true);
  });

  // proves api/5/sortBy
  it.each<SortKey>(['transactionId', 'deviceId', 'transactionStatus', 'operationId'])(
    'sorts by %s in both directions, equal values by transactionId; desc is the reverse of asc',
    async (sortBy) => {
      const sorted = all.toSorted((a, b) => {
        if (a[sortBy] === b[sortBy]) return a.transactionId - b.transactionId;
        return a[sortBy] < b[sortBy] ? -1 : 1;
      });
      expect(await list(`?sortBy=${sortBy}`)).toEqual({
        transactions: sorted,
        parameters: { ...defaults, sortBy },
      });
      expect(await list(`?order=desc&sortBy=${sortBy}`)).toEqual({
        transactions: sorted.toReversed(),
        parameters: { ...defaults, sortBy, order: 'desc' },
      });
    },
  );

  // proves api/4/completion-filter
  it.each([
    ['uncompleted', ['created', 'published', 'accepted']],
    ['completed', ['processed']],
    ['canceled', ['canceled']],
  ])('completionStatus=%s leaves exactly the states %p', async (completionStatus, states) => {
    const expected = all.filter((t) => states.includes(t.transactionStatus));
    expect(expected).not.toEqual([]);
    expect(await list(`?completionStatus=${completionStatus}`)).toEqual({
      transactions: expected,
      parameters: { ...defaults, completionStatus },
    });
  });

  it('deviceId leaves one device’s transactions; an unknown device has none', async () => {
    for (const { deviceId } of tenant.devices) {
      expect(await list(`?deviceId=${deviceId}`)).toEqual({
        transactions: all.filter((t) => t.deviceId === deviceId),
        parameters: { ...defaults, deviceId },
      });
    }
    const unknown = imei();
    expect(await list(`?deviceId=${unknown}`)).toEqual({
      transactions: [],
      parameters: { ...defaults, deviceId: unknown },
    });
  });

  it('filters can be combined with sorting and paging', async () => {
    const deviceId = tenant.devices[0]?.deviceId;
    const query = `deviceId=${deviceId}&completionStatus=uncompleted&sortBy=operationId&order=desc&perPage=2&page=1`;
    const mine = all.filter((t) => t.deviceId === deviceId).toReversed();
    const commandsFirst = [...mine.filter((t) => t.operationId === command), ...mine].slice(0, 2);
    expect(await list(`?${query}`)).toEqual({
      transactions: commandsFirst,
      parameters: {
        ...{ deviceId, completionStatus: 'uncompleted', order: 'desc', sortBy: 'operationId' },
        ...{ perPage: 2, page: 1, isNext: true },
      },
    });
  });

  // proves api/5/order
  it.each(['asc', 'desc'])('three pages hold each transaction once, in order (%s)', async (order) => {
    const expected = order === 'asc' ? all : all.toReversed();
    const pages = [];
    for (const page of [1, 2, 3]) {
      const body = await list(`?perPage=3&page=${page}&order=${order}`);
      expect(body.parameters).toEqual({ ...defaults, order, perPage: 3, page, isNext: page < 3 });
      pages.push(body.transactions);
    }
    expect(pages.map((p) => p.length)).toEqual([3, 3, 2]);
    expect(pages.flat()).toEqual(expected);
  });

  it('isNext is false on a last page that is full, and beyond the end', async () => {
    const half = all.length / 2;
    expect((await list(`?perPage=${half}&page=1`)).parameters.isNext).toBe(true);
    expect((await list(`?perPage=${half}&page=2`)).parameters.isNext).toBe(false);
    expect(await list('?perPage=100&page=1000')).toEqual({
      transactions: [],
      parameters: { ...defaults, page: 1000 },
    });
  });

  it.each(['perPage=1&page=1', 'perPage=100&page=1'])('%s is allowed', async (query) => {
    const body = await list(`?${query}`);
    const perPage = Number(/perPage=(\d+)/.exec(query)?.[1]);
    expect(body.transactions).toEqual(all.slice(0, perPage));
    expect(body.parameters).toEqual({ ...defaults, perPage, isNext: perPage === 1 });
  });

  // proves api/5/perPage, api/5/page, api/5/perPage-with-page
  it.each([
    ['perPage', 'perPage=0&page=1'],
    ['perPage', 'perPage=101&page=1'],
    ['perPage', 'perPage=-1&page=1'],
    ['perPage', 'perPage=1.5&page=1'],
    ['perPage', 'perPage=1e1&page=1'],
    ['perPage', 'perPage=&page=1'],
    ['perPage', 'perPage=%2010&page=1'],
    ['page', 'perPage=1&page=0'],
    ['page', 'perPage=1&page=-1'],
    ['page', 'perPage=1&page=x'],
    ['page', 'perPage=1&page=99999999999999999999'],
    ['perPage', 'perPage=10'],
    ['page', 'page=1'],
    ['sortBy', 'sortBy=createdAt'],
    ['sortBy', 'sortBy='],
    ['order', 'order=ASC'],
    ['order', 'order=up'],
    ['completionStatus', 'completionStatus=processed'],
    ['completionStatus', 'completionStatus='],
    ['deviceId', 'deviceId=1'],
    ['deviceId', 'deviceId='],
    ['order', 'order=asc&order=desc'],
  ])('400 that names %s for ?%s', async (name, query) => {
    const answer = await tenant.call(400, 'GET', `/transactions?${query}`);
    expect(answer.body).toEqual({ message: expect.stringContaining(name) });
  });

  it('returns one transaction exactly as in the list', async () => {
    for (const t of all) {
      expect((await tenant.call(200, 'GET', `/transactions/${t.transactionId}`)).body).toEqual(t);
    }
  });

  it('an unknown id is 404', async () => {
    const id = 2 ** 52 + randomInt(10 ** 6);
    expect((await tenant.call(404, 'GET', `/transactions/${id}`)).body).toEqual(unknown);
  });

  it.each(['0', '-1', '1.0', '1e3', 'abc', '9007199254740992', '%00', '1%2F2', '__proto__', '{}'])(
    'the malformed id %s is 404',
    async (id) => {
      const answer = await tenant.call(404, 'GET', `/transactions/${id}`);
      expect(answer.body).toEqual({ message: 'The path parameter transactionId is not valid.' });
    },
  );

  // protects against rest/other-transaction
  it('another application’s transaction is 404 and in no list, also for the same developer', async () => {
    const otherTenant = await createTenant();
    const sibling = await createTenant({ sameDeveloperAs: tenant });
    try {
      for (const other of [otherTenant, sibling]) {
        const theirs = await other.activate();
        expect((await tenant.call(404, 'GET', `/transactions/${theirs}`)).body).toEqual(unknown);
        expect((await other.call(404, 'GET', `/transactions/${all[0]?.transactionId}`)).body).toEqual(
          unknown,
        );
        expect(ids(await other.transactions())).toEqual([theirs]);
        expect(await list(`?deviceId=${other.devices[0]?.deviceId}`)).toMatchObject({ transactions: [] });
      }
      expect(await tenant.transactions()).toEqual(all);
    } finally {
      await otherTenant.close();
      await sibling.close();
    }
  });

  it('a deactivated device’s transactions stay readable', async () => {
    const deviceId = tenant.devices[0]?.deviceId;
    const before = await list(`?deviceId=${deviceId}`);
    const { body } = await tenant.call(201, 'DELETE', `/devices/${deviceId}`);
    const after = await list(`?deviceId=${deviceId}`);
    expect(ids(after.transactions)).toEqual([...ids(before.transactions), body.transactionId]);
    expect((await tenant.call(200, 'GET', `/transactions/${body.transactionId}`)).body).toMatchObject({
      operationId: 'delete-v1-applications-devices',
    });
  });
});
