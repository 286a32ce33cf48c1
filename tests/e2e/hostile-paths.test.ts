import { createTenant, describeOnStack, type Tenant } from './harness.ts';
import { rawRequest } from './raw-http.ts';

/** Ways around the path check, to an application of another customer. */
describeOnStack('hostile paths', () => {
  let victim: Tenant;
  let attacker: Tenant;
  let token: string;
  const everything = async () => [
    (await victim.call(200, 'GET', '')).body,
    (await victim.call(200, 'GET', `/devices/${victim.devices[0]?.deviceId}`)).body,
    await victim.transactions(),
  ];
  beforeAll(async () => {
    [victim, attacker] = [await createTenant(), await createTenant()];
    token = await attacker.api.token();
    await victim.activate();
  });
  afterAll(() => Promise.all([victim.close(), attacker.close()]));

  /** Sends the path unchanged, which HTTP clients do not do. */
  const raw = (method: string, path: string, headers: Record<string, string> = {}) =>
    rawRequest([
      `${method} ${path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${token}\r\nContent-Length: 0\r\n${Object.entries(
        headers,
      )
        .map(([name, value]) => `${name}: ${value}\r\n`)
        .join('')}\r\n`,
    ]);

  // protects against rest/path-tricks
  it.each([
    ...['OWN/../VICTIM', 'OWN/./../VICTIM', 'OWN/%2e%2e/VICTIM', 'OWN/%2E./VICTIM', 'OWN/%252e%252e/VICTIM'],
    ...[
      'OWN%2f..%2fVICTIM',
      'OWN%252f..%252fVICTIM',
      'OWN\\..\\VICTIM',
      'OWN%5c..%5cVICTIM',
      'OWN..;/VICTIM',
    ],
    ...[
      'OWN;VICTIM',
      'OWN,VICTIM',
      'OWN%00VICTIM',
      'VICTIM%00',
      'VICTIM%20',
      '%20VICTIM',
      'VICTIM.',
      'VICTIM;a',
    ],
    ...[
      '/VICTIM',
      'OWN//VICTIM',
      'OWN/../../applications/VICTIM',
      '*',
      '%2a',
      'OWN*',
      '$',
      '.',
      '..',
      '%ef%bc%8e',
    ],
    ...[
      'OWN\u2215..\u2215VICTIM',
      'OWN%c0%af..%c0%afVICTIM',
      'OWN%e2%88%95VICTIM',
      'VICTIM%e2%80%8b',
      '%u0056',
    ],
  ])('the application %s does not exist: every call is rejected', async (application) => {
    const before = await everything();
    const id = application.replace('OWN', attacker.applicationId).replace('VICTIM', victim.applicationId);
    const device = victim.devices[0]?.deviceId;
    for (const [method, rest] of [
      ['GET', ''],
      ['POST', '/refresh_authkey'],
      ['GET', '/transactions'],
      ['DELETE', `/devices/${device}`],
    ] as const) {
      const answer = await raw(method, `/v1/applications/${id}${rest}`);
      expect([400, 403, 404]).toContain(answer.status);
      expect(answer.text).not.toContain(victim.integrator.url);
    }
    expect(await everything()).toEqual(before);
  });

  // protects against rest/path-tricks
  it.each([
    '../../VICTIM/devices/DEVICE',
    '%2e%2e%2f%2e%2e%2fVICTIM%2fdevices%2fDEVICE',
    'DEVICE%2f',
    'DEVICE;a=b',
  ])('the device %s is none', async (path) => {
    const before = await everything();
    const device = path
      .replace('VICTIM', victim.applicationId)
      .replace('DEVICE', victim.devices[0]?.deviceId ?? '');
    for (const method of ['GET', 'DELETE']) {
      const answer = await raw(method, `/v1/applications/${attacker.applicationId}/devices/${device}`);
      expect([400, 403, 404]).toContain(answer.status);
    }
    expect(await everything()).toEqual(before);
  });

  // protects against rest/headers-override
  it('headers that name another method, path, host or caller change nothing', async () => {
    const before = await everything();
    const own = `/v1/applications/${attacker.applicationId}`;
    const other = `/v1/applications/${victim.applicationId}`;
    const plain = await raw('GET', own);
    expect(plain.status).toBe(200);
    const others: Record<string, string>[] = [
      { 'X-HTTP-Method-Override': 'DELETE', 'X-HTTP-Method': 'DELETE', 'X-Method-Override': 'DELETE' },
      {
        'X-Original-URL': other,
        'X-Rewrite-URL': other,
        'X-Forwarded-Prefix': '/v1',
        'X-Forwarded-Path': other,
      },
      { 'X-Forwarded-Host': 'evil.example.com', 'X-Forwarded-Proto': 'http', Forwarded: 'for=127.0.0.1' },
      {
        'X-Client-Id': victim.clientId,
        'X-Developer-Id': victim.applicationId,
        applicationId: victim.applicationId,
      },
      { 'X-Real-IP': '127.0.0.1', 'X-Forwarded-For': '127.0.0.1', 'X-Forwarded-User': 'admin' },
    ];
    for (const headers of others) {
      const answer = await raw('GET', own, headers);
      expect([answer.status, answer.text]).toEqual([plain.status, plain.text]);
      const refused = await raw('GET', other, headers);
      expect(refused.status).toBe(403);
      const metrics = await raw('GET', '/metrics', headers);
      expect(metrics.status).toBe(403);
    }
    expect(await everything()).toEqual(before);
  });
});
