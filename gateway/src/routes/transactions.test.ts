import {
  CompletionStatus,
  SortBy,
  TransactionStatus,
} from '@headset-cloud/proto/transactions/v1/service_pb.ts';
import { describe, expect, test } from '@jest/globals';
import { deviceId } from '../testing/fakes.ts';
import { useGateway } from '../testing/suite.ts';

const suite = useGateway();
const app = '/v1/applications/app-1';
const device = `${app}/devices/${deviceId}`;
const asked = (rpc: string) =>
  suite.gateway.fakes.seen.find((s) => s.rpc === rpc)?.request as Record<string, unknown>;

describe('transactions', () => {
  // proves api/3/transaction, api/7/get-transaction
  test('one transaction is returned with its dates', async () => {
    expect(
      JSON.parse((await suite.gateway.request('GET', `${app}/transactions/9007199254740991`)).text),
    ).toEqual({
      transactionId: 9007199254740991,
      deviceId,
      transactionStatus: 'accepted',
      operationId: 'put-v1-applications-devices-commands',
      createdAt: '2026-01-01T00:00:00.000Z',
      updatedAt: '2026-01-01T00:00:00.001Z',
    });
  });

  // proves api/3/transaction-list, api/7/list-transactions
  test('a list without parameters is page 1 of 100 by transactionId', async () => {
    const answer = await suite.gateway.request('GET', `${app}/transactions?unknown=1`);
    expect(JSON.parse(answer.text)).toEqual({
      transactions: [],
      parameters: {
        deviceId: null,
        completionStatus: null,
        order: 'asc',
        sortBy: 'transactionId',
        perPage: 100,
        page: 1,
        isNext: false,
      },
    });
    expect(asked('listTransactions')).toMatchObject({
      applicationId: 'app-1',
      deviceId: '',
      completionStatus: CompletionStatus.UNSPECIFIED,
      sortBy: SortBy.TRANSACTION_ID,
      descending: false,
      perPage: 100,
      page: 1,
    });
  });

  test('a list contains the time since which it is complete, once something was deleted', async () => {
    const path = `${app}/transactions`;
    expect((await suite.gateway.request('GET', path)).headers).not.toHaveProperty('x-complete-from');
    suite.gateway.fakes.answers.listTransactions = async () => ({ transactions: [], completeFromMs: 0n });
    const { headers } = await suite.gateway.request('GET', path);
    expect(headers['x-complete-from']).toBe('1970-01-01T00:00:00.000Z');
  });

  test('every parameter is passed on and returned', async () => {
    suite.gateway.fakes.answers.listTransactions = async () => ({
      transactions: [
        {
          transactionId: 5n,
          deviceId,
          status: TransactionStatus.CANCELED,
          operationId: 'x',
          createdAtMs: 0n,
          updatedAtMs: 1n,
        },
      ],
      isNext: true,
    });
    const query = `deviceId=${deviceId}&completionStatus=canceled&order=desc&sortBy=operationId&perPage=1&page=7`;
    const answer = JSON.parse((await suite.gateway.request('GET', `${app}/transactions?${query}`)).text);
    expect(answer.transactions).toHaveLength(1);
    expect(answer.parameters).toEqual({
      deviceId,
      completionStatus: 'canceled',
      order: 'desc',
      sortBy: 'operationId',
      perPage: 1,
      page: 7,
      isNext: true,
    });
    expect(asked('listTransactions')).toMatchObject({
      deviceId,
      completionStatus: CompletionStatus.CANCELED,
      sortBy: SortBy.OPERATION_ID,
      descending: true,
      perPage: 1,
      page: 7,
    });
  });

  // proves api/9/transactions-page
  test.each(['perPage=1&page=1', 'perPage=100&page=1000000'])('%s is allowed', async (query) => {
    expect((await suite.gateway.request('GET', `${app}/transactions?${query}`)).status).toBe(200);
  });
  // proves api/9/transactions-page
  test.each([
    ['perPage=1', 'perPage'],
    ['page=1', 'page'],
    ['perPage=0&page=1', 'perPage'],
    ['perPage=101&page=1', 'perPage'],
    ['perPage=1&page=0', 'page'],
    ['perPage=-1&page=1', 'perPage'],
    ['perPage=1.0&page=1', 'perPage'],
    ['perPage=1e1&page=1', 'perPage'],
    ['perPage=%2010&page=1', 'perPage'],
    ['perPage=&page=1', 'perPage'],
    ['perPage=1&page=99999999999999999999', 'page'],
    ['perPage=1&perPage=1&page=1', 'perPage'],
    ['order=ASC', 'order'],
    ['order=', 'order'],
    ['sortBy=createdAt', 'sortBy'],
    ['completionStatus=done', 'completionStatus'],
    ['deviceId=1', 'deviceId'],
    ['deviceId=', 'deviceId'],
  ])('%s is 400 and the error names %s', async (query, name) => {
    const answer = await suite.gateway.request('GET', `${app}/transactions?${query}`);
    expect(answer.status).toBe(400);
    expect(JSON.parse(answer.text).message).toContain(name);
  });

  // proves api/3/cancel-result, api/7/cancel
  test('cancel returns the ids', async () => {
    const answer = await suite.gateway.request('DELETE', `${device}/transactions`);
    expect([answer.status, answer.text]).toEqual([200, '{"canceledTransactions":[7,8]}']);
  });
});
